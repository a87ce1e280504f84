// What every store holds a rollout to, whichever it is: pure functions of what the store has, to be
// called inside the transaction that writes.
//
// Thread safety: pure functions. Cost: linear in the rollouts and their steps.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_ROLLOUT_RULES_H_
#define RINGSHIFT_MIGRATION_INTERNAL_ROLLOUT_RULES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/rollout.h"
#include "migration/store.h"

namespace ringshift::internal {

// What the store has: the rollout of the update's name, or null; every unfinished rollout; every
// migration; the last term that an executor was given.
struct RolloutContext {
  const Rollout* present = nullptr;
  std::span<const Rollout> unfinished;
  std::span<const Migration> migrations;
  std::int64_t last_term = 0;
};

// The rollout to write, without its revision. Errors: those of MigrationStore::SaveRollout.
absl::StatusOr<Rollout> NextRollout(const RolloutUpdate& update, const RolloutContext& context,
                                    WallTime now);

// FAILED_PRECONDITION if an unfinished rollout has the data center.
absl::Status CheckNotInRollout(std::string_view data_center, std::span<const Rollout> unfinished);

// The unfinished rollouts that the update changes beside its own, to be written with it, without
// their revisions: those that lose a data center by a rollback. Errors: those of
// MigrationStore::Update that are about rollouts.
absl::StatusOr<std::vector<Rollout>> OtherRollouts(const MigrationUpdate& update,
                                                   std::span<const Rollout> unfinished,
                                                   WallTime now);

// INVALID_ARGUMENT if the rollouts of a store's contents make no sense together: names that are not
// in order, a plan or a state that is none, two unfinished ones with one data center, a revision
// above the last, a term above the last.
absl::Status CheckRollouts(std::span<const Rollout> rollouts, std::int64_t last_revision,
                           std::int64_t last_term);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_ROLLOUT_RULES_H_
