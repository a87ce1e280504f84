#include "ring/ownership.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ring/internal/ring_points.h"

namespace ringshift {
namespace {

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

// P(standard normal > z).
double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

}  // namespace

Ownership MeasureOwnership(const Ring& ring, const NodeMask& eligible) {
  Ownership ownership;
  ownership.positions.assign(ring.nodes().size(), 0);
  ownership.loads.assign(ring.nodes().size(), 0);
  if (eligible.count() == 0) return ownership;

  // The positions after the last eligible point and up to this one are this one's node's. What is
  // left behind the last one wraps around to the first.
  std::uint64_t owned_up_to = 0;
  NodeIndex first_owner = 0;
  bool any = false;
  internal::RingPoints::Visit(ring, [&](const auto& points) {
    for (auto point = points.CursorAtBegin(); !point.AtEnd(); point.Next()) {
      const NodeIndex node = point.node();
      if (!eligible.Contains(node)) continue;
      if (!any) first_owner = node, any = true;
      const std::uint64_t end = std::uint64_t{point.hash()} + 1;
      ownership.positions[node] += end - owned_up_to;
      owned_up_to = end;
    }
  });
  ownership.positions[first_owner] += kPositions - owned_up_to;

  std::uint64_t weight = 0;
  for (NodeIndex node = 0; node < ring.nodes().size(); ++node) {
    if (eligible.Contains(node)) weight += ring.nodes()[node].weight;
  }
  double squares = 0;
  ownership.min_ratio = std::numeric_limits<double>::infinity();
  for (NodeIndex node = 0; node < ring.nodes().size(); ++node) {
    if (!eligible.Contains(node)) continue;
    const double ideal = static_cast<double>(kPositions) *
                         static_cast<double>(ring.nodes()[node].weight) /
                         static_cast<double>(weight);
    const double load = static_cast<double>(ownership.positions[node]) / ideal;
    ownership.loads[node] = load;
    squares += (load - 1) * (load - 1);
    ownership.max_ratio = std::max(ownership.max_ratio, load);
    ownership.min_ratio = std::min(ownership.min_ratio, load);
  }
  ownership.cv = std::sqrt(squares / static_cast<double>(eligible.count()));
  return ownership;
}

Ownership MeasureOwnership(const Ring& ring) {
  return MeasureOwnership(ring, NodeMask::All(ring.nodes().size()));
}

BalancePrediction PredictBalance(const NodeSet& nodes, const RingParameters& parameters) {
  const auto n = static_cast<double>(nodes.size());
  const double all_points =
      static_cast<double>(nodes.total_weight()) * parameters.points_per_weight;
  struct Group {
    double nodes;
    double variance;  // of the load of each
  };
  std::map<std::uint32_t, double> nodes_by_weight;
  for (const RingNode& node : nodes.nodes()) ++nodes_by_weight[node.weight];
  std::vector<Group> groups;
  BalancePrediction prediction;
  for (const auto& [weight, count] : nodes_by_weight) {
    const double points = static_cast<double>(weight) * parameters.points_per_weight;
    const double variance = (all_points - points) / (points * (all_points + 1));
    groups.push_back({count, variance});
    prediction.cv += count / n * variance;
  }
  prediction.cv = std::sqrt(prediction.cv);
  if (nodes.size() < 2) return prediction;

  // The load that as many nodes are expected to exceed as Blom's plotting position has above the
  // highest of n. Loads are skewed where points are few, hence the cube root of Wilson and
  // Hilferty.
  const double above = 0.625 * n / (n + 0.25);
  double low = 1, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double load = (low + high) / 2;
    double exceeding = 0;
    for (const Group& group : groups) {
      const double c = group.variance / 9;
      exceeding += group.nodes * NormalTail((std::cbrt(load) - (1 - c)) / std::sqrt(c));
    }
    (exceeding > above ? low : high) = load;
  }
  prediction.max_ratio = (low + high) / 2;
  return prediction;
}

}  // namespace ringshift
