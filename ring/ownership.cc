#include "ring/ownership.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringshift {
namespace {

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

// The z with P(standard normal <= z) = p, by bisection of erfc.
double NormalQuantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Ownership MeasureOwnership(const Ring& ring, const NodeMask& eligible) {
  Ownership ownership;
  ownership.positions.assign(ring.nodes().size(), 0);
  if (eligible.count() == 0) return ownership;

  // The positions after the last eligible point and up to this one are this one's node's. What is
  // left behind the last one wraps around to the first.
  std::uint64_t owned_up_to = 0;
  NodeIndex first_owner = 0;
  bool any = false;
  for (std::size_t i = 0; i < ring.point_count(); ++i) {
    const Ring::Point point = ring.point(i);
    if (!eligible.Contains(point.node)) continue;
    if (!any) first_owner = point.node, any = true;
    const std::uint64_t end = std::uint64_t{point.hash} + 1;
    ownership.positions[point.node] += end - owned_up_to;
    owned_up_to = end;
  }
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

BalancePrediction PredictBalance(std::uint64_t points, std::size_t nodes) {
  const auto n = static_cast<double>(nodes);
  const double cv = std::sqrt((n - 1) / (n * static_cast<double>(points) + 1));
  if (nodes < 2) return {cv, 1};
  // Blom's plotting position for the highest of n, through the Wilson-Hilferty cube-root
  // approximation, since the load of few points is a skewed gamma variable.
  const double z = NormalQuantile((n - 0.375) / (n + 0.25));
  const double c = cv * cv / 9;
  const double root = 1 - c + z * std::sqrt(c);
  return {cv, root * root * root};
}

}  // namespace ringshift
