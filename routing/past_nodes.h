// The nodes of a data center that were not what they are now all through the warm window: they
// came, left, changed their weight or their pools. They tell whom a ring gave a key when the window
// began, and whether its owner has had it ever since, without a second ring: the points of a node
// depend on that node alone, and those of a lower weight are the first of those of a higher one, so
// what a ring has not in common with an earlier one are some points of these nodes.
//
// Thread safety: immutable.
#ifndef RINGSHIFT_ROUTING_PAST_NODES_H_
#define RINGSHIFT_ROUTING_PAST_NODES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/ring.h"
#include "ring/ring_identity.h"
#include "routing/data_center.h"

namespace ringshift {

// A node's weights in a pool within the warm window; 0 while it was not in the pool, or not there.
struct PastWeights {
  std::uint32_t first = 0;  // when the window began
  std::uint32_t least = 0;
  std::uint32_t most = 0;

  friend bool operator==(const PastWeights&, const PastWeights&) = default;
};

struct PastNode {
  RingIdentity identity;
  // Its index now. None if it is not there any more; a node of the same name that has another ring
  // identity or another address is another node.
  std::optional<NodeIndex> node;
  std::vector<PastWeights> pools;  // by index in DataCenter::pools()
};

class PastNodes {
 public:
  // How many points are held at most: a quarter of what the rings of the data center have, within
  // these bounds. They take 8 bytes each.
  static std::uint64_t MaxPoints(const DataCenter& data_center);
  static constexpr std::uint64_t kLeastMaxPoints = 250'000;
  static constexpr std::uint64_t kMostMaxPoints = 4'000'000;

  // How many points of `nodes` the rings of the data center had, or have, a part of the window
  // only: what Create holds. Those of nodes that only came are not among them.
  static std::uint64_t CountPoints(const DataCenter& data_center,
                                   const std::vector<PastNode>& nodes);

  // REQUIRES: each node has weights for every pool of the data center
  // Cost: time and memory linear in CountPoints, but for a sort.
  static std::shared_ptr<const PastNodes> Create(const DataCenter& data_center,
                                                 std::vector<PastNode> nodes);

  const std::vector<PastNode>& nodes() const { return nodes_; }

  // Whether it has the data center's pools, and nodes.
  bool AreOf(const DataCenter& data_center) const;

  // The nodes that are in the pool and were not all the while: they may hold none of what they own.
  const NodeMask& young(std::size_t pool) const { return pools_[pool].young; }
  // Those of the pool whose weight in it changed, the young ones among them.
  const NodeMask& changed(std::size_t pool) const { return pools_[pool].changed; }
  // Whether a node is there that gained or lost weight, so that a key whose ring did not change can
  // have another owner than when the window began, and that one is known.
  bool has_reweighted() const { return has_reweighted_; }

  // Whether the node of `owner`, the first point of the pool that `ring` has now at or after
  // `position`, has owned that position all through the window. The node is not young.
  // Cost: a binary search.
  bool OwnedThroughout(RingVersion version, std::size_t pool, std::uint32_t position,
                       Ring::Point owner) const;

  // The node that owned `position` on `ring` when the window began; none if it is not in the pool
  // any more, or was not all the while, or cannot be told from another one with a point on the same
  // hash. `settled` are the nodes of the pool that are not young. Cost: a walk of the ring among
  // them, with a binary search a point.
  std::optional<NodeIndex> FirstOwner(const Ring& ring, std::size_t pool, std::uint32_t position,
                                      const NodeMask& settled) const;

  // Appends the nodes that are there and may have owned `position` within the window by a point
  // from there to `end` that they do not have in the pool any more, whether they left it or not.
  void AppendOwnersByLostPoints(RingVersion version, std::size_t pool, std::uint32_t position,
                                std::uint32_t end, std::vector<NodeIndex>& nodes) const;

 private:
  // A point that a ring had, or has, for a part of the window.
  struct Point {
    std::uint32_t hash;
    std::uint32_t part;  // in parts_
  };
  // Of a node's points, those that it had in the same pools at the same times.
  struct Part {
    std::uint32_t place;   // of the node in nodes_
    std::uint32_t weight;  // it had them while its weight was above this
  };
  struct Pool {
    NodeMask young;
    NodeMask changed;
    NodeMask grown;                      // not young, and with less weight when the window began
    std::vector<std::uint32_t> weights;  // of nodes_, now; 0 where it is not in the pool
  };

  PastNodes(const DataCenter& data_center, std::vector<PastNode> nodes);

  bool IsYoung(const PastNode& node, std::size_t pool) const {
    return node.node && pools_[pool].young.Contains(*node.node);
  }
  // Whether a present point of a node that is not young was not there when the window began.
  bool IsGained(RingVersion version, std::size_t pool, Ring::Point point) const;
  // visit(part, hash) for the points from `position` on, as far as `distance`, while it returns
  // true.
  template <typename Visit>
  void VisitFrom(RingVersion version, std::uint32_t position, std::uint32_t distance,
                 const Visit& visit) const;

  const std::vector<PastNode> nodes_;
  std::vector<Pool> pools_;
  std::vector<Part> parts_;
  std::array<std::vector<Point>, 2> points_;  // v1's and v2's, by hash
  bool has_reweighted_ = false;
};

// The first point of `eligible` at or after `position`. REQUIRES: eligible.count() > 0, and it has
// a point. Cost: as OwnerAt among `eligible`.
Ring::Point FirstPoint(const Ring& ring, std::uint32_t position, const NodeMask& eligible);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_PAST_NODES_H_
