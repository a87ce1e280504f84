#include "client/ringctl/explain_offline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "client/ringctl/build_progress.h"
#include "client/ringctl/offline.h"
#include "migration/decision.h"
#include "migration/store.h"
#include "routing/data_center.h"
#include "routing/explain.h"
#include "routing/route.h"

namespace ringshift {
namespace {

v1::RingVersion ToProto(RingVersion version) {
  return version == RingVersion::kV1 ? v1::RING_VERSION_V1 : v1::RING_VERSION_V2;
}

void ToProto(const DataCenter::Node& node, v1::RoutedNode& proto) {
  proto.set_name(node.name);
  proto.set_address(node.address);
}

// The owner and the replicas of an answer or of a ring.
template <typename Proto>
void ToProto(const DataCenter& data_center, std::span<const NodeIndex> nodes, Proto& proto) {
  ToProto(data_center.node(nodes.front()), *proto.mutable_owner());
  for (const NodeIndex node : nodes.subspan(1)) {
    ToProto(data_center.node(node), *proto.add_replicas());
  }
}

void ToProto(const DataCenter& data_center, const Ring& ring, const RingExplanation& explanation,
             v1::RingExplanation& proto) {
  proto.set_ring_version(ToProto(explanation.version));
  proto.set_algorithm(std::string(RingAlgorithm(explanation.version)));
  proto.set_points_per_weight(ring.parameters().points_per_weight);
  proto.set_point_index(static_cast<std::int64_t>(explanation.point_index));
  proto.set_point_hash(explanation.point.hash);
  ToProto(data_center.node(explanation.point.node), *proto.mutable_point_node());
  proto.set_wraps(explanation.wraps);
  proto.set_is_tied(explanation.is_tied);
  ToProto(data_center, explanation.nodes, proto);
  for (const PassedNode& passed : explanation.passed) {
    v1::PassedNode& passed_proto = *proto.add_passed();
    ToProto(data_center.node(passed.node), *passed_proto.mutable_node());
    switch (passed.reason) {
      case PassReason::kNotInPool:
        passed_proto.set_reason(v1::PASS_REASON_NOT_IN_POOL);
    }
  }
  proto.set_passed_count(static_cast<std::int64_t>(explanation.passed_count));
  proto.set_checksum(ring.checksum());
}

}  // namespace

absl::StatusOr<OfflineExplainer> OfflineExplainer::Create(const std::string& topology_file,
                                                          const std::string& data_center,
                                                          Share share,
                                                          const std::optional<std::string>& salt) {
  const absl::StatusOr<OfflineDataCenter> loaded = LoadDataCenter(topology_file, data_center);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::shared_ptr<const DataCenter>> built;
  {
    const BuildProgress progress("building the rings of " + data_center);
    built = DataCenter::Build(loaded->spec);
  }
  if (!built.ok()) return built.status();
  Migration migration;
  migration.data_center = data_center;
  migration.share = share;
  migration.salt = salt.value_or(data_center);
  migration.decision_algorithm = kDecisionAlgorithm;
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      RoutingTable::Create(*std::move(built), std::move(migration));
  if (!table.ok()) return table.status();
  return OfflineExplainer(*std::move(table));
}

absl::StatusOr<v1::ExplainRouteResponse> OfflineExplainer::Explain(
    const v1::ExplainRouteRequest& request) const {
  const absl::StatusOr<Explanation> explanation =
      ringshift::Explain(*table_, {request.key(), request.pool(), request.replicas()});
  if (!explanation.ok()) return explanation.status();
  const DataCenter& data_center = table_->data_center();
  const RouteAnswer& answer = explanation->answer;

  v1::ExplainRouteResponse response;
  v1::RouteResponse& route = *response.mutable_answer();
  ToProto(data_center, answer.nodes(), route);
  route.set_ring_version(ToProto(answer.ring_version));
  route.mutable_table()->set_checksum(table_->checksum());
  route.mutable_table()->set_migration_revision(table_->migration().revision);
  route.mutable_table()->set_v2_ppm(table_->share().ppm());
  route.set_is_short(answer.node_count < static_cast<std::size_t>(std::max(request.replicas(), 1)));
  response.set_pool(data_center.pools()[answer.pool].name);
  response.set_position(answer.position);
  response.set_salt(table_->migration().salt);
  response.set_decision_algorithm(table_->migration().decision_algorithm);
  response.set_decision_hash(explanation->decision_hash);
  response.set_bucket(static_cast<std::int32_t>(answer.bucket));
  response.set_requested_v2_ppm(table_->migration().share.ppm());
  response.set_effective_v2_ppm(table_->share().ppm());
  response.set_effective_reason(table_->share_reason());
  if (explanation->v1) {
    ToProto(data_center, *data_center.v1()->ring, *explanation->v1, *response.add_rings());
  }
  if (explanation->v2) {
    ToProto(data_center, *data_center.v2()->ring, *explanation->v2, *response.add_rings());
  }
  response.set_previous_owner_reason(explanation->previous_owner_reason);
  response.set_v1_warm_from_ppm(table_->state().warmth.v1_warm_from.ppm());
  response.set_v2_warm_below_ppm(table_->state().warmth.v2_warm_below.ppm());
  return response;
}

}  // namespace ringshift
