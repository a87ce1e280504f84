#include "server/routing_service.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "routing/route.h"
#include "server/status.h"

namespace ringshift {
namespace {

v1::RingVersion ToProto(RingVersion version) {
  switch (version) {
    case RingVersion::kV1:
      return v1::RING_VERSION_V1;
    case RingVersion::kV2:
      return v1::RING_VERSION_V2;
  }
  return v1::RING_VERSION_UNSPECIFIED;
}

void ToProto(const DataCenter::Node& node, v1::RoutedNode& proto) {
  proto.set_name(node.name);
  proto.set_address(node.address);
}

}  // namespace

grpc::ServerUnaryReactor* RoutingService::Route(grpc::CallbackServerContext* context,
                                                const v1::RouteRequest* request,
                                                v1::RouteResponse* response) {
  const auto start = std::chrono::steady_clock::now();
  DataCenterRouteMetrics& metrics = metrics_.Of(request->data_center());
  const absl::Status status = Answer(*request, metrics, *response);
  if (!status.ok()) metrics.CountError(status.code());
  metrics_.ObserveRoute(std::chrono::steady_clock::now() - start);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

absl::Status RoutingService::Answer(const v1::RouteRequest& request,
                                    DataCenterRouteMetrics& metrics,
                                    v1::RouteResponse& response) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (request.data_center().empty()) {
    return absl::InvalidArgumentError("data_center is empty: name the data center");
  }
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      directory_.Find(request.data_center());
  if (!table.ok()) return table.status();
  absl::StatusOr<RouteAnswer> answer =
      ringshift::Route(**table, {request.key(), request.pool(), request.replicas()});
  if (!answer.ok()) return answer.status();

  const DataCenter& data_center = (*table)->data_center();
  const std::span<const NodeIndex> nodes = answer->nodes();
  ToProto(data_center.node(nodes.front()), *response.mutable_owner());
  for (const NodeIndex node : nodes.subspan(1)) {
    ToProto(data_center.node(node), *response.add_replicas());
  }
  response.set_ring_version(ToProto(answer->ring_version));
  response.mutable_table()->set_checksum((*table)->checksum());
  response.mutable_table()->set_migration_revision((*table)->migration().revision);
  response.mutable_table()->set_v2_ppm((*table)->share().ppm());
  response.set_is_short(nodes.size() < static_cast<std::size_t>(std::max(request.replicas(), 1)));
  metrics.CountRoute(answer->pool, answer->ring_version);
  return absl::OkStatus();
}

}  // namespace ringshift
