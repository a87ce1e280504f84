// Plans and rollouts for tests.
#ifndef RINGSHIFT_TESTS_UNIT_MIGRATION_ROLLOUT_TESTING_H_
#define RINGSHIFT_TESTS_UNIT_MIGRATION_ROLLOUT_TESTING_H_

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migration/rollout.h"
#include "migration/share.h"

namespace ringshift::testing {

inline Share PercentOf(std::string_view text) { return Share::ParsePercent(text).value(); }

inline Guard ErrorGuard(OnBad on_bad) {
  return {"errors", "sum(rate(errors[1m]))", Comparison::kBelow, 0.01, on_bad};
}

inline RolloutStep StepOf(std::vector<std::string> data_centers, std::string_view percent,
                          std::chrono::milliseconds bake, std::vector<Guard> guards = {}) {
  RolloutStep step;
  step.data_centers = std::move(data_centers);
  step.share = PercentOf(percent);
  step.bake = bake;
  step.guards = std::move(guards);
  return step;
}

// Two steps: `ams` to 10 %, then `ams` and `sin` to 50 %, each baked for a minute under a guard.
inline RolloutPlan TwoStepPlan(OnBad on_bad = OnBad::kPause) {
  using std::chrono::minutes;
  return {"spring",
          {StepOf({"ams"}, "10", minutes(1), {ErrorGuard(on_bad)}),
           StepOf({"ams", "sin"}, "50", minutes(1), {ErrorGuard(on_bad)})}};
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_MIGRATION_ROLLOUT_TESTING_H_
