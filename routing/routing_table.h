// All that answers the requests of one data center, at one moment: its rings and its migration
// state. A request takes one table and decides everything from it.
//
// Thread safety: immutable. Cost of Create: no ring is touched; for a share change it is
// microseconds.
#ifndef RINGSHIFT_ROUTING_ROUTING_TABLE_H_
#define RINGSHIFT_ROUTING_ROUTING_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/answer_history.h"
#include "migration/decision.h"
#include "migration/store.h"
#include "ring/node_mask.h"
#include "routing/data_center.h"
#include "routing/past_nodes.h"

namespace ringshift {

// A share that this router answers with, whatever the store has.
struct ShareOverride {
  Share share;
  std::string reason;
  std::string actor;
  WallTime time;
};

// What this router, and no other, adds to the migration of a data center.
struct RouterState {
  std::optional<ShareOverride> share_override;
  bool is_durable = true;  // the store has the migration
  // What answered within the warm window, and since nodes last changed within it; the same where
  // none did. `warmth.first_share` is the share that was in force before nodes first changed.
  Warmth warmth;
  Warmth warmth_since_nodes;
  // The nodes that were there all through the window. Null: all.
  std::shared_ptr<const NodeMask> settled;
  // The nodes that left or were changed within it. Null: none; of those that only came, `settled`
  // says all.
  std::shared_ptr<const PastNodes> past_nodes;
  std::string restore_error;  // why a ring that the share needs is not being built; "" if it is
};

class RoutingTable {
 public:
  // FAILED_PRECONDITION if the migration's decision algorithm is not one that this program knows:
  // it would not agree with the routers that wrote it. INVALID_ARGUMENT if the names differ, or the
  // settled or the past nodes are of another data center.
  static absl::StatusOr<std::shared_ptr<const RoutingTable>> Create(
      std::shared_ptr<const DataCenter> data_center, Migration migration, RouterState state = {});

  // The share() of a table of these, without making one.
  static Share EffectiveShare(const DataCenter& data_center, const Migration& migration,
                              const RouterState& state);

  const DataCenter& data_center() const { return *data_center_; }
  const std::shared_ptr<const DataCenter>& shared_data_center() const { return data_center_; }
  const Migration& migration() const { return migration_; }
  const RouterState& state() const { return state_; }
  const Decision& decision() const { return decision_; }

  // The share that this table answers with, the effective one: the override's, else the
  // migration's, the requested one; but all where there is no v1, and none where there is no v2.
  // Where it is none or all, one ring may be absent.
  Share share() const { return share_; }
  // What a change of the migration's share changes from: where an override hides it that share,
  // else share().
  Share share_to_change() const { return state_.share_override ? migration_.share : share_; }
  // Why it is another one than the migration's, for people; "" where it is not.
  const std::string& share_reason() const { return share_reason_; }

  // False if no key has a previous owner: no ring but the one that answers it has answered a bucket
  // within the warm window, no node is young, and none has another weight than before.
  bool has_previous_owners() const { return has_previous_owners_; }

  // The nodes of DataCenter::pools()[pool] that are not young. Where these are so few that a walk
  // to one is long (kLongMeanWalk of ring/pool_rings.h), it is none.
  const NodeMask& settled(std::size_t pool) const {
    return settled_.empty() ? data_center_->pools()[pool].nodes : settled_[pool];
  }

  // Over the rings that are there and that the migration does not call retired, whether that one
  // was dropped yet or not, the nodes, the pools, the salt and the decision algorithm. With it, the
  // key, the pool and the migration's revision, an answer can be reproduced.
  std::uint64_t checksum() const { return checksum_; }

 private:
  RoutingTable(std::shared_ptr<const DataCenter> data_center, Migration migration,
               RouterState state);

  const std::shared_ptr<const DataCenter> data_center_;
  const Migration migration_;
  const Decision decision_;
  const RouterState state_;
  const Share share_;
  const std::string share_reason_;
  const std::vector<NodeMask> settled_;  // by pool; empty where no node is young
  const bool has_previous_owners_;
  const std::uint64_t checksum_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROUTING_TABLE_H_
