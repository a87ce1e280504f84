// Churn: the exact part of the key space whose owner differs between two rings, in one pass over
// both.
//
//   const NodeMatching same = MatchNodes(from.nodes(), to.nodes());
//   const Churn churn = MeasureChurn({from, all_from}, {to, all_to}, same);
//   churn.moved_ratio();  // 0.098
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_RING_CHURN_H_
#define RINGSHIFT_RING_CHURN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift {

// By index in the first set: which node of the second one is the same cache, if one is. It is one
// to one.
using NodeMatching = std::vector<std::optional<NodeIndex>>;

// Nodes with one ring identity are the same, whatever they are called; of the others, those with
// one name. Cost: O(n log n).
NodeMatching MatchNodes(const NodeSet& from, const NodeSet& to);

// A ring and the nodes of it that may answer.
struct MaskedRing {
  const Ring& ring;
  const NodeMask& eligible;
};

// Counts of the 2^32 positions.
struct Churn {
  // Those whose owner is another node.
  std::uint64_t moved = 0;
  // Of these: from a survivor, a node that is eligible on both sides with one weight, to another.
  // 0 where nodes only join, leave or change their weight, in rings of one version and
  // points_per_weight.
  std::uint64_t moved_between_survivors = 0;
  // Those for which a rule for ties decides on either side, because several eligible nodes have a
  // point on the hash. Other programs with the same points may decide otherwise there.
  std::uint64_t tied = 0;
  // Those that are both moved and tied.
  std::uint64_t moved_tied = 0;
  // What each node of the first ring loses and each of the second one gains. Each sums up to
  // `moved`, unless a side has no eligible node.
  std::vector<std::uint64_t> lost;
  std::vector<std::uint64_t> gained;

  double moved_ratio() const { return static_cast<double>(moved) / 4294967296.0; }
};

// A side without eligible nodes owns nothing: everything has moved, unless the other one is empty
// too. Cost: one pass over the points of both, without scratch memory beyond the counts.
// REQUIRES: the masks are of their ring's nodes; same.size() == from.ring.nodes().size()
Churn MeasureChurn(const MaskedRing& from, const MaskedRing& to, const NodeMatching& same);

}  // namespace ringshift

#endif  // RINGSHIFT_RING_CHURN_H_
