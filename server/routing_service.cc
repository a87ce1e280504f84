#include "server/routing_service.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "routing/explain.h"
#include "routing/route.h"
#include "server/calls.h"

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

v1::PassReason ToProto(PassReason reason) {
  switch (reason) {
    case PassReason::kNotInPool:
      return v1::PASS_REASON_NOT_IN_POOL;
  }
  return v1::PASS_REASON_UNSPECIFIED;
}

void ToProto(const DataCenter::Node& node, v1::RoutedNode& proto) {
  proto.set_name(node.name);
  proto.set_address(node.address);
}

// `replicas` is the number that was asked for.
void ToProto(const RoutingTable& table, const RouteAnswer& answer, int replicas,
             v1::RouteResponse& proto) {
  const DataCenter& data_center = table.data_center();
  const std::span<const NodeIndex> nodes = answer.nodes();
  ToProto(data_center.node(nodes.front()), *proto.mutable_owner());
  for (const NodeIndex node : nodes.subspan(1)) {
    ToProto(data_center.node(node), *proto.add_replicas());
  }
  proto.set_ring_version(ToProto(answer.ring_version));
  proto.mutable_table()->set_checksum(table.checksum());
  proto.mutable_table()->set_migration_revision(table.migration().revision);
  proto.mutable_table()->set_v2_ppm(table.share().ppm());
  proto.set_is_short(nodes.size() < static_cast<std::size_t>(std::max(replicas, 1)));
}

void ToProto(const DataCenter& data_center, const DataCenter::BuiltRing& built,
             const RingExplanation& explanation, v1::RingExplanation& proto) {
  proto.set_ring_version(ToProto(explanation.version));
  proto.set_algorithm(std::string(RingAlgorithm(explanation.version)));
  proto.set_points_per_weight(built.ring->parameters().points_per_weight);
  proto.set_point_index(static_cast<std::int64_t>(explanation.point_index));
  proto.set_point_hash(explanation.point.hash);
  ToProto(data_center.node(explanation.point.node), *proto.mutable_point_node());
  proto.set_wraps(explanation.wraps);
  proto.set_is_tied(explanation.is_tied);
  for (std::size_t i = 0; i < explanation.nodes.size(); ++i) {
    ToProto(data_center.node(explanation.nodes[i]),
            i == 0 ? *proto.mutable_owner() : *proto.add_replicas());
  }
  for (const PassedNode& passed : explanation.passed) {
    v1::PassedNode& passed_proto = *proto.add_passed();
    ToProto(data_center.node(passed.node), *passed_proto.mutable_node());
    passed_proto.set_reason(ToProto(passed.reason));
  }
  proto.set_passed_count(static_cast<std::int64_t>(explanation.passed_count));
  proto.set_checksum(built.ring->checksum());
}

}  // namespace

grpc::ServerUnaryReactor* RoutingService::Route(grpc::CallbackServerContext* context,
                                                const v1::RouteRequest* request,
                                                v1::RouteResponse* response) {
  const auto start = std::chrono::steady_clock::now();
  const auto metrics = metrics_.Of(request->data_center());
  const absl::Status status = Answer(*request, *metrics, *response);
  if (!status.ok()) metrics->CountError(status.code());
  metrics_.ObserveRoute(std::chrono::steady_clock::now() - start);
  return FinishCall(context, status);
}

grpc::ServerUnaryReactor* RoutingService::ExplainRoute(grpc::CallbackServerContext* context,
                                                       const v1::ExplainRouteRequest* request,
                                                       v1::ExplainRouteResponse* response) {
  return FinishCall(context, Explain(*request, *response));
}

absl::Status RoutingService::Answer(const v1::RouteRequest& request,
                                    const DataCenterRouteMetrics& metrics,
                                    v1::RouteResponse& response) const {
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> table = Find(request.data_center());
  if (!table.ok()) return table.status();
  const absl::StatusOr<RouteAnswer> answer =
      ringshift::Route(**table, {request.key(), request.pool(), request.replicas()});
  if (!answer.ok()) return answer.status();
  ToProto(**table, *answer, request.replicas(), response);
  metrics.CountRoute((*table)->data_center().pools()[answer->pool].name, answer->ring_version);
  return absl::OkStatus();
}

absl::Status RoutingService::Explain(const v1::ExplainRouteRequest& request,
                                     v1::ExplainRouteResponse& response) const {
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> found = Find(request.data_center());
  if (!found.ok()) return found.status();
  const RoutingTable& table = **found;
  const absl::StatusOr<Explanation> explanation =
      ringshift::Explain(table, {request.key(), request.pool(), request.replicas()});
  if (!explanation.ok()) return explanation.status();

  const DataCenter& data_center = table.data_center();
  ToProto(table, explanation->answer, request.replicas(), *response.mutable_answer());
  response.set_pool(data_center.pools()[explanation->answer.pool].name);
  response.set_position(explanation->position);
  response.set_salt(table.migration().salt);
  response.set_decision_algorithm(table.migration().decision_algorithm);
  response.set_decision_hash(explanation->decision_hash);
  response.set_bucket(static_cast<std::int32_t>(explanation->bucket));
  response.set_requested_v2_ppm(table.migration().share.ppm());
  response.set_effective_v2_ppm(table.share().ppm());
  response.set_effective_reason(std::string(table.share_reason()));
  if (explanation->v1) {
    ToProto(data_center, *data_center.v1(), *explanation->v1, *response.add_rings());
  }
  ToProto(data_center, data_center.v2(), explanation->v2, *response.add_rings());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const RoutingTable>> RoutingService::Find(
    const std::string& data_center) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (data_center.empty()) {
    return absl::InvalidArgumentError("data_center is empty: name the data center");
  }
  return directory_.Find(data_center);
}

}  // namespace ringshift
