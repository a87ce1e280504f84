#include "migration/rollout_writer.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

// A ring that the share needs is not retired any more.
RetiredRing RetiredAt(Share share, RetiredRing retired) {
  const bool is_needed = (retired == RetiredRing::kV2 && share > Share::None()) ||
                         (retired == RetiredRing::kV1 && share < Share::All());
  return is_needed ? RetiredRing::kNone : retired;
}

std::string ReasonOf(const RolloutDecision& decision) {
  const Rollout& next = decision.next;
  if (decision.kind == ChangeKind::kRolledBack) {
    return absl::StrCat("rollout ", next.plan.name, " was aborted: ", next.reason);
  }
  return absl::StrCat("rollout ", next.plan.name, ", step ", next.step + 1, " of ",
                      next.plan.steps.size());
}

}  // namespace

absl::StatusOr<Rollout> RolloutWriter::Write(const RolloutDecision& decision,
                                             std::span<const Migration> migrations,
                                             std::optional<std::int64_t> executor_term) const {
  const RolloutUpdate rollout{decision.next, executor_term};
  if (decision.shares.empty()) return store_.SaveRollout(rollout);
  MigrationUpdate update;
  update.kind = decision.kind;
  update.actor = decision.kind == ChangeKind::kRolledBack
                     ? decision.next.actor
                     : absl::StrCat("rollout:", decision.next.plan.name);
  update.reason = ReasonOf(decision);
  update.rollout = rollout;
  for (const auto& [name, share] : decision.shares) {
    const auto present = std::lower_bound(
        migrations.begin(), migrations.end(), name,
        [](const Migration& m, const std::string& n) { return m.data_center < n; });
    if (present == migrations.end() || present->data_center != name) {
      return absl::NotFoundError(
          absl::StrCat("data center ", internal::Quote(name), " has no migration"));
    }
    update.migrations.push_back(Next(*present, decision.kind, share));
  }
  const absl::StatusOr<std::vector<Migration>> written =
      options_.update ? options_.update(update) : store_.Update(update);
  if (!written.ok()) return written.status();
  Rollout next = decision.next;
  next.revision = written->front().revision;
  next.update_time = written->front().update_time;
  if (executor_term.has_value()) next.executor_term = *executor_term;
  return next;
}

Migration RolloutWriter::Next(Migration migration, ChangeKind kind, Share share) const {
  const WallTime now = options_.clock();
  if (migration.share != share) {
    migration.answers.Change(migration.share, share, now, now - options_.warm_window);
    migration.share_time = now;
    migration.share = share;
  }
  migration.retired = RetiredAt(share, migration.retired);
  if (kind == ChangeKind::kRolledBack) migration.is_frozen = true;
  return migration;
}

std::map<std::string, Share, std::less<>> SharesOf(std::span<const Migration> migrations) {
  std::map<std::string, Share, std::less<>> shares;
  for (const Migration& migration : migrations) {
    shares.emplace(migration.data_center, migration.share);
  }
  return shares;
}

}  // namespace ringshift
