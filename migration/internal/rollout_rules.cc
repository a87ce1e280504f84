#include "migration/internal/rollout_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/rollout_machine.h"

namespace ringshift::internal {
namespace {

// The data centers of a rollout that are not taken out.
std::set<std::string_view> Held(const Rollout& rollout) {
  std::set<std::string_view> names;
  for (const RolloutStep& step : rollout.plan.steps) {
    names.insert(step.data_centers.begin(), step.data_centers.end());
  }
  for (const std::string& name : rollout.taken_out) names.erase(name);
  return names;
}

// Both are sorted.
bool Includes(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  return std::includes(names.begin(), names.end(), others.begin(), others.end());
}

// A new rollout begins where no data center has to go back, or must stay as it is.
absl::Status CheckMigrations(const Rollout& rollout, std::span<const Migration> migrations) {
  const std::string what = absl::StrCat("rollout ", Quote(rollout.plan.name));
  std::map<std::string_view, const Migration*> by_name;
  for (const Migration& migration : migrations) by_name[migration.data_center] = &migration;
  for (std::size_t i = 0; i < rollout.plan.steps.size(); ++i) {
    const RolloutStep& step = rollout.plan.steps[i];
    for (const std::string& name : step.data_centers) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) {
        return absl::NotFoundError(absl::StrCat(what, ", step ", i + 1, ": data center ",
                                                Quote(name), " has no migration"));
      }
      const Migration& migration = *found->second;
      if (migration.is_frozen) {
        return absl::FailedPreconditionError(
            absl::StrCat(what, ", step ", i + 1, ": data center ", Quote(name),
                         " was rolled back and is frozen; unfreeze it, or leave it out"));
      }
      if (migration.share > step.share) {
        return absl::FailedPreconditionError(absl::StrCat(
            what, ", step ", i + 1, ": data center ", Quote(name), " has share ",
            migration.share.ToPercent(), " %, above the ", step.share.ToPercent(),
            " % of the step; a rollout only raises shares: lower it first, or leave it out"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNew(const Rollout& rollout, const RolloutContext& context) {
  if (absl::Status status = CheckPlan(rollout.plan); !status.ok()) return status;
  const std::set<std::string_view> names = Held(rollout);
  for (const Rollout& other : context.unfinished) {
    for (const std::string_view name : Held(other)) {
      if (!names.contains(name)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("data center ", Quote(name), " is in rollout ", other.Describe(),
                       " already; abort that one, or leave the data center out of this one"));
    }
  }
  return CheckMigrations(rollout, context.migrations);
}

absl::Status CheckExisting(const Rollout& rollout, const Rollout& present) {
  if (rollout.plan != present.plan) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan of rollout ", present.Describe(), " cannot change"));
  }
  // Whoever writes: an abort is for good.
  const bool may_follow = !present.is_finished() && (present.phase != RolloutPhase::kAborting ||
                                                     rollout.phase == RolloutPhase::kAborting ||
                                                     rollout.phase == RolloutPhase::kAborted);
  if (!may_follow) {
    return absl::FailedPreconditionError(
        absl::StrCat("rollout ", present.Describe(), " cannot become ",
                     std::string(RolloutPhaseName(rollout.phase)), " again; create a new one"));
  }
  if (absl::Status status = CheckRollout(rollout); !status.ok()) return status;
  // Whoever writes: each step is taken once, in order.
  if (rollout.step < present.step || rollout.step - present.step > 1) {
    const std::string what = rollout.phase == RolloutPhase::kDone
                                 ? "be done"
                                 : absl::StrCat("go to step ", rollout.step + 1);
    return absl::InvalidArgumentError(
        absl::StrCat("rollout ", present.Describe(), " cannot ", what,
                     ": steps are taken one after the other, each once"));
  }
  if (!Includes(rollout.raised, present.raised) ||
      !Includes(rollout.taken_out, present.taken_out)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rollout ", present.Describe(),
                     " forgets a data center that it has raised or that was rolled back"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Rollout> NextRollout(const RolloutUpdate& update, const RolloutContext& context,
                                    WallTime now) {
  const std::string name = Quote(update.rollout.plan.name);
  Rollout next = update.rollout;
  next.update_time = now;
  if (update.executor_term.has_value()) {
    if (*update.executor_term < 1 || *update.executor_term > context.last_term) {
      return absl::InvalidArgumentError(
          absl::StrCat("executor term ", *update.executor_term,
                       " was never given to an executor; the last is ", context.last_term));
    }
    if (*update.executor_term < context.last_term) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the executor of term ", *update.executor_term, " is not to change rollout ", name,
          " any more: another one has taken over, with term ", context.last_term));
    }
    next.executor_term = *update.executor_term;
  }
  if (context.present == nullptr) {
    if (update.rollout.revision != 0) {
      return absl::NotFoundError(absl::StrCat("there is no rollout ", name));
    }
    Rollout created;
    created.plan = update.rollout.plan;
    created.actor = update.rollout.actor;
    created.reason = update.rollout.reason;
    created.create_time = created.update_time = now;
    if (absl::Status status = CheckNew(created, context); !status.ok()) return status;
    return created;
  }
  const Rollout& present = *context.present;
  if (update.rollout.revision == 0) {
    return absl::AlreadyExistsError(absl::StrCat("there is a rollout ", present.Describe(),
                                                 " already; give the new one another name"));
  }
  if (update.rollout.revision != present.revision) {
    return absl::AbortedError(
        absl::StrCat("rollout ", present.Describe(), " is at revision ", present.revision,
                     ", changed by ", Quote(present.actor), ", the change is based on revision ",
                     update.rollout.revision, "; read it again and decide again"));
  }
  next.create_time = present.create_time;
  if (absl::Status status = CheckExisting(next, present); !status.ok()) return status;
  return next;
}

absl::Status CheckNotInRollout(std::string_view data_center, std::span<const Rollout> unfinished) {
  for (const Rollout& rollout : unfinished) {
    if (!rollout.Has(data_center)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("data center ", Quote(data_center), " is in rollout ", rollout.Describe(),
                     "; leave it out of this change, or abort the rollout, or roll the data center "
                     "back, which pauses the rollout and takes the data center out of it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Rollout>> OtherRollouts(const MigrationUpdate& update,
                                                   std::span<const Rollout> unfinished,
                                                   WallTime now) {
  std::map<std::string_view, Rollout> changed;
  for (const Migration& migration : update.migrations) {
    const auto holder = std::find_if(
        unfinished.begin(), unfinished.end(),
        [&migration](const Rollout& rollout) { return rollout.Has(migration.data_center); });
    const bool is_own = holder != unfinished.end() && update.rollout.has_value() &&
                        update.rollout->rollout.plan.name == holder->plan.name;
    if (update.rollout.has_value() && !is_own) {
      return absl::InvalidArgumentError(
          absl::StrCat("a change of rollout ", Quote(update.rollout->rollout.plan.name),
                       " with data center ", Quote(migration.data_center), ", which is not in it"));
    }
    if (is_own || holder == unfinished.end()) continue;
    // A ring that is called back changes no answer.
    if (update.kind == ChangeKind::kRestored) continue;
    if (update.kind != ChangeKind::kRolledBack) {
      return CheckNotInRollout(migration.data_center, unfinished);
    }
    const auto [entry, is_first] = changed.try_emplace(holder->plan.name, *holder);
    entry->second = TakeOut(entry->second, migration.data_center, update.actor, update.reason);
    entry->second.update_time = now;
  }
  std::vector<Rollout> rollouts;
  for (auto& [name, rollout] : changed) rollouts.push_back(std::move(rollout));
  return rollouts;
}

absl::Status CheckRollouts(std::span<const Rollout> rollouts, std::int64_t last_revision,
                           std::int64_t last_term) {
  const auto wrong = [](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("the contents of a store: ", what));
  };
  if (last_term < 0) return wrong(absl::StrCat("the last term, ", last_term, ", is below 0"));
  std::map<std::string_view, std::string_view> holders;  // rollouts by data center
  const Rollout* before = nullptr;
  for (const Rollout& rollout : rollouts) {
    const std::string what = absl::StrCat("rollout ", Quote(rollout.plan.name));
    if (absl::Status status = CheckRollout(rollout); !status.ok()) {
      return wrong(std::string(status.message()));
    }
    if (before != nullptr && before->plan.name >= rollout.plan.name) {
      return wrong(absl::StrCat(what, " behind ", Quote(before->plan.name)));
    }
    before = &rollout;
    if (rollout.revision < 1 || rollout.revision > last_revision) {
      return wrong(absl::StrCat("revision ", rollout.revision, " of ", what,
                                " is not in 1 to the last one, ", last_revision));
    }
    if (rollout.executor_term < 0 || rollout.executor_term > last_term) {
      return wrong(absl::StrCat("executor term ", rollout.executor_term, " of ", what,
                                " is not in 0 to the last one, ", last_term));
    }
    if (rollout.is_finished()) continue;
    for (const std::string_view name : Held(rollout)) {
      const auto [holder, is_first] = holders.try_emplace(name, rollout.plan.name);
      if (!is_first) {
        return wrong(absl::StrCat("data center ", Quote(name), " is in the rollouts ",
                                  Quote(holder->second), " and ", Quote(rollout.plan.name)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace ringshift::internal
