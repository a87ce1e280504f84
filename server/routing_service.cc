#include "server/routing_service.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "routing/explain.h"
#include "routing/holders.h"
#include "server/routing_proto.h"
#include "server/status.h"

namespace ringshift {
namespace {

v1::PassReason ToProto(PassReason reason) {
  switch (reason) {
    case PassReason::kNotInPool:
      return v1::PASS_REASON_NOT_IN_POOL;
  }
  return v1::PASS_REASON_UNSPECIFIED;
}

v1::HolderReason ToProto(HolderReason reason) {
  switch (reason) {
    case HolderReason::kOwner:
      return v1::HOLDER_REASON_OWNER;
    case HolderReason::kPreviousOwner:
      return v1::HOLDER_REASON_PREVIOUS_OWNER;
    case HolderReason::kOtherRing:
      return v1::HOLDER_REASON_OTHER_RING;
    case HolderReason::kNextNode:
      return v1::HOLDER_REASON_NEXT_NODE;
  }
  return v1::HOLDER_REASON_UNSPECIFIED;
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

grpc::Status RoutingService::ExplainRoute(grpc::ServerContext* /*context*/,
                                          const v1::ExplainRouteRequest* request,
                                          v1::ExplainRouteResponse* response) {
  return ToGrpcStatus(Explain(*request, *response));
}

grpc::Status RoutingService::RouteHolders(grpc::ServerContext* /*context*/,
                                          const v1::RouteHoldersRequest* request,
                                          v1::RouteHoldersResponse* response) {
  return ToGrpcStatus(Holders(*request, *response));
}

absl::StatusOr<std::shared_ptr<const RoutingTable>> RoutingService::FindTable(
    const std::string& data_center) const {
  if (absl::Status ok = CheckCall(lifecycle_, data_center); !ok.ok()) return ok;
  return directory_.Find(data_center);
}

absl::Status RoutingService::Explain(const v1::ExplainRouteRequest& request,
                                     v1::ExplainRouteResponse& response) const {
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> found =
      FindTable(request.data_center());
  if (!found.ok()) return found.status();
  const RoutingTable& table = **found;
  const absl::StatusOr<Explanation> explanation =
      ringshift::Explain(table, {request.key(), request.pool(), request.replicas()});
  if (!explanation.ok()) return explanation.status();

  const DataCenter& data_center = table.data_center();
  ToProto(table, explanation->answer, request.replicas(), *response.mutable_answer());
  response.set_pool(data_center.pools()[explanation->answer.pool].name);
  response.set_position(explanation->answer.position);
  response.set_salt(table.migration().salt);
  response.set_decision_algorithm(table.migration().decision_algorithm);
  response.set_decision_hash(explanation->decision_hash);
  response.set_bucket(static_cast<std::int32_t>(explanation->answer.bucket));
  response.set_requested_v2_ppm(table.migration().share.ppm());
  response.set_effective_v2_ppm(table.share().ppm());
  response.set_effective_reason(table.share_reason());
  if (explanation->v1) {
    ToProto(data_center, *data_center.v1(), *explanation->v1, *response.add_rings());
  }
  if (explanation->v2) {
    ToProto(data_center, *data_center.v2(), *explanation->v2, *response.add_rings());
  }
  response.set_previous_owner_reason(explanation->previous_owner_reason);
  response.set_v1_warm_from_ppm(table.state().warmth.v1_warm_from.ppm());
  response.set_v2_warm_below_ppm(table.state().warmth.v2_warm_below.ppm());
  return absl::OkStatus();
}

absl::Status RoutingService::Holders(const v1::RouteHoldersRequest& request,
                                     v1::RouteHoldersResponse& response) const {
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      FindTable(request.data_center());
  if (!table.ok()) return table.status();
  const absl::StatusOr<std::vector<Holder>> holders =
      FindHolders(**table, {request.key(), request.pool(), request.next_nodes()});
  if (!holders.ok()) return holders.status();
  for (const Holder& holder : *holders) {
    v1::Holder& proto = *response.add_holders();
    ToProto((*table)->data_center().node(holder.node), *proto.mutable_node());
    proto.set_reason(ToProto(holder.reason));
  }
  ToProto(**table, *response.mutable_table());
  return absl::OkStatus();
}

}  // namespace ringshift
