// The nodes that may hold the object of a key, on whatever way it came there: to purge it.
//
// They are all nodes that have answered for it within the warm window and are there still, unless
// the ring that they answered for is not there any more, their pool or weight was another one, or
// more than next_nodes nodes before them were down.
//
// Thread safety: pure. Cost: a walk of each ring; allocates.
#ifndef RINGSHIFT_ROUTING_HOLDERS_H_
#define RINGSHIFT_ROUTING_HOLDERS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/node_set.h"
#include "routing/routing_table.h"

namespace ringshift {

enum class HolderReason { kOwner, kPreviousOwner, kOtherRing, kNextNode };

struct Holder {
  NodeIndex node = 0;
  HolderReason reason = HolderReason::kOwner;  // the first that applies
};

inline constexpr int kDefaultNextNodes = 2;
inline constexpr int kMaxNextNodes = 16;

struct HoldersRequest {
  std::string_view key;
  std::string_view pool;  // "" means `default`
  int next_nodes = 0;     // of each ring behind its owner; 0 means kDefaultNextNodes
};

// Of either ring that is there: the owner, the next nodes, and where all of these are young, those
// behind them up to one that is not. Each node once, the owner of the key first, then by reason.
//
// Errors: those of Route, and INVALID_ARGUMENT for next_nodes outside 0 to kMaxNextNodes.
absl::StatusOr<std::vector<Holder>> FindHolders(const RoutingTable& table,
                                                const HoldersRequest& request);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_HOLDERS_H_
