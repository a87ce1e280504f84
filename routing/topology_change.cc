#include "routing/topology_change.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ring/churn.h"

namespace ringshift {
namespace {

NodeChanges CountNodeChanges(const DataCenter& from, const DataCenter& to,
                             const NodeMatching& same) {
  NodeChanges changes;
  changes.before = from.node_set().size();
  changes.after = to.node_set().size();
  for (NodeIndex node = 0; node < from.node_set().size(); ++node) {
    if (!same[node]) {
      ++changes.removed;
      continue;
    }
    const RingNode& before = from.node_set()[node];
    const RingNode& after = to.node_set()[*same[node]];
    changes.reweighted += before.weight != after.weight;
    changes.readdressed += before.identity == after.identity &&
                           from.node(node).address != to.node(*same[node]).address;
  }
  changes.added = changes.after - (changes.before - changes.removed);
  return changes;
}

double MovedRatio(const DataCenter::BuiltRing& from, const NodeMask& from_pool,
                  const DataCenter::BuiltRing& to, const NodeMask& to_pool,
                  const NodeMatching& same) {
  if (from.ring == to.ring && from_pool == to_pool) return 0;
  return MeasureChurn({*from.ring, from_pool}, {*to.ring, to_pool}, same).moved_ratio();
}

PoolChurn MeasurePoolChurn(const DataCenter& from, const DataCenter::Pool& pool,
                           const DataCenter& to, const NodeMatching& same) {
  PoolChurn churn;
  churn.pool = pool.name;
  const bool has_v1 = from.v1() != nullptr && to.v1() != nullptr;
  const bool has_v2 = from.v2() != nullptr && to.v2() != nullptr;
  const std::optional<std::size_t> new_pool = to.FindPool(pool.name);
  // Without nodes a pool had no keys to move; without nodes now it keeps none.
  if (pool.nodes.count() == 0 || !new_pool || to.pools()[*new_pool].nodes.count() == 0) {
    const double moved = pool.nodes.count() == 0 ? 0 : 1;
    if (has_v1) churn.v1 = moved;
    if (has_v2) churn.v2 = moved;
    return churn;
  }
  const NodeMask& new_nodes = to.pools()[*new_pool].nodes;
  if (has_v1) churn.v1 = MovedRatio(*from.v1(), pool.nodes, *to.v1(), new_nodes, same);
  if (has_v2) churn.v2 = MovedRatio(*from.v2(), pool.nodes, *to.v2(), new_nodes, same);
  return churn;
}

std::string Percent(double ratio) { return absl::StrFormat("%.6g%%", 100 * ratio); }

absl::Status Refuse(const DataCenterSpec& data_center, const std::string& what,
                    const std::string& remedy) {
  return absl::FailedPreconditionError(
      absl::StrCat("data center ", data_center.name, ": ", what, "; ", remedy));
}

}  // namespace

double PoolChurn::Moved(Share share) const {
  if (!v1 || !v2) return v1 ? *v1 : v2.value_or(1);
  return *v1 + share.ppm() / static_cast<double>(Share::kMaxPpm) * (*v2 - *v1);
}

const PoolChurn& DataCenterChange::Worst(Share share) const {
  return *std::max_element(
      pools.begin(), pools.end(),
      [share](const PoolChurn& a, const PoolChurn& b) { return a.Moved(share) < b.Moved(share); });
}

DataCenterChange DescribeChange(const DataCenter& from, const DataCenter& to) {
  const NodeMatching same = MatchNodes(from.node_set(), to.node_set());
  DataCenterChange change;
  change.nodes = CountNodeChanges(from, to, same);
  for (const DataCenter::Pool& pool : from.pools()) {
    change.pools.push_back(MeasurePoolChurn(from, pool, to, same));
  }
  return change;
}

std::string ReasonToHold(const DataCenterChange& change, Share share, const ReloadLimits& limits) {
  std::vector<std::string> reasons;
  const PoolChurn& worst = change.Worst(share);
  if (const double moved = worst.Moved(share); moved > limits.max_moved_ratio) {
    reasons.push_back(absl::StrFormat("moves %.4f%% of the key space (pool %s), above %s",
                                      100 * moved, worst.pool, Percent(limits.max_moved_ratio)));
  }
  const double removed =
      static_cast<double>(change.nodes.removed) / static_cast<double>(change.nodes.before);
  if (removed > limits.max_removed_ratio) {
    reasons.push_back(absl::StrFormat("drops %d of %d nodes (%s), above %s", change.nodes.removed,
                                      change.nodes.before, Percent(removed),
                                      Percent(limits.max_removed_ratio)));
  }
  return absl::StrJoin(reasons, "; ");
}

absl::Status CheckAnsweringRings(const DataCenterSpec& from, const DataCenterSpec& to,
                                 Share share) {
  const std::string v1_percent = Share::FromPpm(Share::kMaxPpm - share.ppm())->ToPercent();
  if (share < Share::All()) {
    if (!from.v1 && to.v1) {
      return Refuse(from,
                    absl::StrCat("a ring v1 would appear and take ", v1_percent,
                                 "% of the requests from ring v2, which answers all"),
                    "set the share to 100% first and reload, or keep `v1: none`");
    }
    if (from.v1 && !to.v1) {
      return Refuse(
          from,
          absl::StrCat("ring v1 answers ", v1_percent, "% of the requests, and would be gone"),
          "raise the share to 100% first and reload, or keep ring v1");
    }
    if (from.v1 && from.v1->points_per_weight != to.v1->points_per_weight) {
      return Refuse(from,
                    absl::StrCat("ring v1 answers ", v1_percent,
                                 "% of the requests, and its points_per_weight would change from ",
                                 from.v1->points_per_weight, " to ", to.v1->points_per_weight),
                    absl::StrCat("raise the share to 100% first and reload, or keep ",
                                 from.v1->points_per_weight));
    }
  }
  // Without a v1, v2 answers whatever the share is.
  if ((share > Share::None() || !from.v1) && from.v2.points_per_weight != to.v2.points_per_weight) {
    return Refuse(from,
                  absl::StrCat("ring v2 answers ", from.v1 ? share.ToPercent() : "100",
                               "% of the requests, and its points_per_weight would change from ",
                               from.v2.points_per_weight, " to ", to.v2.points_per_weight),
                  absl::StrCat(from.v1 ? "lower the share to 0% first and reload, or keep "
                                       : "there is no ring v1 to answer meanwhile: keep ",
                               from.v2.points_per_weight));
  }
  return absl::OkStatus();
}

}  // namespace ringshift
