#include "migration/rollout.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

using internal::Quote;

constexpr std::size_t kMaxNameBytes = 63;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

std::string CheckGuard(const Guard& guard) {
  if (guard.name.empty()) return "a guard has no name";
  const std::string what = absl::StrCat("guard ", Quote(guard.name));
  if (guard.query.empty() || guard.query.size() > kMaxQueryBytes) {
    return absl::StrCat(what, " has a query of ", guard.query.size(), " bytes, not 1 to ",
                        kMaxQueryBytes);
  }
  if (!std::isfinite(guard.threshold)) return absl::StrCat(what, " has no finite threshold");
  if (guard.comparison < Comparison::kBelow || guard.comparison > Comparison::kAtLeast) {
    return absl::StrCat(what, " has comparison ", static_cast<int>(guard.comparison),
                        ", not 1 to 4");
  }
  if (guard.on_bad != OnBad::kPause && guard.on_bad != OnBad::kAbort) {
    return absl::StrCat(what, " does ", static_cast<int>(guard.on_bad), ", not 1 or 2");
  }
  return "";
}

// "" if the step is as RolloutStep says.
std::string CheckStep(const RolloutStep& step) {
  const std::vector<std::string>& names = step.data_centers;
  if (names.empty()) return "it has no data center";
  if (names.front().empty()) return "a data center has no name";
  if (const auto at = std::adjacent_find(names.begin(), names.end(), std::greater_equal<>());
      at != names.end()) {
    return absl::StrCat("data centers ", Quote(*at), " and ", Quote(*(at + 1)),
                        " are not in order, or the same");
  }
  if (step.share == Share::None()) return "its share is 0; a rollout only raises shares";
  if (step.bake < std::chrono::milliseconds(0) || step.bake > kMaxBake) {
    return absl::StrCat("a bake time of ", step.bake.count(), " ms is not in 0 to ",
                        kMaxBake.count());
  }
  if (step.guards.size() > kMaxGuards) {
    return absl::StrCat(step.guards.size(), " guards, above the limit of ", kMaxGuards);
  }
  for (const Guard& guard : step.guards) {
    if (std::string error = CheckGuard(guard); !error.empty()) return error;
  }
  if (const auto churn = step.limits.max_churn_ppm;
      churn.has_value() && (*churn < 1 || *churn > Share::kMaxPpm)) {
    return absl::StrCat("a limit of churn of ", *churn, " ppm is not in 1 to ", Share::kMaxPpm);
  }
  if (const auto misses = step.limits.max_extra_misses_per_second;
      misses.has_value() && *misses < 1) {
    return absl::StrCat("a budget of ", *misses, " extra misses a second is below 1");
  }
  return "";
}

bool Contains(const std::vector<std::string>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name, std::less<>());
}

bool HasDataCenter(const RolloutPlan& plan, std::string_view data_center) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [data_center](const RolloutStep& step) {
    return Contains(step.data_centers, data_center);
  });
}

// "" if they are as Rollout says.
std::string CheckNames(const RolloutPlan& plan, const std::vector<std::string>& names) {
  if (std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) != names.end()) {
    return "has names that are not in order";
  }
  for (const std::string& name : names) {
    if (!HasDataCenter(plan, name)) {
      return absl::StrCat("has data center ", Quote(name), ", which is in none of its steps");
    }
  }
  return "";
}

// "" if it makes sense with the plan.
std::string CheckState(const Rollout& rollout) {
  if (RolloutPhaseName(rollout.phase).empty()) {
    return absl::StrCat("is in phase ", static_cast<int>(rollout.phase), ", not 1 to ",
                        static_cast<int>(RolloutPhase::kDone));
  }
  const std::size_t steps = rollout.plan.steps.size();
  const bool is_at_its_end = rollout.step == steps;
  if (rollout.step > steps || is_at_its_end != (rollout.phase == RolloutPhase::kDone)) {
    return absl::StrCat(
        "is at a step that it has not: ", std::string(RolloutPhaseName(rollout.phase)), " with ",
        rollout.step, " of ", steps, " behind it");
  }
  if (rollout.changes < 0) return absl::StrCat("has made ", rollout.changes, " changes");
  if (rollout.baked < std::chrono::milliseconds(0) || rollout.baked > kMaxBake) {
    return absl::StrCat("has baked ", rollout.baked.count(), " ms, not 0 to ", kMaxBake.count());
  }
  std::string error = CheckNames(rollout.plan, rollout.raised);
  return error.empty() ? CheckNames(rollout.plan, rollout.taken_out) : error;
}

}  // namespace

absl::Status CheckPlan(const RolloutPlan& plan) {
  if (!IsName(plan.name)) {
    return absl::InvalidArgumentError(absl::StrCat("the name of a rollout, ", Quote(plan.name),
                                                   ", is not 1 to ", kMaxNameBytes,
                                                   " of a-z, 0-9 and -"));
  }
  const std::string what = absl::StrCat("rollout ", Quote(plan.name));
  if (plan.steps.empty() || plan.steps.size() > kMaxRolloutSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", plan.steps.size(), " steps, not 1 to ", kMaxRolloutSteps));
  }
  std::map<std::string_view, Share> shares;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const RolloutStep& step = plan.steps[i];
    std::string error = CheckStep(step);
    for (const std::string& name : step.data_centers) {
      Share& before = shares[name];
      if (error.empty() && step.share < before) {
        error = absl::StrCat("it lowers the share of ", Quote(name), " from ", before.ToPercent(),
                             " % to ", step.share.ToPercent(), " %; a rollout only raises shares");
      }
      before = step.share;
    }
    if (!error.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(what, ", step ", i + 1, ": ", error));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRollout(const Rollout& rollout) {
  if (absl::Status status = CheckPlan(rollout.plan); !status.ok()) return status;
  const std::string error = CheckState(rollout);
  if (error.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rollout ", Quote(rollout.plan.name), " ", error));
}

std::string_view RolloutPhaseName(RolloutPhase phase) {
  switch (phase) {
    case RolloutPhase::kPending:
      return "pending";
    case RolloutPhase::kRunning:
      return "running";
    case RolloutPhase::kHolding:
      return "holding";
    case RolloutPhase::kPaused:
      return "paused";
    case RolloutPhase::kAborting:
      return "aborting";
    case RolloutPhase::kAborted:
      return "aborted";
    case RolloutPhase::kDone:
      return "done";
  }
  return "";
}

std::string_view ComparisonName(Comparison comparison) {
  switch (comparison) {
    case Comparison::kBelow:
      return "<";
    case Comparison::kAtMost:
      return "<=";
    case Comparison::kAbove:
      return ">";
    case Comparison::kAtLeast:
      return ">=";
  }
  return "";
}

bool Rollout::Has(std::string_view data_center) const {
  return !Contains(taken_out, data_center) && HasDataCenter(plan, data_center);
}

std::string Rollout::Describe() const {
  return absl::StrCat(Quote(plan.name), " (", std::string(RolloutPhaseName(phase)), ", step ",
                      std::min(step + 1, plan.steps.size()), " of ", plan.steps.size(), ")");
}

}  // namespace ringshift
