// The previous owner of a key: where its object may still be warm.
//
// A node is warm for a key if it answered for it within the warm window. A node that joined within
// the window is young: it may hold none of what it owns. Of a key that this ring gives to O:
//   - the other ring answered the bucket within the window, and the node that it gives the key has
//     owned it there all through the window: that node;
//   - otherwise the node that owned the key before nodes first changed within the window, in the
//     ring that answered the bucket then (Warmth::first_share);
//   - otherwise, if the other ring answered the bucket since nodes last changed, the node that it
//     gives the key: it has had the key for a shorter time than the first two.
// It is none where that is O itself or one of the answer's nodes, where the ring or the node in
// question is not there, or where the nodes that are not young are too few to look for
// (RoutingTable::settled). It never leaves the pool.
//
// So every name is warm, whatever became of shares and nodes: the first one answered whenever the
// other ring did, the second one until nodes changed, and the third one since they last did.
//
// And where nodes only joined within the window and O is cold while a node that is there is warm,
// there is a name, as long as the rings that answered are there: nodes that come take keys and give
// none, so the other ring's owner, if it is not young, has owned the key all the while, and if the
// first two find O, it answered itself. Where nodes left, came back, or changed their weights or
// pools, some warm nodes have no name: those that answered for a key between two changes of nodes.
//
// Thread safety: pure. Cost: at most two walks of a ring, with a binary search of the past nodes'
// points where there are some; nothing where RoutingTable::has_previous_owners() is false.
#ifndef RINGSHIFT_ROUTING_PREVIOUS_OWNER_H_
#define RINGSHIFT_ROUTING_PREVIOUS_OWNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ring/node_set.h"
#include "ring/ring.h"
#include "routing/routing_table.h"

namespace ringshift {

// `answering` gives the key at `position`, of `bucket`, `nodes` of the pool: at least the owner.
std::optional<NodeIndex> FindPreviousOwner(const RoutingTable& table, std::size_t pool,
                                           std::uint32_t position, std::uint32_t bucket,
                                           RingVersion answering, std::span<const NodeIndex> nodes);

// Why it is what it is, for people. The arguments are those of FindPreviousOwner.
std::string DescribePreviousOwner(const RoutingTable& table, std::size_t pool,
                                  std::uint32_t position, std::uint32_t bucket,
                                  RingVersion answering, std::span<const NodeIndex> nodes);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_PREVIOUS_OWNER_H_
