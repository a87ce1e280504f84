// Exact shares of the key space, and the balance that a number of points promises.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_RING_OWNERSHIP_H_
#define RINGSHIFT_RING_OWNERSHIP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/node_mask.h"
#include "ring/ring.h"

namespace ringshift {

// What part of the 2^32 positions each node owns. The load of a node is its share divided by the
// ideal one, weight / total weight; 1 is perfect.
struct Ownership {
  std::vector<std::uint64_t> positions;  // by node index; the sum is 2^32, 0 outside the mask
  std::vector<double> loads;             // by node index; 0 outside the mask
  double cv = 0;         // root mean square of (load - 1): the coefficient of variation
  double max_ratio = 0;  // the highest load: max/mean
  double min_ratio = 0;  // the lowest load: min/mean
};

// Of a whole ring, or of the pool `eligible` on it. Cost: one pass over the points.
// An empty mask gives zeros. REQUIRES: eligible.size() == ring.nodes().size()
Ownership MeasureOwnership(const Ring& ring);
Ownership MeasureOwnership(const Ring& ring, const NodeMask& eligible);

// Below this many points for the lightest node, a ring deserves a warning.
inline constexpr std::uint64_t kBalancedPoints = 150;

// What theory expects of the rings of `nodes` before one is built: the arcs of a node with k of P
// points have a share of mean k / P and of variance as Beta(k, P - k), so its load has a CV of
// sqrt((P - k) / (k (P + 1))). `cv` and `max_ratio` are as in Ownership: over all nodes, and of the
// heaviest. A stuck chain is counted with the points that its weight would give.
// Cost: linear in the nodes. REQUIRES: parameters that Ring::Measure accepts.
struct BalancePrediction {
  double cv = 0;
  double max_ratio = 1;
};
BalancePrediction PredictBalance(const NodeSet& nodes, const RingParameters& parameters);

}  // namespace ringshift

#endif  // RINGSHIFT_RING_OWNERSHIP_H_
