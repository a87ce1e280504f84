#include "migration/rollout_machine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

using internal::Quote;

void Insert(std::vector<std::string>& sorted, const std::string& name) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), name);
  if (at == sorted.end() || *at != name) sorted.insert(at, name);
}

bool Contains(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

void Enter(Rollout& rollout, RolloutPhase phase, std::string_view actor, std::string_view reason) {
  rollout.phase = phase;
  rollout.actor = actor;
  rollout.reason = reason;
}

// What the executor does is done in the rollout's name.
void Enter(Rollout& rollout, RolloutPhase phase, std::string_view reason) {
  Enter(rollout, phase, absl::StrCat("rollout:", rollout.plan.name), reason);
}

bool Holds(double value, Comparison comparison, double threshold) {
  switch (comparison) {
    case Comparison::kBelow:
      return value < threshold;
    case Comparison::kAtMost:
      return value <= threshold;
    case Comparison::kAbove:
      return value > threshold;
    case Comparison::kAtLeast:
      return value >= threshold;
  }
  return false;
}

// The guards of a step taken together.
struct Verdict {
  GuardVerdict::Kind kind = GuardVerdict::Kind::kGood;
  OnBad on_bad = OnBad::kPause;
  std::string detail;
};

Verdict JudgeAll(const std::vector<Guard>& guards, const std::vector<GuardVerdict>& verdicts) {
  Verdict all;
  for (std::size_t i = 0; i < guards.size(); ++i) {
    const GuardVerdict verdict =
        i < verdicts.size() ? verdicts[i] : Judge(guards[i], {std::nullopt, "not measured"});
    if (verdict.kind == GuardVerdict::Kind::kBad) {
      const bool outweighs = all.kind != GuardVerdict::Kind::kBad ||
                             (all.on_bad == OnBad::kPause && guards[i].on_bad == OnBad::kAbort);
      if (outweighs) all = {verdict.kind, guards[i].on_bad, verdict.detail};
    } else if (verdict.kind == GuardVerdict::Kind::kUnknown &&
               all.kind == GuardVerdict::Kind::kGood) {
      all = {verdict.kind, OnBad::kPause, verdict.detail};
    }
  }
  return all;
}

std::vector<std::string> Members(const Rollout& rollout) {
  std::vector<std::string> members;
  for (const std::string& name : rollout.plan.steps[rollout.step].data_centers) {
    if (!Contains(rollout.taken_out, name)) members.push_back(name);
  }
  return members;
}

void GoToNextStep(Rollout& rollout) {
  ++rollout.step;
  rollout.changes = 0;
  rollout.is_baking = false;
  rollout.baked = std::chrono::milliseconds(0);
  if (rollout.step == rollout.plan.steps.size()) Enter(rollout, RolloutPhase::kDone, "");
}

// Raises the shares of the present step as far as they may; why not, if they may not.
std::string Raise(const RolloutObservation& observation, RolloutDecision& decision) {
  Rollout& next = decision.next;
  const Share target = next.plan.steps[next.step].share;
  std::vector<std::pair<std::string, Share>> shares;
  for (const std::string& name : Members(next)) {
    const auto present = observation.shares.find(name);
    if (present == observation.shares.end()) {
      return absl::StrCat("data center ", Quote(name), " has no migration");
    }
    if (present->second >= target) continue;
    Share share = target;
    if (const auto limit = observation.reachable.find(name); limit != observation.reachable.end()) {
      if (!limit->second.ok()) {
        return absl::StrCat("how far the limits let the share of ", Quote(name),
                            " rise is not known: ", std::string(limit->second.status().message()));
      }
      share = std::min(target, *limit->second);
    }
    if (share <= present->second) {
      return absl::StrCat("the limits of step ", next.step + 1, " let the share of ", Quote(name),
                          " not rise above ", present->second.ToPercent(), " %");
    }
    shares.emplace_back(name, share);
  }
  for (const auto& [name, share] : shares) Insert(next.raised, name);
  if (!shares.empty()) ++next.changes;
  next.is_baking = true;
  next.baked = std::chrono::milliseconds(0);
  decision.shares = std::move(shares);
  return "";
}

bool IsAtTarget(const Rollout& rollout, const RolloutObservation& observation) {
  const std::vector<std::string> members = Members(rollout);
  return std::all_of(members.begin(), members.end(), [&](const std::string& name) {
    const auto present = observation.shares.find(name);
    return present != observation.shares.end() &&
           present->second >= rollout.plan.steps[rollout.step].share;
  });
}

absl::Status Refusal(const Rollout& rollout, std::string_view verb, std::string_view advice) {
  return absl::FailedPreconditionError(absl::StrCat("rollout ", rollout.Describe(), " cannot be ",
                                                    std::string(verb), "; ", std::string(advice)));
}

bool IsAbortingOrAborted(const Rollout& rollout) {
  return rollout.phase == RolloutPhase::kAborting || rollout.phase == RolloutPhase::kAborted;
}

}  // namespace

