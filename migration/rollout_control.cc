#include "migration/rollout_control.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/rollout_machine.h"

namespace ringshift {
namespace {

constexpr int kAttempts = 5;

}  // namespace

absl::StatusOr<Rollout> RolloutControl::Create(const RolloutPlan& plan, std::string_view actor,
                                               std::string_view reason) {
  RolloutUpdate update;
  update.rollout.plan = plan;
  update.rollout.actor = actor;
  update.rollout.reason = reason;
  return store_.SaveRollout(update);
}

absl::StatusOr<Rollout> RolloutControl::Find(std::string_view name) {
  absl::StatusOr<std::vector<Rollout>> rollouts = store_.LoadRollouts(WhichRollouts::kAll);
  if (!rollouts.ok()) return rollouts.status();
  for (Rollout& rollout : *rollouts) {
    if (rollout.plan.name == name) return std::move(rollout);
  }
  return absl::NotFoundError(absl::StrCat("there is no rollout ", internal::Quote(name)));
}

absl::StatusOr<Rollout> RolloutControl::Pause(std::string_view name, std::string_view actor,
                                              std::string_view reason) {
  return Change(name,
                [&](const Rollout& rollout) { return ringshift::Pause(rollout, actor, reason); });
}

absl::StatusOr<Rollout> RolloutControl::Resume(std::string_view name, std::string_view actor,
                                               std::string_view reason) {
  return Change(name,
                [&](const Rollout& rollout) { return ringshift::Resume(rollout, actor, reason); });
}

absl::StatusOr<Rollout> RolloutControl::Abort(std::string_view name, std::string_view actor,
                                              std::string_view reason) {
  // That it is to be aborted comes first: it depends on no migration.
  absl::StatusOr<Rollout> rollout = Change(
      name, [&](const Rollout& present) { return ringshift::Abort(present, actor, reason); });
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!rollout.ok() || rollout->phase != RolloutPhase::kAborting) return rollout;
    const absl::StatusOr<std::vector<Migration>> migrations = store_.Load();
    if (!migrations.ok()) return rollout;
    RolloutObservation observation;
    observation.shares = SharesOf(*migrations);
    absl::StatusOr<Rollout> aborted =
        writer_.Write(Advance(*rollout, observation), *migrations, std::nullopt);
    if (aborted.ok()) return aborted;
    if (!absl::IsAborted(aborted.status())) return rollout;
    // A rollback of one of them, or the executor, was first.
    absl::StatusOr<Rollout> present = Find(name);
    if (!present.ok()) return rollout;
    rollout = std::move(present);
  }
  return rollout;
}

absl::StatusOr<Rollout> RolloutControl::Change(std::string_view name, const Verb& verb) {
  absl::StatusOr<Rollout> saved;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<Rollout> present = Find(name);
    if (!present.ok()) return present;
    const absl::StatusOr<Rollout> next = verb(*present);
    if (!next.ok() || *next == *present) return next;
    saved = store_.SaveRollout({*next, std::nullopt});
    if (!absl::IsAborted(saved.status())) break;
  }
  return saved;
}

}  // namespace ringshift
