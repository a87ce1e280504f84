#include "server/topology_proto.h"

#include <cstdint>
#include <optional>

#include "server/migration_proto.h"
#include "server/routing_proto.h"
#include "server/status.h"
#include "server/topology_log.h"

namespace ringshift {
namespace {

using Change = TopologyController::Change;

v1::RingLayout ToProto(RingLayout layout) {
  switch (layout) {
    case RingLayout::kWide:
      return v1::RING_LAYOUT_WIDE;
    case RingLayout::kPacked:
      return v1::RING_LAYOUT_PACKED;
    case RingLayout::kDense:
      return v1::RING_LAYOUT_DENSE;
  }
  return v1::RING_LAYOUT_UNSPECIFIED;
}

v1::ReloadOutcome ToProto(Change::Outcome outcome) {
  switch (outcome) {
    case Change::Outcome::kUnchanged:
      return v1::RELOAD_OUTCOME_UNCHANGED;
    case Change::Outcome::kApplied:
      return v1::RELOAD_OUTCOME_APPLIED;
    case Change::Outcome::kHeld:
      return v1::RELOAD_OUTCOME_HELD;
    case Change::Outcome::kFailed:
      return v1::RELOAD_OUTCOME_FAILED;
  }
  return v1::RELOAD_OUTCOME_UNSPECIFIED;
}

v1::ReloadTrigger ToProto(ReloadTrigger trigger) {
  switch (trigger) {
    case ReloadTrigger::kStart:
      return v1::RELOAD_TRIGGER_START;
    case ReloadTrigger::kSignal:
      return v1::RELOAD_TRIGGER_SIGNAL;
    case ReloadTrigger::kCall:
      return v1::RELOAD_TRIGGER_CALL;
    case ReloadTrigger::kFile:
      return v1::RELOAD_TRIGGER_FILE;
  }
  return v1::RELOAD_TRIGGER_UNSPECIFIED;
}

// At most 65,536 nodes.
std::int32_t ToInt32(std::size_t count) { return static_cast<std::int32_t>(count); }

}  // namespace

void ToProto(const DataCenter::BuiltRing& built, v1::RingSummary& proto) {
  const Ring& ring = *built.ring;
  proto.set_ring_version(ringshift::ToProto(ring.parameters().version));
  proto.set_points_per_weight(ring.parameters().points_per_weight);
  proto.set_layout(ToProto(ring.parameters().layout));
  proto.set_points(static_cast<std::int64_t>(ring.point_count()));
  proto.set_memory_bytes(static_cast<std::int64_t>(built.memory_bytes()));
  proto.set_collisions(static_cast<std::int64_t>(ring.collision_count()));
  proto.set_build_seconds(built.build_time.count());
  proto.set_checksum(ring.checksum());
  proto.set_cv(built.ownership.cv);
  proto.set_max_ratio(built.ownership.max_ratio);
  proto.set_min_ratio(built.ownership.min_ratio);
}

void ToProto(const RoutingTable& table, v1::DataCenterSummary& proto) {
  const DataCenter& data_center = table.data_center();
  proto.set_name(data_center.name());
  proto.set_tier(data_center.tier());
  proto.set_nodes(ToInt32(data_center.node_set().size()));
  proto.set_total_weight(static_cast<std::int64_t>(data_center.node_set().total_weight()));
  proto.set_pools(ToInt32(data_center.pools().size()));
  proto.set_requested_v2_ppm(table.migration().share.ppm());
  proto.set_effective_v2_ppm(table.share().ppm());
  proto.set_effective_reason(std::string(table.share_reason()));
  if (data_center.v1() != nullptr) ToProto(*data_center.v1(), *proto.add_rings());
  if (data_center.v2() != nullptr) ToProto(*data_center.v2(), *proto.add_rings());
  proto.set_checksum(table.checksum());
}

void ToProto(const Change& change, v1::TopologyChange& proto) {
  proto.set_data_center(change.data_center);
  proto.set_outcome(ToProto(change.outcome));
  proto.set_reason(change.reason);
  proto.set_nodes_before(ToInt32(change.nodes.before));
  proto.set_nodes_after(ToInt32(change.nodes.after));
  proto.set_nodes_added(ToInt32(change.nodes.added));
  proto.set_nodes_removed(ToInt32(change.nodes.removed));
  proto.set_nodes_reweighted(ToInt32(change.nodes.reweighted));
  proto.set_nodes_readdressed(ToInt32(change.nodes.readdressed));
  proto.set_moved_ratio(MovedRatio(change));
  if (!change.difference) return;
  proto.set_moved_pool(change.difference->Worst(change.share).pool);
  const PoolChurn& all = change.difference->pools.front();
  proto.set_moved_ratio_v1(all.v1.value_or(0));
  proto.set_moved_ratio_v2(all.v2.value_or(0));
}

void ToProto(const TopologyController::Status& status, const std::string& file,
             v1::ReloadStatus& proto) {
  proto.set_file(file);
  proto.set_checksum(status.checksum);
  if (status.last_attempt) {
    ToProto(*status.last_attempt, *proto.mutable_last_attempt_time());
    proto.set_last_trigger(ToProto(status.last_trigger));
  }
  proto.set_last_error_code(static_cast<std::int32_t>(status.last_error.code()));
  proto.set_last_error(ToGrpcStatus(status.last_error).error_message());
  if (status.last_success) ToProto(*status.last_success, *proto.mutable_last_success_time());
  proto.set_generation(status.generation);
  for (const Change& change : status.held) ToProto(change, *proto.add_held());
  proto.set_store_error(status.store_error);
}

}  // namespace ringshift
