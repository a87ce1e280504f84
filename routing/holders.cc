#include "routing/holders.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "routing/internal/warm_rings.h"
#include "routing/route.h"

namespace ringshift {
namespace {

// The nodes of the pool in the order of a walk: the owner, `next_nodes` behind it, and further up
// to the first one that has been as it is all through the warm window.
std::vector<NodeIndex> Walk(const Ring& ring, std::uint32_t position, const NodeMask& pool,
                            const NodeMask& lasting, std::size_t next_nodes) {
  std::vector<NodeIndex> nodes(1 + next_nodes);
  while (true) {
    nodes.resize(ring.FindNodes(position, pool, nodes));
    const auto first = std::find_if(nodes.begin(), nodes.end(),
                                    [&](NodeIndex node) { return lasting.Contains(node); });
    if (first != nodes.end()) {
      const auto wanted = std::max(static_cast<std::size_t>(first - nodes.begin()), next_nodes) + 1;
      nodes.resize(std::min(nodes.size(), wanted));
      return nodes;
    }
    if (nodes.size() == pool.count()) return nodes;
    nodes.resize(2 * nodes.size());
  }
}

// The nodes of the pool that have been as they are all through the warm window.
NodeMask LastingNodes(const RoutingTable& table, std::size_t pool) {
  NodeMask lasting = table.data_center().pools()[pool].nodes;
  if (table.state().settled != nullptr) lasting = lasting & *table.state().settled;
  if (table.state().past_nodes != nullptr) lasting.Erase(table.state().past_nodes->changed(pool));
  return lasting;
}

// Appends the nodes that lost the points that they had in the pool up to the first one of a node
// that lasts.
void AppendNodesOfLostPoints(const RoutingTable& table, const Ring& ring, std::size_t pool,
                             std::uint32_t position, const NodeMask& lasting,
                             std::vector<NodeIndex>& nodes) {
  const PastNodes* const past = table.state().past_nodes.get();
  if (past == nullptr) return;
  // Without one, all the way round.
  const std::uint32_t end =
      lasting.count() > 0 ? FirstPoint(ring, position, lasting).hash : position - 1;
  past->AppendOwnersByLostPoints(ring.parameters().version, pool, position, end, nodes);
}

}  // namespace

absl::StatusOr<std::vector<Holder>> FindHolders(const RoutingTable& table,
                                                const HoldersRequest& request) {
  const absl::StatusOr<RouteAnswer> answer =
      Route(table, {.key = request.key, .pool = request.pool});
  if (!answer.ok()) return answer.status();
  if (request.next_nodes < 0 || request.next_nodes > kMaxNextNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("next_nodes is ", request.next_nodes, "; it must be 0 to ", kMaxNextNodes));
  }
  const auto next_nodes =
      static_cast<std::size_t>(request.next_nodes == 0 ? kDefaultNextNodes : request.next_nodes);
  const DataCenter& data_center = table.data_center();
  const NodeMask& pool = data_center.pools()[answer->pool].nodes;

  std::vector<Holder> holders;
  NodeMask held(pool.size());
  const auto add = [&](NodeIndex node, HolderReason reason) {
    if (held.Contains(node)) return;
    held.Insert(node);
    holders.push_back({node, reason});
  };
  add(answer->nodes().front(), HolderReason::kOwner);
  if (answer->previous_owner) add(*answer->previous_owner, HolderReason::kPreviousOwner);
  const NodeMask lasting = LastingNodes(table, answer->pool);
  std::vector<NodeIndex> next;
  for (const RingVersion version :
       {answer->ring_version, internal::OtherRing(answer->ring_version)}) {
    if (data_center.ring(version) == nullptr) continue;
    const Ring& ring = data_center.ring(version)->RingOf(answer->pool);
    const std::vector<NodeIndex> walk = Walk(ring, answer->position, pool, lasting, next_nodes);
    add(walk.front(), HolderReason::kOtherRing);
    next.insert(next.end(), walk.begin() + 1, walk.end());
    AppendNodesOfLostPoints(table, ring, answer->pool, answer->position, lasting, next);
  }
  for (const NodeIndex node : next) add(node, HolderReason::kNextNode);
  return holders;
}

}  // namespace ringshift
