#include "migration/rollout_executor.h"

#include <algorithm>
#include <utility>

namespace ringshift {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

}  // namespace

RolloutExecutor::RolloutExecutor(MigrationStore& store, GuardSource& guards, ShareLimiter& limiter,
                                 Options options)
    : store_(store),
      guards_(guards),
      limiter_(limiter),
      options_(std::move(options)),
      writer_(store, options_.writer) {}

absl::Status RolloutExecutor::Tick() {
  absl::StatusOr<std::vector<Rollout>> rollouts = store_.LoadRollouts(WhichRollouts::kUnfinished);
  if (!rollouts.ok()) return rollouts.status();
  std::erase_if(progress_, [&](const auto& entry) {
    return std::none_of(rollouts->begin(), rollouts->end(),
                        [&](const Rollout& r) { return r.plan.name == entry.first; });
  });
  if (rollouts->empty()) return absl::OkStatus();
  if (term_ == 0) {
    const absl::StatusOr<std::int64_t> term = store_.NextRolloutTerm();
    if (!term.ok()) return term.status();
    term_ = *term;
  }
  const absl::StatusOr<std::vector<Migration>> migrations = store_.Load();
  if (!migrations.ok()) return migrations.status();

  // An abort does not wait for the guards of others.
  std::stable_partition(rollouts->begin(), rollouts->end(), [](const Rollout& rollout) {
    return rollout.phase == RolloutPhase::kAborting;
  });
  absl::Status first_error;
  for (const Rollout& rollout : *rollouts) {
    const absl::Status status = Step(rollout, *migrations);
    if (!status.ok() && !absl::IsAborted(status)) first_error.Update(status);
  }
  return first_error;
}

absl::Status RolloutExecutor::Step(const Rollout& stored, std::span<const Migration> migrations) {
  Progress& progress = progress_[stored.plan.name];
  RolloutObservation observation = Observe(stored, migrations);
  const auto now = options_.now();
  Rollout rollout = stored;
  // Whoever has changed it meanwhile begins anew: what was not written is not baked.
  if (progress.revision == stored.revision) {
    rollout.baked = progress.baked;
    observation.elapsed = duration_cast<milliseconds>(now - progress.time);
  }
  const RolloutDecision decision = Advance(rollout, observation);
  if (decision.shares.empty() && !IsWorthWriting(stored, decision.next)) {
    progress = {stored.revision, decision.next.baked, now};
    return absl::OkStatus();
  }
  const absl::StatusOr<Rollout> written = writer_.Write(decision, migrations, term_);
  if (!written.ok()) {
    // Nobody knows of what was seen, which may have been a guard that is not good.
    progress = {};
    return written.status();
  }
  progress = {written->revision, written->baked, now};
  // What a guard has aborted is rolled back at once.
  const bool is_to_abort = written->phase == RolloutPhase::kAborting;
  return is_to_abort ? Step(*written, migrations) : absl::OkStatus();
}

RolloutObservation RolloutExecutor::Observe(const Rollout& rollout,
                                            std::span<const Migration> migrations) {
  RolloutObservation observation;
  observation.shares = SharesOf(migrations);
  if (rollout.phase == RolloutPhase::kPaused || rollout.phase == RolloutPhase::kAborting) {
    return observation;
  }
  const RolloutStep& step = rollout.plan.steps[rollout.step];
  for (const Guard& guard : step.guards) {
    observation.guards.push_back(Judge(guard, guards_.Measure(guard.query)));
  }
  if (rollout.is_baking || step.limits.empty()) return observation;
  for (const std::string& name : step.data_centers) {
    const auto share = observation.shares.find(name);
    if (share == observation.shares.end() || share->second >= step.share) continue;
    observation.reachable.emplace(name,
                                  limiter_.Farthest(name, share->second, step.share, step.limits));
  }
  return observation;
}

bool RolloutExecutor::IsWorthWriting(const Rollout& stored, const Rollout& next) const {
  Rollout unbaked = next;
  unbaked.baked = stored.baked;
  return unbaked != stored || next.baked - stored.baked >= options_.checkpoint;
}

}  // namespace ringshift
