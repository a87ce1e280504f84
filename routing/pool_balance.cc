#include "routing/pool_balance.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "ring/ownership.h"

namespace ringshift {
namespace {

std::size_t LoadClass(double load) {
  const auto above = std::upper_bound(kLoadClasses.begin(), kLoadClasses.end(), load);
  return static_cast<std::size_t>(std::distance(kLoadClasses.begin(), above)) - 1;
}

}  // namespace

PoolBalance MeasurePoolBalance(const Ring& ring, const NodeSet& nodes, std::string_view pool,
                               const NodeMask& eligible) {
  const Ownership ownership = MeasureOwnership(ring, eligible);
  PoolBalance balance;
  balance.pool = std::string(pool);
  balance.nodes = eligible.count();
  balance.cv = ownership.cv;
  balance.max_ratio = ownership.max_ratio;
  balance.min_ratio = ownership.min_ratio;
  std::vector<std::pair<double, NodeIndex>> loads;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (eligible.Contains(node)) loads.emplace_back(ownership.loads[node], node);
  }
  if (loads.empty()) return balance;
  const auto [lowest, highest] = std::minmax_element(loads.begin(), loads.end());
  balance.max_node = nodes[highest->second].name;
  balance.min_node = nodes[lowest->second].name;
  for (const auto& [load, node] : loads) ++balance.nodes_by_load[LoadClass(load)];
  return balance;
}

std::string BalanceWarning(const NodeSet& nodes, const RingParameters& parameters) {
  const RingNode& lightest =
      *std::min_element(nodes.nodes().begin(), nodes.nodes().end(),
                        [](const RingNode& a, const RingNode& b) { return a.weight < b.weight; });
  const std::uint64_t points = std::uint64_t{lightest.weight} * parameters.points_per_weight;
  if (points >= kBalancedPoints || nodes.size() == 1) return "";
  const BalancePrediction balance = PredictBalance(nodes, parameters);
  const std::uint64_t mended = (kBalancedPoints + lightest.weight - 1) / lightest.weight;
  return absl::StrFormat(
      "the lightest node, %s, has %d points; expect CV %.1f %% and max/mean %.2fx; "
      "points_per_weight: %d gives it %d",
      lightest.name, points, 100 * balance.cv, balance.max_ratio, mended, mended * lightest.weight);
}

}  // namespace ringshift
