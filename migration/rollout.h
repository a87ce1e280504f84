// A rollout: an ordered plan of steps, each of which raises the shares of some data centers and
// then watches them for a while, and how far it has come.
//
//   pending -> running <-> holding      a guard is unknown, or a limit lets no share rise
//                 |  ^________|
//                 v  |
//               paused                  by a person, by a bad guard, or by a rollback
//                 |
//   unfinished -> aborting -> aborted   for good: nothing leaves it
//   running    -> done
//
// A data center is in at most one unfinished rollout, and refuses other changes meanwhile, except
// a rollback: that pauses the rollout and takes the data center out of it.
//
// Thread safety: plain values, pure functions.
#ifndef RINGSHIFT_MIGRATION_ROLLOUT_H_
#define RINGSHIFT_MIGRATION_ROLLOUT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "migration/share.h"
#include "migration/wall_time.h"

namespace ringshift {

// How a guard's value is compared with its threshold: the guard is good where this holds. The
// numbers are stored, as are those of the enumerations below; never renumber or reuse them.
enum class Comparison : std::uint8_t { kBelow = 1, kAtMost = 2, kAbove = 3, kAtLeast = 4 };

// What a rollout does where a guard is bad.
enum class OnBad : std::uint8_t { kPause = 1, kAbort = 2 };

// What must hold before a step raises shares and while it bakes.
struct Guard {
  std::string name;   // for people
  std::string query;  // PromQL; its value is one number
  Comparison comparison = Comparison::kBelow;
  double threshold = 0;  // finite
  OnBad on_bad = OnBad::kPause;

  friend bool operator==(const Guard&, const Guard&) = default;
};

// What one change of a share may do to its data center. A step that must keep to a limit raises the
// share in several changes, each as large as the limits allow, and each baked.
struct RolloutLimits {
  std::optional<std::int32_t> max_churn_ppm;                // of the key space; 1 to 1,000,000
  std::optional<std::int64_t> max_extra_misses_per_second;  // at the origin; at least 1

  bool empty() const { return !max_churn_ppm && !max_extra_misses_per_second; }
  friend bool operator==(const RolloutLimits&, const RolloutLimits&) = default;
};

struct RolloutStep {
  std::vector<std::string> data_centers;  // sorted, at least one, no two alike
  Share share;                            // that they shall have; above 0
  // How long it is watched before the next change: time in which it was seen that every guard was
  // good. 0 to kMaxBake.
  std::chrono::milliseconds bake{0};
  std::vector<Guard> guards;
  RolloutLimits limits;

  friend bool operator==(const RolloutStep&, const RolloutStep&) = default;
};

inline constexpr std::size_t kMaxRolloutSteps = 1000;
inline constexpr std::size_t kMaxGuards = 32;  // of a step
inline constexpr std::size_t kMaxQueryBytes = 4096;
inline constexpr std::chrono::milliseconds kMaxBake = std::chrono::hours(24 * 30);

struct RolloutPlan {
  std::string name;  // 1 to 63 of a-z, 0-9 and -
  std::vector<RolloutStep> steps;

  friend bool operator==(const RolloutPlan&, const RolloutPlan&) = default;
};

// INVALID_ARGUMENT if it is not as said above, or a step has a lower share for a data center than
// one before it. The message has the step, counted from 1.
absl::Status CheckPlan(const RolloutPlan& plan);

enum class RolloutPhase : std::uint8_t {
  kPending = 1,   // no executor has taken it up yet
  kRunning = 2,   // it raises shares, or bakes
  kHolding = 3,   // it goes on by itself once `reason` is no more
  kPaused = 4,    // until somebody resumes or aborts it
  kAborting = 5,  // what it raised is about to be rolled back
  kAborted = 6,   // what it raised is rolled back
  kDone = 7,
};

// "pending", "running", ...
std::string_view RolloutPhaseName(RolloutPhase phase);
// "<", "<=", ">", ">=".
std::string_view ComparisonName(Comparison comparison);

struct Rollout {
  RolloutPlan plan;  // never changes
  RolloutPhase phase = RolloutPhase::kPending;
  std::size_t step = 0;                // the present one; of one that is done the number of steps
  std::int64_t changes = 0;            // of shares, that the present step has made
  bool is_baking = false;              // the present step has made a change, which is being watched
  std::chrono::milliseconds baked{0};  // since that change
  std::vector<std::string> raised;     // data centers whose share it has raised; sorted
  std::vector<std::string> taken_out;  // data centers that were rolled back by others; sorted
  std::string actor;                   // who brought it into its phase
  std::string reason;                  // why it is in it
  WallTime create_time;
  WallTime update_time;            // of its last change
  std::int64_t executor_term = 0;  // of the executor that changed it last; 0: none has
  std::int64_t revision = 0;       // of its last change; at least 1

  bool is_finished() const {
    return phase == RolloutPhase::kAborted || phase == RolloutPhase::kDone;
  }
  // One of its steps has the data center, which is not taken out.
  bool Has(std::string_view data_center) const;
  // `"NAME" (running, step 2 of 5)`.
  std::string Describe() const;

  friend bool operator==(const Rollout&, const Rollout&) = default;
};

// INVALID_ARGUMENT if the plan is none (CheckPlan), or the state is none of that plan: a phase or a
// step that there is not, a bake out of range, names that are not in order or of no step. Revision,
// term and times are not looked at.
absl::Status CheckRollout(const Rollout& rollout);

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ROLLOUT_H_
