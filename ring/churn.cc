#include "ring/churn.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "ring/internal/ring_points.h"

namespace ringshift {
namespace {

using internal::RingPoints;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

// The arcs of the eligible nodes, clockwise from position 0: first the one that ends at the first
// point, at last the rest of the one that wraps around to it.
template <typename Points>
class ArcWalk {
 public:
  // `nobody` is the owner of everything where no node is eligible.
  ArcWalk(const Points& points, const NodeMask& eligible, NodeIndex nobody)
      : next_(points.CursorAtBegin()), eligible_(eligible), owner_(nobody) {
    if (eligible.count() > 0) Next();
    first_owner_ = owner_;
    is_first_tied_ = is_tied_;
  }

  // Of the present arc.
  std::uint64_t end() const { return arc_end_; }  // one past its last position, at most 2^32
  NodeIndex owner() const { return owner_; }
  bool is_tied() const { return is_tied_; }

  // REQUIRES: end() < 2^32
  void Next() {
    while (!next_.AtEnd() && !eligible_.Contains(next_.node())) next_.Next();
    if (next_.AtEnd()) {
      arc_end_ = kPositions;
      owner_ = first_owner_;
      is_tied_ = is_first_tied_;
      return;
    }
    const std::uint32_t hash = next_.hash();
    arc_end_ = std::uint64_t{hash} + 1;
    owner_ = next_.node();
    is_tied_ = false;
    for (next_.Next(); !next_.AtEnd() && next_.hash() == hash; next_.Next()) {
      is_tied_ |= next_.node() != owner_ && eligible_.Contains(next_.node());
    }
  }

 private:
  typename Points::Cursor next_;
  const NodeMask& eligible_;
  std::uint64_t arc_end_ = kPositions;
  NodeIndex owner_;
  bool is_tied_ = false;
  NodeIndex first_owner_ = 0;
  bool is_first_tied_ = false;
};

// A node of the first ring as the second one has it.
struct Counterpart {
  // No index of the second ring, so that its keys always move.
  static constexpr NodeIndex kNone = 0xFFFFFFFF;

  NodeIndex node = kNone;
  bool survives = false;  // as Churn::moved_between_survivors has it
};

// The ends of arcs alternate between the rings at random, so each is a mispredicted branch: what
// else happens for one is kept small.
template <typename P, typename Q>
void CountMoves(ArcWalk<P> from, ArcWalk<Q> to, const std::vector<Counterpart>& counterparts,
                const std::vector<char>& is_survivor, Churn& churn) {
  for (std::uint64_t begin = 0;;) {
    const std::uint64_t end = std::min(from.end(), to.end());
    const std::uint64_t positions = end - begin;
    const bool is_tied = from.is_tied() || to.is_tied();
    const Counterpart& kept = counterparts[from.owner()];
    if (is_tied) churn.tied += positions;
    if (kept.node != to.owner()) {
      churn.lost[from.owner()] += positions;
      churn.gained[to.owner()] += positions;
      if (kept.survives && is_survivor[to.owner()]) churn.moved_between_survivors += positions;
      if (is_tied) churn.moved_tied += positions;
    }
    if (end == kPositions) return;
    begin = end;
    if (from.end() == end) from.Next();
    if (to.end() == end) to.Next();
  }
}

}  // namespace

NodeMatching MatchNodes(const NodeSet& from, const NodeSet& to) {
  NodeMatching same(from.size());
  std::vector<NodeIndex> left;  // of `to`
  NodeIndex j = 0;
  for (NodeIndex i = 0; i < from.size(); ++i) {
    while (j < to.size() && to[j].identity < from[i].identity) left.push_back(j++);
    if (j < to.size() && to[j].identity == from[i].identity) same[i] = j++;
  }
  while (j < to.size()) left.push_back(j++);

  std::sort(left.begin(), left.end(),
            [&to](NodeIndex a, NodeIndex b) { return to[a].name < to[b].name; });
  for (NodeIndex i = 0; i < from.size(); ++i) {
    if (same[i]) continue;
    const auto named = std::lower_bound(
        left.begin(), left.end(), from[i].name,
        [&to](NodeIndex node, const std::string& name) { return to[node].name < name; });
    if (named != left.end() && to[*named].name == from[i].name) same[i] = *named;
  }
  return same;
}

Churn MeasureChurn(const MaskedRing& from, const MaskedRing& to, const NodeMatching& same) {
  // Behind the nodes of each side stands nobody, who owns the ring of a side without eligible
  // nodes.
  const auto from_nobody = static_cast<NodeIndex>(from.ring.nodes().size());
  const auto to_nobody = static_cast<NodeIndex>(to.ring.nodes().size());
  std::vector<Counterpart> counterparts(from_nobody + 1);
  std::vector<char> is_survivor(to_nobody + 1);
  for (NodeIndex node = 0; node < from_nobody; ++node) {
    if (!same[node]) continue;
    const bool survives = from.eligible.Contains(node) && to.eligible.Contains(*same[node]) &&
                          from.ring.nodes()[node].weight == to.ring.nodes()[*same[node]].weight;
    counterparts[node] = {*same[node], survives};
    is_survivor[*same[node]] = survives;
  }
  counterparts[from_nobody].node = to_nobody;

  Churn churn;
  churn.lost.assign(from_nobody + 1, 0);
  churn.gained.assign(to_nobody + 1, 0);
  RingPoints::Visit(from.ring, [&](const auto& from_points) {
    RingPoints::Visit(to.ring, [&](const auto& to_points) {
      CountMoves(ArcWalk(from_points, from.eligible, from_nobody),
                 ArcWalk(to_points, to.eligible, to_nobody), counterparts, is_survivor, churn);
    });
  });
  churn.moved = std::accumulate(churn.lost.begin(), churn.lost.end(), std::uint64_t{0});
  churn.lost.pop_back();
  churn.gained.pop_back();
  return churn;
}

}  // namespace ringshift