GuardVerdict Judge(const Guard& guard, const Measurement& measurement) {
  const std::string name = absl::StrCat("guard ", Quote(guard.name));
  if (!measurement.value.has_value()) {
    return {GuardVerdict::Kind::kUnknown, absl::StrCat(name, ": ", measurement.missing)};
  }
  const double value = *measurement.value;
  if (!std::isfinite(value)) {
    return {GuardVerdict::Kind::kUnknown, absl::StrCat(name, ": its value is ", value)};
  }
  if (Holds(value, guard.comparison, guard.threshold)) return {GuardVerdict::Kind::kGood, ""};
  return {GuardVerdict::Kind::kBad,
          absl::StrCat(name, ": ", value, " is not ", std::string(ComparisonName(guard.comparison)),
                       " ", guard.threshold)};
}

RolloutDecision Advance(const Rollout& rollout, const RolloutObservation& observation) {
  RolloutDecision decision{rollout, ChangeKind::kShare, {}};
  Rollout& next = decision.next;
  if (rollout.phase == RolloutPhase::kPaused || rollout.is_finished()) return decision;
  if (rollout.phase == RolloutPhase::kAborting) {
    decision.kind = ChangeKind::kRolledBack;
    for (const std::string& name : rollout.raised) {
      if (!Contains(rollout.taken_out, name) && observation.shares.contains(name)) {
        decision.shares.emplace_back(name, Share::None());
      }
    }
    next.phase = RolloutPhase::kAborted;  // who wanted it, and why, stays
    return decision;
  }

  const RolloutStep& step = rollout.plan.steps[rollout.step];
  if (Members(rollout).empty()) {
    GoToNextStep(next);
    return decision;
  }
  const Verdict guards = JudgeAll(step.guards, observation.guards);
  if (guards.kind == GuardVerdict::Kind::kBad) {
    if (guards.on_bad == OnBad::kAbort) {
      Enter(next, RolloutPhase::kAborting, guards.detail);
    } else {
      Enter(next, RolloutPhase::kPaused, guards.detail);
      next.baked = std::chrono::milliseconds(0);
    }
    return decision;
  }
  std::string hold = guards.detail;
  if (hold.empty() && rollout.is_baking) {
    if (rollout.phase == RolloutPhase::kRunning) {
      next.baked += std::clamp(observation.elapsed, std::chrono::milliseconds(0), kMaxObservedGap);
    }
    if (next.baked >= step.bake) {
      if (IsAtTarget(rollout, observation)) {
        GoToNextStep(next);
      } else {
        next.is_baking = false;
        next.baked = std::chrono::milliseconds(0);
      }
    }
    if (next.phase == RolloutPhase::kDone) return decision;
  } else if (hold.empty()) {
    hold = Raise(observation, decision);
  }
  const RolloutPhase phase = hold.empty() ? RolloutPhase::kRunning : RolloutPhase::kHolding;
  if (phase != rollout.phase || (!hold.empty() && hold != rollout.reason)) {
    Enter(next, phase, hold);
  }
  return decision;
}

absl::StatusOr<Rollout> Pause(const Rollout& rollout, std::string_view actor,
                              std::string_view reason) {
  if (rollout.phase == RolloutPhase::kPaused) return rollout;
  if (rollout.is_finished() || IsAbortingOrAborted(rollout)) {
    return Refusal(rollout, "paused", "it changes no share any more");
  }
  Rollout next = rollout;
  Enter(next, RolloutPhase::kPaused, actor, reason);
  return next;
}

absl::StatusOr<Rollout> Resume(const Rollout& rollout, std::string_view actor,
                               std::string_view reason) {
  if (rollout.is_finished() || IsAbortingOrAborted(rollout)) {
    return Refusal(rollout, "resumed", "create a new one");
  }
  if (rollout.phase != RolloutPhase::kPaused) return rollout;
  Rollout next = rollout;
  Enter(next, RolloutPhase::kRunning, actor, reason);
  return next;
}

absl::StatusOr<Rollout> Abort(const Rollout& rollout, std::string_view actor,
                              std::string_view reason) {
  if (IsAbortingOrAborted(rollout)) return rollout;
  if (rollout.is_finished()) {
    return Refusal(rollout, "aborted", "roll its data centers back");
  }
  Rollout next = rollout;
  Enter(next, RolloutPhase::kAborting, actor, reason);
  return next;
}

Rollout TakeOut(const Rollout& rollout, const std::string& data_center, std::string_view actor,
                std::string_view reason) {
  Rollout next = rollout;
  Insert(next.taken_out, data_center);
  const bool has_others =
      std::any_of(next.plan.steps.begin(), next.plan.steps.end(), [&](const RolloutStep& step) {
        return std::any_of(
            step.data_centers.begin(), step.data_centers.end(),
            [&](const std::string& name) { return !Contains(next.taken_out, name); });
      });
  const std::string why =
      absl::StrCat("data center ", Quote(data_center), " was rolled back: ", std::string(reason));
  if (!has_others) {
    Enter(next, RolloutPhase::kAborted, actor, why);
  } else if (next.phase != RolloutPhase::kAborting) {
    Enter(next, RolloutPhase::kPaused, actor, why);
  }
  return next;
}

}  // namespace ringshift
