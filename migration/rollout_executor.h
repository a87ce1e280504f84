// Runs the unfinished rollouts of a store, a little at each tick.
//
//   RolloutExecutor executor(store, guards, limits, {});
//   for (;;) { executor.Tick(); wait a second; }
//
// The store is the truth: it is read at each tick, and everything that an executor knows beside it
// is how long it has been baking since it last wrote, and that only until a write fails. So another
// executor, here or elsewhere, goes on where this one was, and bakes again at most `checkpoint` of
// what was baked already. An executor has one term for its life: once a later one has begun, the
// store refuses every change of this one.
//
// Thread safety: thread-compatible. Cost of a tick: reading the migrations and unfinished rollouts,
// and the guards of each of them one after the other; a write where something changes and each
// `checkpoint` of baking.
#ifndef RINGSHIFT_MIGRATION_ROLLOUT_EXECUTOR_H_
#define RINGSHIFT_MIGRATION_ROLLOUT_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/rollout.h"
#include "migration/rollout_machine.h"
#include "migration/rollout_writer.h"
#include "migration/store.h"

namespace ringshift {

// Where the values of guards come from. It answers within a bounded time.
class GuardSource {
 public:
  virtual ~GuardSource() = default;
  virtual Measurement Measure(const std::string& query) = 0;
};

// What a share does to a data center.
class ShareLimiter {
 public:
  virtual ~ShareLimiter() = default;
  // The largest share, `from` to `to`, to which the share may rise in one change from `from` within
  // `limits`. An error where that cannot be told now: the rollout is held. Its message stays the
  // same while the cause does, so that a hold is written once.
  virtual absl::StatusOr<Share> Farthest(const std::string& data_center, Share from, Share to,
                                         const RolloutLimits& limits) = 0;
};

class RolloutExecutor {
 public:
  struct Options {
    RolloutWriter::Options writer;
    // Never goes back.
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
    std::chrono::milliseconds checkpoint = std::chrono::seconds(10);  // of baking
  };

  // All three outlive this object.
  RolloutExecutor(MigrationStore& store, GuardSource& guards, ShareLimiter& limiter,
                  Options options);

  // Takes every unfinished rollout one step on, those that are to be aborted first. One that
  // somebody else changed meanwhile is left for the next tick.
  //
  // FAILED_PRECONDITION: another executor has taken over. Otherwise the first error of the store;
  // the other rollouts went on.
  absl::Status Tick();

 private:
  // How far a rollout has baked since it was written, at that revision.
  struct Progress {
    std::int64_t revision = 0;
    std::chrono::milliseconds baked{0};
    std::chrono::steady_clock::time_point time;
  };

  absl::Status Step(const Rollout& stored, std::span<const Migration> migrations);
  RolloutObservation Observe(const Rollout& rollout, std::span<const Migration> migrations);
  bool IsWorthWriting(const Rollout& stored, const Rollout& next) const;

  MigrationStore& store_;
  GuardSource& guards_;
  ShareLimiter& limiter_;
  const Options options_;
  const RolloutWriter writer_;
  std::int64_t term_ = 0;  // 0: there was nothing to do yet
  std::map<std::string, Progress> progress_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ROLLOUT_EXECUTOR_H_
