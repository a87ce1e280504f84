// Reads the plan of a rollout from YAML, strictly, as it is written: which data centers a step
// means is not known yet.
//
//   name: spring
//   guards:                            # of every step that has none of its own
//     - name: errors
//       query: sum(rate(errors_total[1m]))
//       good_if: "< 0.01"              # or <=, >, >=
//       on_bad: abort                  # or pause
//   limits: {max_churn_percent: 5, max_extra_misses_per_second: 200}
//   steps:
//     - {tier: canary, percent: 10, bake: 30m}
//     - {data_centers: [ams, sin], percent: 50, bake: 2h, guards: []}
//     - {all: true, percent: 100, bake: 1d}
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_ROUTING_ROLLOUT_PLAN_LOADER_H_
#define RINGSHIFT_ROUTING_ROLLOUT_PLAN_LOADER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/rollout.h"
#include "migration/share.h"

namespace ringshift {

// A longer text is refused before it is parsed.
inline constexpr std::size_t kMaxRolloutPlanBytes = std::size_t{1} << 20;

// The data centers of a step: these, or those of a tier, or all. One of the three.
struct RolloutSelector {
  std::vector<std::string> data_centers;  // as written, no two alike
  std::string tier;
  bool all = false;

  friend bool operator==(const RolloutSelector&, const RolloutSelector&) = default;
};

struct WrittenRolloutStep {
  RolloutSelector selector;
  Share share;
  std::chrono::milliseconds bake{0};
  std::vector<Guard> guards;  // its own, or else those of the plan; likewise:
  RolloutLimits limits;

  friend bool operator==(const WrittenRolloutStep&, const WrittenRolloutStep&) = default;
};

struct WrittenRolloutPlan {
  std::string name;
  std::vector<WrittenRolloutStep> steps;

  friend bool operator==(const WrittenRolloutPlan&, const WrittenRolloutPlan&) = default;
};

// INVALID_ARGUMENT for anything that is not a plan: unknown, missing and repeated keys, wrong
// types, values out of the range that migration/rollout.h has. The message is "FILE:LINE:COLUMN: "
// (1-based), what was found, and what was expected. `file` is the name that messages use.
absl::StatusOr<WrittenRolloutPlan> ParseRolloutPlan(std::string_view yaml, std::string_view file);

// The plan with the data centers that `resolve` has for each selector, in any order. Errors: its
// own, with the step, and those of CheckPlan.
using ResolveSelector =
    std::function<absl::StatusOr<std::vector<std::string>>(const RolloutSelector& selector)>;
absl::StatusOr<RolloutPlan> ResolvePlan(const WrittenRolloutPlan& plan,
                                        const ResolveSelector& resolve);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROLLOUT_PLAN_LOADER_H_
