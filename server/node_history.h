// How the nodes of a data center were within the warm window: since when each is what it is, and
// what it was before. A node that came may not yet hold what it owns, and one that left or lost
// weight had keys that others own now.
//
// Thread safety: thread-compatible; a value.
#ifndef RINGSHIFT_SERVER_NODE_HISTORY_H_
#define RINGSHIFT_SERVER_NODE_HISTORY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/store.h"
#include "ring/node_mask.h"
#include "ring/ring_identity.h"
#include "routing/data_center.h"
#include "routing/past_nodes.h"
#include "routing/topology.h"

namespace ringshift {

class NodeHistory {
 public:
  // Of nodes and pools. With more, or with more points of nodes that changed than
  // PastNodes::MaxPoints, nothing is known of what was before.
  static constexpr std::size_t kMaxChanges = 10'000;

  // What ToStored gave. DATA_LOSS quotes what makes no sense.
  static absl::StatusOr<NodeHistory> Parse(const std::vector<NodeChange>& stored);
  std::vector<NodeChange> ToStored() const;

  // `before` became `after` at `now`; what ended at `oldest` or before is dropped. A node is the
  // same while its ring identity and its address are, whatever it is called. Where rings have other
  // parameters, nothing is known of what was before. A time before that of the last change is taken
  // as just after that one. Cost: that of sorting the nodes, and linear in those that changed.
  void Change(const DataCenter& before, const DataCenter& after, WallTime now, WallTime oldest);

  // Forgets all that was before `now` if it is too much, as above, for a window from `oldest` on.
  void Bound(const DataCenter& data_center, WallTime now, WallTime oldest);

  // `begin`, or the later time since when it is known how the nodes were: to be taken as the
  // beginning of the window in all that depends on it.
  WallTime KnownSince(WallTime begin) const;

  // For RouterState.
  struct Nodes {
    std::shared_ptr<const NodeMask> settled;
    std::shared_ptr<const PastNodes> past;
  };
  // Of the window from `begin` on, which is KnownSince(begin), with the nodes that there are now.
  // Cost: that of PastNodes::Create.
  Nodes At(const DataCenter& now, WallTime begin) const;

  // When something first changed behind `begin`: then At, with `begin` moving on, next gives
  // something else. WallTime::max(): nothing did.
  WallTime FirstChange(WallTime begin) const;
  // When something last did; `begin` if nothing did.
  WallTime LastChange(WallTime begin) const;

  friend bool operator==(const NodeHistory&, const NodeHistory&) = default;

 private:
  struct Node {
    NodeSpec spec;
    IdentityStyle identity_style;
    RingIdentity identity;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct PastState {
    WallTime until;
    std::optional<Node> node;  // none: it was not there
    friend bool operator==(const PastState&, const PastState&) = default;
  };
  struct PastPools {
    WallTime until;
    std::vector<PoolSpec> pools;
    friend bool operator==(const PastPools&, const PastPools&) = default;
  };

  void Forget(WallTime now);
  // Of all nodes that were not all the while what they are now.
  std::vector<PastNode> PastNodesAt(const DataCenter& now, WallTime begin) const;

  std::map<std::string, std::vector<PastState>> states_;  // by NodeKey, those of one by time
  std::vector<PastPools> pools_;                          // by time
  WallTime known_since_ = WallTime::min();
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_NODE_HISTORY_H_
