#include "routing/routing_table.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ring/pool_rings.h"
#include "routing/internal/checksum.h"

namespace ringshift {
namespace {

Share WantedShare(const Migration& migration, const RouterState& state) {
  return state.share_override ? state.share_override->share : migration.share;
}

Share ShareOfRings(const DataCenter& data_center, Share wanted) {
  if (data_center.v1() == nullptr) return Share::All();
  if (data_center.v2() == nullptr) return Share::None();
  return wanted;
}

// "is being built", or why it is not, of a ring that is wanted and not there; "" where none is.
std::string MissingRing(const DataCenter& data_center, const Migration& migration,
                        const RouterState& state) {
  const bool lacks_v1 =
      data_center.spec().v1 && data_center.v1() == nullptr && migration.retired != RetiredRing::kV1;
  const bool lacks_v2 = data_center.v2() == nullptr && migration.retired != RetiredRing::kV2;
  if (!lacks_v1 && !lacks_v2) return "";
  const std::string ring = absl::StrCat("ring ", lacks_v1 ? "v1" : "v2");
  return state.restore_error.empty()
             ? ring + " is being built"
             : absl::StrCat(ring, " is not being built: ", state.restore_error);
}

std::string ShareReason(const DataCenter& data_center, const Migration& migration,
                        const RouterState& state) {
  const Share wanted = WantedShare(migration, state);
  const Share share = ShareOfRings(data_center, wanted);
  if (share == migration.share) return MissingRing(data_center, migration, state);
  if (share == wanted) {
    return absl::StrCat("overridden on this router by ", state.share_override->actor, ": ",
                        state.share_override->reason);
  }
  if (!data_center.spec().v1) return "the data center has no ring v1";
  const std::string waits =
      absl::StrCat("waits for ring ", data_center.v1() == nullptr ? "v1" : "v2");
  return state.restore_error.empty()
             ? waits + " that is being built"
             : absl::StrCat(waits, ", which is not being built: ", state.restore_error);
}

std::uint64_t WeightOf(const NodeSet& nodes, const NodeMask& mask) {
  std::uint64_t weight = 0;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (mask.Contains(node)) weight += nodes[node].weight;
  }
  return weight;
}

std::vector<NodeMask> SettledPools(const DataCenter& data_center, const RouterState& state) {
  const NodeSet& nodes = data_center.node_set();
  std::vector<NodeMask> pools;
  bool are_all = true;
  for (std::size_t i = 0; i < data_center.pools().size(); ++i) {
    const DataCenter::Pool& pool = data_center.pools()[i];
    NodeMask& settled = pools.emplace_back(pool.nodes);
    if (state.settled != nullptr) settled = settled & *state.settled;
    if (state.past_nodes != nullptr) settled.Erase(state.past_nodes->young(i));
    if (settled.count() == pool.nodes.count()) continue;
    are_all = false;
    const auto weight = static_cast<double>(WeightOf(nodes, settled));
    if (weight * kLongMeanWalk < static_cast<double>(WeightOf(nodes, pool.nodes))) {
      settled = NodeMask(nodes.size());
    }
  }
  if (are_all) pools.clear();
  return pools;
}

// Whether a ring that is there answered buckets within the window that the other one answers.
bool HasWarmOtherRing(const DataCenter& data_center, const Warmth& warmth, Share share) {
  return data_center.v1() != nullptr && data_center.v2() != nullptr &&
         (warmth.v2_warm_below > share || warmth.v1_warm_from < share);
}

std::uint64_t TableChecksum(const DataCenter& data_center, const Migration& migration) {
  internal::Checksum checksum;
  checksum.Add(data_center.checksum(migration.retired));
  checksum.Add(migration.salt);
  checksum.Add(migration.decision_algorithm);
  return checksum.Value();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RoutingTable>> RoutingTable::Create(
    std::shared_ptr<const DataCenter> data_center, Migration migration, RouterState state) {
  if (migration.data_center != data_center->name()) {
    return absl::InvalidArgumentError(absl::StrCat("the migration of data center ",
                                                   migration.data_center, " for data center ",
                                                   data_center->name()));
  }
  if (state.settled != nullptr && state.settled->size() != data_center->node_set().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data center ", data_center->name(), " has ", data_center->node_set().size(),
                     " nodes, and those that are settled are of ", state.settled->size()));
  }
  if (state.past_nodes != nullptr && !state.past_nodes->AreOf(*data_center)) {
    return absl::InvalidArgumentError(absl::StrCat("data center ", data_center->name(),
                                                   ": the past nodes are of other nodes or pools"));
  }
  if (migration.decision_algorithm != kDecisionAlgorithm) {
    return absl::FailedPreconditionError(absl::StrCat(
        "data center ", data_center->name(), ": its migration has the decision algorithm \"",
        migration.decision_algorithm, "\", and this program knows only \"",
        absl::string_view(kDecisionAlgorithm.data(), kDecisionAlgorithm.size()),
        "\"; use the version of Ringshift that the fleet uses"));
  }
  return std::shared_ptr<const RoutingTable>(
      new RoutingTable(std::move(data_center), std::move(migration), std::move(state)));
}

Share RoutingTable::EffectiveShare(const DataCenter& data_center, const Migration& migration,
                                   const RouterState& state) {
  return ShareOfRings(data_center, WantedShare(migration, state));
}

RoutingTable::RoutingTable(std::shared_ptr<const DataCenter> data_center, Migration migration,
                           RouterState state)
    : data_center_(std::move(data_center)),
      migration_(std::move(migration)),
      decision_(migration_.salt),
      state_(std::move(state)),
      share_(EffectiveShare(*data_center_, migration_, state_)),
      share_reason_(ShareReason(*data_center_, migration_, state_)),
      settled_(SettledPools(*data_center_, state_)),
      has_previous_owners_(!settled_.empty() ||
                           (state_.past_nodes != nullptr && state_.past_nodes->has_reweighted()) ||
                           HasWarmOtherRing(*data_center_, state_.warmth, share_)),
      checksum_(TableChecksum(*data_center_, migration_)) {}

}  // namespace ringshift
