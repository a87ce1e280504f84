// What becomes of a rollout: pure functions of how far it has come and what is seen now.
//
// Nothing here has a clock. Time that counts is what the caller has measured with a monotonic
// clock, so neither a restart nor a wall clock that jumps shortens a bake.
//
// Thread safety: pure functions. Cost: linear in the data centers of the step.
#ifndef RINGSHIFT_MIGRATION_ROLLOUT_MACHINE_H_
#define RINGSHIFT_MIGRATION_ROLLOUT_MACHINE_H_

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/rollout.h"
#include "migration/share.h"
#include "migration/store.h"

namespace ringshift {

// What a query was answered with.
struct Measurement {
  std::optional<double> value;
  // Why there is none. It stays the same while the cause does, so that a hold is written once.
  std::string missing;
};

struct GuardVerdict {
  enum class Kind { kGood, kBad, kUnknown };
  Kind kind = Kind::kUnknown;
  std::string detail;  // of one that is bad or unknown: the guard and why
};

// Unknown where there is no value, or it is not finite.
GuardVerdict Judge(const Guard& guard, const Measurement& measurement);

struct RolloutObservation {
  // Since the same executor observed the rollout before; 0 at the first time.
  std::chrono::milliseconds elapsed{0};
  // By guard of the present step; those that are missing are unknown.
  std::vector<GuardVerdict> guards;
  // By data center, as the store has them; one that is missing has no migration.
  std::map<std::string, Share, std::less<>> shares;
  // How far the limits of the step let a share rise in one change, or why that is not known. A data
  // center that is missing has no limit.
  std::map<std::string, absl::StatusOr<Share>, std::less<>> reachable;
};

// Of the time between two observations no more than this counts: what was not seen is not baked.
inline constexpr std::chrono::milliseconds kMaxObservedGap = std::chrono::seconds(10);

struct RolloutDecision {
  Rollout next;
  // Shares that shall change together with that, sorted by data center; of this kind, kShare or
  // kRolledBack.
  ChangeKind kind = ChangeKind::kShare;
  std::vector<std::pair<std::string, Share>> shares;
};

// One step on. Guards come first: a bad one pauses or aborts (abort where both are wanted), else an
// unknown one holds; only then are shares raised or is time baked. A pause by a guard begins the
// bake anew. Where nothing changes, `next` is `rollout`.
RolloutDecision Advance(const Rollout& rollout, const RolloutObservation& observation);

// What people do. Where it is so already the rollout is returned as it is.
// FAILED_PRECONDITION: it is finished, or aborting; the message says what to do.
absl::StatusOr<Rollout> Pause(const Rollout& rollout, std::string_view actor,
                              std::string_view reason);
absl::StatusOr<Rollout> Resume(const Rollout& rollout, std::string_view actor,
                               std::string_view reason);
// FAILED_PRECONDITION: it is done.
absl::StatusOr<Rollout> Abort(const Rollout& rollout, std::string_view actor,
                              std::string_view reason);

// Somebody has rolled back a data center of it, which leaves it. The rollout is paused by that; if
// no data center is left, it is aborted. REQUIRES: it is not finished, and Has(data_center)
Rollout TakeOut(const Rollout& rollout, const std::string& data_center, std::string_view actor,
                std::string_view reason);

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ROLLOUT_MACHINE_H_
