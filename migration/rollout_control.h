// What people do with rollouts. An abort rolls back at once and needs no executor.
//
// `actor` and `reason` say who and why. Every change is made on what the store has; where that
// changed meanwhile it is decided again, a few times, before ABORTED is returned.
//
// Thread safety: thread-safe. Cost: that of the store; not for a thread that may not wait.
#ifndef RINGSHIFT_MIGRATION_ROLLOUT_CONTROL_H_
#define RINGSHIFT_MIGRATION_ROLLOUT_CONTROL_H_

#include <functional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "migration/rollout.h"
#include "migration/rollout_writer.h"
#include "migration/store.h"

namespace ringshift {

class RolloutControl {
 public:
  // `store` outlives this object.
  RolloutControl(MigrationStore& store, RolloutWriter::Options options)
      : store_(store), writer_(store, std::move(options)) {}

  // Errors: those of MigrationStore::SaveRollout.
  absl::StatusOr<Rollout> Create(const RolloutPlan& plan, std::string_view actor,
                                 std::string_view reason);

  // NOT_FOUND: there is none of that name.
  absl::StatusOr<Rollout> Find(std::string_view name);

  // NOT_FOUND as of Find; otherwise as Pause, Resume and Abort of rollout_machine.h.
  absl::StatusOr<Rollout> Pause(std::string_view name, std::string_view actor,
                                std::string_view reason);
  absl::StatusOr<Rollout> Resume(std::string_view name, std::string_view actor,
                                 std::string_view reason);
  // The rollout is aborted then; or aborting, where it is sure to be aborted but the store has not
  // taken the rollback yet: that is up to the executor.
  absl::StatusOr<Rollout> Abort(std::string_view name, std::string_view actor,
                                std::string_view reason);

 private:
  using Verb = std::function<absl::StatusOr<Rollout>(const Rollout&)>;
  absl::StatusOr<Rollout> Change(std::string_view name, const Verb& verb);

  MigrationStore& store_;
  const RolloutWriter writer_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ROLLOUT_CONTROL_H_
