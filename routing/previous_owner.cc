#include "routing/previous_owner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "routing/internal/warm_rings.h"

namespace ringshift {
namespace {

struct WarmNode {
  enum class Source {
    kOtherRing,     // `ring` answered the bucket within the window, and gives the key to `node`
    kFirstOwner,    // `ring` answered before nodes changed, and gave the key to `node` then
    kOwner,         // the owner itself did
    kNoRing,        // `ring` did, and is not there any more
    kNoFirstOwner,  // whom `ring` gave the key then is not there any more
    kNoneSettled,   // no node of the pool is known to have been there
  };
  Source source;
  RingVersion ring;
  std::optional<NodeIndex> node = std::nullopt;
};

// The node that owns the position on the ring, if it has all through the window.
std::optional<NodeIndex> LastingOwner(const RoutingTable& table, const Ring& ring, std::size_t pool,
                                      std::uint32_t position) {
  const NodeMask& nodes = table.data_center().pools()[pool].nodes;
  const PastNodes* const past = table.state().past_nodes.get();
  const Ring::Point point = past == nullptr ? Ring::Point{position, ring.OwnerAt(position, nodes)}
                                            : FirstPoint(ring, position, nodes);
  if (!table.settled(pool).Contains(point.node)) return std::nullopt;
  if (past != nullptr && !past->OwnedThroughout(ring.parameters().version, pool, position, point)) {
    return std::nullopt;
  }
  return point.node;
}

// The owner before nodes first changed.
WarmNode FindFirstOwner(const RoutingTable& table, std::size_t pool, std::uint32_t position,
                        std::uint32_t bucket, RingVersion answering, NodeIndex owner) {
  using enum WarmNode::Source;
  const PastNodes* const past = table.state().past_nodes.get();
  const NodeMask& settled = table.settled(pool);
  const RingVersion first = internal::FirstRing(table.state().warmth, bucket);
  if (first == answering && past == nullptr && settled.Contains(owner)) return {kOwner, first};
  const DataCenter::BuiltRing* const ring = table.data_center().ring(first);
  if (ring == nullptr) return {kNoRing, first};
  if (settled.count() == 0) return {kNoneSettled, first};
  if (past == nullptr) {
    return {kFirstOwner, first, ring->RingOf(pool).OwnerAt(position, settled)};
  }
  const std::optional<NodeIndex> node =
      past->FirstOwner(ring->RingOf(pool), pool, position, settled);
  if (!node) return {kNoFirstOwner, first};
  return {*node == owner ? kOwner : kFirstOwner, first, node};
}

WarmNode FindWarmNode(const RoutingTable& table, std::size_t pool, std::uint32_t position,
                      std::uint32_t bucket, RingVersion answering, NodeIndex owner) {
  using enum WarmNode::Source;
  const RouterState& state = table.state();
  const RingVersion other = internal::OtherRing(answering);
  const DataCenter::BuiltRing* const other_ring = table.data_center().ring(other);
  if (other_ring != nullptr && internal::Answered(state.warmth, other, bucket)) {
    const std::optional<NodeIndex> node =
        LastingOwner(table, other_ring->RingOf(pool), pool, position);
    if (node) return {kOtherRing, other, node};
  }
  const WarmNode first = FindFirstOwner(table, pool, position, bucket, answering, owner);
  if (first.source == kOwner || first.source == kFirstOwner) return first;
  if (other_ring != nullptr && internal::Answered(state.warmth_since_nodes, other, bucket)) {
    return {kOtherRing, other,
            other_ring->RingOf(pool).OwnerAt(position, table.data_center().pools()[pool].nodes)};
  }
  return first;
}

bool IsAmong(std::span<const NodeIndex> nodes, NodeIndex node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

std::optional<NodeIndex> FindPreviousOwner(const RoutingTable& table, std::size_t pool,
                                           std::uint32_t position, std::uint32_t bucket,
                                           RingVersion answering,
                                           std::span<const NodeIndex> nodes) {
  if (!table.has_previous_owners()) return std::nullopt;
  const WarmNode warm = FindWarmNode(table, pool, position, bucket, answering, nodes.front());
  return warm.node && !IsAmong(nodes, *warm.node) ? warm.node : std::nullopt;
}

std::string DescribePreviousOwner(const RoutingTable& table, std::size_t pool,
                                  std::uint32_t position, std::uint32_t bucket,
                                  RingVersion answering, std::span<const NodeIndex> nodes) {
  if (!table.has_previous_owners()) {
    return "no key has one: no other ring that is there answered within the warm window, no node "
           "is young, and none has another weight than before";
  }
  const WarmNode warm = FindWarmNode(table, pool, position, bucket, answering, nodes.front());
  std::string text = absl::StrCat(
      "ring ", warm.ring == RingVersion::kV1 ? "v1" : "v2", " answered bucket ", bucket,
      warm.source == WarmNode::Source::kOtherRing ? " within the warm window"
                                                  : " before nodes changed");
  switch (warm.source) {
    case WarmNode::Source::kOtherRing:
      absl::StrAppend(&text, ", and gives the key to ", table.data_center().node(*warm.node).name);
      break;
    case WarmNode::Source::kFirstOwner:
      absl::StrAppend(&text, ", and gave the key to ", table.data_center().node(*warm.node).name,
                      " then");
      break;
    case WarmNode::Source::kOwner:
      absl::StrAppend(&text, ", and the owner was there");
      break;
    case WarmNode::Source::kNoRing:
      absl::StrAppend(&text, ", and is not there any more");
      break;
    case WarmNode::Source::kNoFirstOwner:
      absl::StrAppend(&text, ", and gave the key to a node that is gone, or was for a time");
      break;
    case WarmNode::Source::kNoneSettled:
      absl::StrAppend(&text, ", and hardly a node of the pool was there");
      break;
  }
  if (warm.node && IsAmong(nodes, *warm.node)) absl::StrAppend(&text, ", which the answer has");
  return text;
}

}  // namespace ringshift
