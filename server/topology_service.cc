#include "server/topology_service.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "routing/pool_balance.h"
#include "server/calls.h"
#include "server/migration_proto.h"
#include "server/status.h"
#include "server/topology_page.h"
#include "server/topology_proto.h"

namespace ringshift {
namespace {

void ToProto(const PoolBalance& balance, v1::PoolBalance& proto) {
  proto.set_pool(balance.pool);
  proto.set_nodes(static_cast<std::int32_t>(balance.nodes));
  proto.set_cv(balance.cv);
  proto.set_max_ratio(balance.max_ratio);
  proto.set_min_ratio(balance.min_ratio);
  proto.set_max_node(balance.max_node);
  proto.set_min_node(balance.min_node);
  for (const std::size_t nodes : balance.nodes_by_load) {
    proto.add_nodes_by_load(static_cast<std::int32_t>(nodes));
  }
}

void ToProto(const PoolRing& pool, v1::PoolBalance& proto) {
  proto.set_points(static_cast<std::int64_t>(pool.walk.points));
  proto.set_mean_walk(pool.walk.mean);
  proto.set_longest_walk(static_cast<std::int64_t>(pool.walk.longest));
  proto.set_own_ring_memory_bytes(static_cast<std::int64_t>(pool.own_bytes()));
  proto.set_lacks_own_ring(pool.lacks_own());
}

void Measure(const DataCenter& data_center, const DataCenter::BuiltRing& built,
             v1::RingStats& proto) {
  ToProto(built, *proto.mutable_ring());
  for (std::size_t i = 0; i < data_center.pools().size(); ++i) {
    const DataCenter::Pool& pool = data_center.pools()[i];
    v1::PoolBalance& pool_proto = *proto.add_pools();
    ToProto(MeasurePoolBalance(*built.ring, data_center.node_set(), pool.name, pool.nodes),
            pool_proto);
    ToProto(built.pools[i], pool_proto);
  }
}

v1::GetRingStatsResponse Measure(const DataCenter& data_center) {
  v1::GetRingStatsResponse proto;
  proto.set_data_center(data_center.name());
  proto.set_nodes(static_cast<std::int32_t>(data_center.node_set().size()));
  proto.set_total_weight(static_cast<std::int64_t>(data_center.node_set().total_weight()));
  if (data_center.v1() != nullptr) Measure(data_center, *data_center.v1(), *proto.add_rings());
  if (data_center.v2() != nullptr) Measure(data_center, *data_center.v2(), *proto.add_rings());
  return proto;
}

// Fills in a ReloadTopologyResponse or an AcceptTopologyResponse.
template <typename Response>
void Describe(const std::vector<TopologyController::Change>& changes,
              const TopologyController& topology, Response& response) {
  for (const TopologyController::Change& change : changes) {
    ToProto(change, *response.add_changes());
  }
  ToProto(topology.status(), topology.path(), *response.mutable_status());
}

}  // namespace

grpc::Status TopologyService::ListDataCenters(grpc::ServerContext* /*context*/,
                                              const v1::ListDataCentersRequest* request,
                                              v1::ListDataCentersResponse* response) {
  return ToGrpcStatus(List(*request, *response));
}

grpc::Status TopologyService::GetTopology(grpc::ServerContext* /*context*/,
                                          const v1::GetTopologyRequest* request,
                                          v1::GetTopologyResponse* response) {
  return ToGrpcStatus(Get(*request, *response));
}

grpc::Status TopologyService::GetRingStats(grpc::ServerContext* context,
                                           const v1::GetRingStatsRequest* request,
                                           v1::GetRingStatsResponse* response) {
  absl::Status asked = lifecycle_.CheckAnswering();
  if (asked.ok()) asked = CheckDataCenterIsNamed(request->data_center());
  if (!asked.ok()) return ToGrpcStatus(asked);
  const auto table = directory_.Find(request->data_center());
  if (!table.ok()) return ToGrpcStatus(table.status());
  return QueueCall(
      reads_, context,
      [data_center = (*table)->shared_data_center()]() -> absl::StatusOr<v1::GetRingStatsResponse> {
        return Measure(*data_center);
      },
      [response](const v1::GetRingStatsResponse& measured) { *response = measured; });
}

grpc::Status TopologyService::ReloadTopology(grpc::ServerContext* context,
                                             const v1::ReloadTopologyRequest* request,
                                             v1::ReloadTopologyResponse* response) {
  absl::Status asked = lifecycle_.CheckAnswering();
  if (asked.ok()) asked = CheckWhoAndWhy("", request->requested_by());
  if (!asked.ok()) return ToGrpcStatus(asked);
  return QueueCall(
      reloads_, context,
      [this, actor = Actor(request->requested_by(), context->peer())] {
        return topology_.Reload(ReloadTrigger::kCall, actor);
      },
      [this, response](const std::vector<TopologyController::Change>& changes) {
        Describe(changes, topology_, *response);
      });
}

grpc::Status TopologyService::AcceptTopology(grpc::ServerContext* context,
                                             const v1::AcceptTopologyRequest* request,
                                             v1::AcceptTopologyResponse* response) {
  if (absl::Status asked = CheckAccept(*request); !asked.ok()) return ToGrpcStatus(asked);
  return QueueCall(
      reloads_, context,
      [this, checksum = request->checksum(),
       names =
           std::vector<std::string>(request->data_centers().begin(), request->data_centers().end()),
       actor = Actor(request->requested_by(), context->peer()),
       reason = request->reason()] { return topology_.Accept(checksum, names, actor, reason); },
      [this, response](const std::vector<TopologyController::Change>& changes) {
        Describe(changes, topology_, *response);
      });
}

absl::Status TopologyService::CheckAccept(const v1::AcceptTopologyRequest& request) const {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  if (request.checksum().empty()) {
    return absl::InvalidArgumentError(
        "checksum is empty: give that of the topology that you accept, which the status has");
  }
  return CheckWhoAndWhy(request.reason(), request.requested_by());
}

absl::Status TopologyService::List(const v1::ListDataCentersRequest& request,
                                   v1::ListDataCentersResponse& response) const {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  const absl::StatusOr<std::size_t> page_size = PageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  const absl::StatusOr<std::string_view> after = ParseNamePageToken(request.page_token());
  if (!after.ok()) return after.status();
  const std::set<std::string> held = HeldNames();
  std::size_t count = 0;
  std::string last;
  for (const std::shared_ptr<const RoutingTable>& table : directory_.Tables()) {
    const std::string& name = table->data_center().name();
    if (name <= *after) continue;
    if (count == *page_size) {
      response.set_next_page_token(NamePageToken(last));
      break;
    }
    v1::DataCenterSummary& summary = *response.add_data_centers();
    ToProto(*table, summary);
    summary.set_is_held(held.contains(name));
    last = name;
    ++count;
  }
  return absl::OkStatus();
}

absl::Status TopologyService::Get(const v1::GetTopologyRequest& request,
                                  v1::GetTopologyResponse& response) const {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  absl::Status named = CheckDataCenterIsNamed(request.data_center());
  if (!named.ok()) return named;
  const absl::StatusOr<std::size_t> page_size = PageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  const auto table = directory_.Find(request.data_center());
  if (!table.ok()) return table.status();
  ToProto(**table, *response.mutable_data_center());
  response.mutable_data_center()->set_is_held(HeldNames().contains(request.data_center()));
  return FillTopologyPage(**table, request.page_token(), *page_size, kMaxPageBytes, response);
}

std::set<std::string> TopologyService::HeldNames() const {
  std::set<std::string> names;
  for (const TopologyController::Change& change : topology_.status().held) {
    names.insert(change.data_center);
  }
  return names;
}

}  // namespace ringshift
