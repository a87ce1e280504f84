#include "client/ringctl/ring_stats_client.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "client/ringctl/proto_text.h"
#include "client/ringctl/routed_node.h"
#include "ringshift/v1/topology.grpc.pb.h"

namespace ringshift {
namespace {

// Of what is never below 0.
std::uint64_t Count(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

PoolReport ToPoolReport(const v1::PoolBalance& from) {
  PoolBalance pool{.pool = from.pool(),
                   .nodes = static_cast<std::size_t>(Count(from.nodes())),
                   .cv = from.cv(),
                   .max_ratio = from.max_ratio(),
                   .min_ratio = from.min_ratio(),
                   .max_node = from.max_node(),
                   .min_node = from.min_node(),
                   .nodes_by_load = {}};
  const int classes = std::min(from.nodes_by_load_size(), static_cast<int>(kLoadClasses.size()));
  for (int i = 0; i < classes; ++i) {
    pool.nodes_by_load[static_cast<std::size_t>(i)] =
        static_cast<std::size_t>(Count(from.nodes_by_load(i)));
  }
  return {std::move(pool),
          {Count(from.points()), from.mean_walk(), Count(from.longest_walk())},
          Count(from.own_ring_memory_bytes()),
          from.lacks_own_ring()};
}

RingReport ToRingReport(const v1::RingStats& from) {
  const v1::RingSummary& ring = from.ring();
  RingReport report{.ring_version = std::string(RingVersionText(ring.ring_version())),
                    .points_per_weight = Count(ring.points_per_weight()),
                    .layout = std::string(RingLayoutText(ring.layout())),
                    .points = Count(ring.points()),
                    .memory_bytes = Count(ring.memory_bytes()),
                    .collisions = Count(ring.collisions()),
                    .checksum = ring.checksum(),
                    .build_seconds = ring.build_seconds(),
                    .pools = {}};
  for (const v1::PoolBalance& pool : from.pools()) report.pools.push_back(ToPoolReport(pool));
  return report;
}

}  // namespace

grpc::Status GetRingStats(const Remote& remote, const std::string& data_center,
                          DataCenterReport& report) {
  const auto stub = v1::TopologyService::NewStub(remote.channel());
  grpc::ClientContext context;
  remote.SetDeadline(context);
  v1::GetRingStatsRequest request;
  request.set_data_center(data_center);
  v1::GetRingStatsResponse response;
  grpc::Status status = stub->GetRingStats(&context, request, &response);
  if (!status.ok()) return status;

  report = {.data_center = response.data_center(),
            .nodes = Count(response.nodes()),
            .total_weight = Count(response.total_weight()),
            .rings = {}};
  for (const v1::RingStats& ring : response.rings()) report.rings.push_back(ToRingReport(ring));
  for (const RingReport& ring : report.rings) {
    if (ring.pools.empty() || ring.pools.size() != report.rings.front().pools.size()) {
      return {grpc::StatusCode::DATA_LOSS, "the rings of the answer differ in their pools"};
    }
  }
  if (report.rings.empty()) return {grpc::StatusCode::DATA_LOSS, "the answer has no ring"};
  return status;
}

}  // namespace ringshift
