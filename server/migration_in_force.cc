// MigrationController: what is in force on this router, and what of it is published.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "routing/pool_balance.h"
#include "routing/topology.h"
#include "server/log.h"
#include "server/migration_controller.h"
#include "server/node_history.h"
#include "server/selection.h"

namespace ringshift {
namespace {

using View = MigrationController::View;

// Rollbacks of a data center that wait for the store. Whoever goes on rolling it back replaces the
// last of them, so that a store that is away for long costs no memory.
constexpr std::size_t kMaxUnsaved = 8;

// A ring that the share or the data center cannot do without is not retired, whatever is stored.
RetiredRing RetiredAt(Share share, bool has_v1, RetiredRing retired) {
  const bool is_needed = !has_v1 || (retired == RetiredRing::kV1 && share != Share::All()) ||
                         (retired == RetiredRing::kV2 && share != Share::None());
  return is_needed ? RetiredRing::kNone : retired;
}

std::shared_ptr<const DataCenter> WithoutRetired(std::shared_ptr<const DataCenter> data_center,
                                                 RetiredRing retired) {
  const bool has_both = data_center->v1() != nullptr && data_center->v2() != nullptr;
  return has_both && retired != RetiredRing::kNone ? data_center->Without(retired) : data_center;
}

bool LacksRing(const DataCenter& data_center, RetiredRing retired) {
  const bool lacks_v1 = data_center.spec().v1 && data_center.v1() == nullptr;
  return (lacks_v1 && retired != RetiredRing::kV1) ||
         (data_center.v2() == nullptr && retired != RetiredRing::kV2);
}

// The share that was in force until the last change of it; `share` if there was none.
Share ShareBefore(const AnswerHistory& answers, Share share) {
  Share before = share;
  WallTime begin = WallTime::min();
  for (;;) {
    const WallTime next = answers.NextChangeOfBegin(begin);
    if (next == WallTime::max()) return before;
    before = answers.At(share, begin).first_share;
    begin = next;
  }
}

}  // namespace

Migration MigrationController::InForce(const Record& record, bool has_v1) {
  Migration migration = record.stored;
  if (!record.rollbacks.empty()) {
    const UnsavedRollback& last = record.rollbacks.back();
    if (migration.share != Share::None()) migration.share_time = record.rollbacks.front().time;
    migration.share = Share::None();
    migration.is_frozen = true;
    migration.update_time = last.time;
    migration.actor = last.actor;
    migration.reason = last.reason;
  }
  migration.retired = RetiredAt(migration.share, has_v1, migration.retired);
  return migration;
}

Migration MigrationController::Next(const Record& record, Share share) const {
  const RoutingTable* const table = record.table.get();
  const bool has_v1 = table == nullptr || table->data_center().spec().v1;
  Migration next = InForce(record, has_v1);
  const WallTime now = options_.clock();
  if (next.share != share) next.share_time = now;
  next.share = share;
  next.retired = RetiredAt(share, has_v1, next.retired);
  // After a restart the share is in force with the rings that it needs, and no override is.
  next.answers = record.answers;
  if (table != nullptr && has_v1 && table->share() != share) {
    next.answers.Change(table->share(), share, now, now - options_.warm_window);
  }
  return next;
}

void MigrationController::SetOnPublish(std::function<void()> on_publish) {
  const MutexLock records_lock(records_mutex_);
  on_publish_ = std::move(on_publish);
}

absl::Status MigrationController::Publish(Record& record,
                                          std::shared_ptr<const DataCenter> data_center) {
  Migration migration = InForce(record, data_center->spec().v1.has_value());
  data_center = WithoutRetired(std::move(data_center), migration.retired);
  if (!LacksRing(*data_center, migration.retired)) record.restore_error.clear();
  const WallTime now = options_.clock();
  const WallTime begin = now - options_.warm_window;
  RouterState state;
  state.share_override = record.share_override;
  state.is_durable = record.rollbacks.empty();
  state.restore_error = record.restore_error;

  const Share share = RoutingTable::EffectiveShare(*data_center, migration, state);
  AnswerHistory answers = record.answers;
  if (record.table != nullptr && record.table->migration().salt != migration.salt) {
    answers = migration.answers;  // of other buckets than those of the salt before
  } else if (record.table != nullptr && record.table->share() != share) {
    answers.Change(record.table->share(), share, now, begin);
  }
  const WallTime known = record.node_history.KnownSince(answers.KnownSince(begin));
  if (known < record.past_from || known >= record.past_until) {
    record.past = record.node_history.At(*data_center, known);
    record.past_from = known;
    record.past_until = record.node_history.FirstChange(known);
  }
  state.warmth = answers.At(share, known);
  state.warmth_since_nodes = state.warmth;
  if (record.past_until != WallTime::max()) {
    state.warmth.first_share = answers.At(share, record.past_until).first_share;
    state.warmth_since_nodes = answers.At(share, record.node_history.LastChange(known));
  }
  state.settled = record.past.settled;
  state.past_nodes = record.past.past;
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      RoutingTable::Create(std::move(data_center), std::move(migration), std::move(state));
  if (!table.ok()) return table.status();
  record.next_refresh = std::min(answers.NextChangeOfBegin(known), record.past_until);
  record.answers = std::move(answers);
  record.table = *std::move(table);
  directory_.Publish(record.table);
  if (on_publish_) on_publish_();
  return absl::OkStatus();
}

absl::Status MigrationController::Publish(Record& record) {
  return Publish(record, record.table->shared_data_center());
}

absl::Status MigrationController::AdoptRecord(Record& record,
                                              std::shared_ptr<const DataCenter> data_center,
                                              NodeHistory node_history, const Check& check) {
  const bool has_v1 = data_center->spec().v1.has_value();
  Migration migration = InForce(record, has_v1);
  const Share effective =
      record.table != nullptr ? record.table->share() : (has_v1 ? migration.share : Share::All());
  if (absl::Status allowed = check(migration, effective); !allowed.ok()) return allowed;
  std::string warning = BalanceWarning(data_center->node_set(), data_center->spec().v2);
  NodeHistory history_before = std::exchange(record.node_history, std::move(node_history));
  record.past_until = WallTime::min();
  if (absl::Status published = Publish(record, std::move(data_center)); !published.ok()) {
    record.node_history = std::move(history_before);
    record.past_until = WallTime::min();
    return absl::Status(published.code(),
                        absl::string_view("data center \"" + record.stored.data_center +
                                          "\": " + std::string(published.message())));
  }
  record.balance_warning = std::move(warning);
  return absl::OkStatus();
}

void MigrationController::Drop(const std::string& data_center) {
  // Goes away after the lock: its rings may go with it.
  std::shared_ptr<const RoutingTable> table;
  {
    const MutexLock records_lock(records_mutex_);
    const auto found = records_.find(data_center);
    if (found == records_.end() || found->second.table == nullptr) return;
    Record& record = found->second;
    table = std::exchange(record.table, nullptr);
    record.node_history = {};
    record.past = {};
    record.past_until = WallTime::min();
    record.balance_warning.clear();
    record.restore_error.clear();
    directory_.Remove(data_center);
  }
  LogInfo("data center not served any more: its migration is kept",
          {{"data_center", data_center}, {"share", table->migration().share.ToPercent()}});
}

absl::StatusOr<MigrationController::RolledBack> MigrationController::Rollback(const Order& order) {
  RolledBack result;
  {
    const MutexLock records_lock(records_mutex_);
    const Selector served = WithoutUnknown(order.selector, result.unknown);
    absl::StatusOr<std::vector<Record*>> records = Served(served);
    if (!records.ok()) return records.status();
    ++rollback_count_;
    for (Record* record : *records) {
      if (!record->table->data_center().spec().v1) {
        result.without_v1.push_back(record->stored.data_center);
        continue;
      }
      const Share answered = record->table->share();
      record->share_override.reset();
      // Also where it is frozen at no share: the store may be about to take an unfreeze.
      if (record->rollbacks.size() == kMaxUnsaved) record->rollbacks.pop_back();
      record->rollbacks.push_back({order.actor, order.reason, options_.clock()});
      record->last_rollback = rollback_count_;
      if (absl::Status published = Publish(*record); !published.ok()) return published;
      result.changes.push_back({ViewOf(*record), answered});
    }
  }
  for (const Changed& changed : result.changes) {
    LogWarn("migration rolled back and frozen",
            {{"data_center", changed.view.migration.data_center},
             {"from", changed.previous.ToPercent()},
             {"effective", changed.view.table->share().ToPercent()},
             {"actor", order.actor},
             {"reason", order.reason}});
  }
  return result;
}

std::uint64_t MigrationController::RollbackCount() const {
  const MutexLock records_lock(records_mutex_);
  return rollback_count_;
}

bool MigrationController::HasUnsavedRollbacks() const {
  const MutexLock records_lock(records_mutex_);
  return std::any_of(records_.begin(), records_.end(),
                     [](const auto& entry) { return !entry.second.rollbacks.empty(); });
}

std::vector<Migration> MigrationController::StoredWhereUnsaved() const {
  const MutexLock records_lock(records_mutex_);
  std::vector<Migration> stored;
  for (const auto& [name, record] : records_) {
    if (!record.rollbacks.empty()) stored.push_back(record.stored);
  }
  return stored;
}

absl::StatusOr<std::vector<View>> MigrationController::Override(const Order& order, Share share) {
  std::vector<View> views;
  {
    const MutexLock records_lock(records_mutex_);
    absl::StatusOr<std::vector<Record*>> records = Served(order.selector);
    if (!records.ok()) return records.status();
    const auto refuse = [&](const Record& record) -> std::string {
      if (IsLeftAlone(order.selector, *record.table)) return "";
      const DataCenter& data_center = record.table->data_center();
      const auto has = [&](RingVersion version, RetiredRing retired) {
        return data_center.ring(version) != nullptr && record.retiring != retired;
      };
      if (share != Share::All() && !has(RingVersion::kV1, RetiredRing::kV1)) {
        return "has no ring v1, which answers below 100%";
      }
      if (share != Share::None() && !has(RingVersion::kV2, RetiredRing::kV2)) {
        return "has no ring v2, which answers above 0%";
      }
      if (record.table->migration().is_frozen && share > record.table->share()) {
        return "is frozen since it was rolled back: unfreeze it before v2 answers more of it "
               "than " +
               record.table->share().ToPercent() + "%";
      }
      return "";
    };
    if (absl::Status allowed = CheckRefusals(*records, refuse); !allowed.ok()) return allowed;
    for (Record* record : *records) {
      if (IsLeftAlone(order.selector, *record->table)) {
        views.push_back(ViewOf(*record));
        continue;
      }
      record->share_override = ShareOverride{share, order.reason, order.actor, options_.clock()};
      if (absl::Status published = Publish(*record); !published.ok()) return published;
      views.push_back(ViewOf(*record));
    }
  }
  for (const View& view : views) {
    LogWarn("share overridden on this router", {{"data_center", view.migration.data_center},
                                                {"stored", view.migration.share.ToPercent()},
                                                {"to", share.ToPercent()},
                                                {"actor", order.actor},
                                                {"reason", order.reason}});
  }
  return views;
}

absl::StatusOr<std::vector<View>> MigrationController::ClearOverride(const Order& order) {
  std::vector<View> views;
  std::vector<View> cleared;
  {
    const MutexLock records_lock(records_mutex_);
    absl::StatusOr<std::vector<Record*>> records = Served(order.selector);
    if (!records.ok()) return records.status();
    for (Record* record : *records) {
      const bool is_overridden = record->share_override.has_value();
      record->share_override.reset();
      if (is_overridden) {
        if (absl::Status published = Publish(*record); !published.ok()) return published;
        cleared.push_back(ViewOf(*record));
      }
      views.push_back(ViewOf(*record));
    }
  }
  for (const View& view : cleared) {
    LogInfo("override of the share cleared", {{"data_center", view.migration.data_center},
                                              {"to", view.table->share().ToPercent()},
                                              {"actor", order.actor}});
  }
  return views;
}

void MigrationController::Refresh() {
  const MutexLock records_lock(records_mutex_);
  const WallTime begin = options_.clock() - options_.warm_window;
  for (auto& [name, record] : records_) {
    if (record.table == nullptr || begin < record.next_refresh) continue;
    if (absl::Status published = Publish(record); !published.ok()) {
      LogError("routing table not refreshed",
               {{"data_center", name}, {"error", published.ToString()}});
    }
  }
}

std::vector<std::shared_ptr<const DataCenter>> MigrationController::MissingRings() const {
  const MutexLock records_lock(records_mutex_);
  std::vector<std::shared_ptr<const DataCenter>> missing;
  for (const auto& [name, record] : records_) {
    if (record.table == nullptr) continue;
    if (LacksRing(record.table->data_center(), record.table->migration().retired)) {
      missing.push_back(record.table->shared_data_center());
    }
  }
  return missing;
}

void MigrationController::SetRestoreError(const std::string& data_center,
                                          const std::string& error) {
  {
    const MutexLock records_lock(records_mutex_);
    const auto found = records_.find(data_center);
    if (found == records_.end() || found->second.table == nullptr) return;
    Record& record = found->second;
    if (std::exchange(record.restore_error, error) == error) return;
    Publish(record).IgnoreError();  // as it was before, but for the error
  }
  LogError("a ring that is wanted is not there, and is tried again",
           {{"data_center", data_center}, {"error", error}});
}

RetiredRing MigrationController::RetiredRingOf(const std::string& data_center) const {
  const MutexLock records_lock(records_mutex_);
  const auto found = records_.find(data_center);
  if (found == records_.end()) return RetiredRing::kNone;
  return InForce(found->second, /*has_v1=*/true).retired;
}

std::vector<RetiredRing> MigrationController::DispensableRings(
    const std::string& data_center) const {
  const MutexLock records_lock(records_mutex_);
  std::vector<RetiredRing> rings;
  const auto found = records_.find(data_center);
  if (found == records_.end()) return rings;
  const Share share = found->second.stored.share;
  for (const Share answered : {share, ShareBefore(found->second.stored.answers, share)}) {
    if (answered == Share::All()) rings.push_back(RetiredRing::kV1);
    if (answered == Share::None()) rings.push_back(RetiredRing::kV2);
  }
  return rings;
}

bool MigrationController::IsLeftAlone(const Selector& selector, const RoutingTable& table) {
  return selector.data_centers.empty() && !table.data_center().spec().v1;
}

Selector MigrationController::WithoutUnknown(const Selector& selector,
                                             std::vector<std::string>& unknown) const {
  Selector known = selector;
  known.data_centers.clear();
  std::set<std::string> others;
  for (const std::string& name : selector.data_centers) {
    const auto found = records_.find(name);
    const bool is_served = found != records_.end() && found->second.table != nullptr;
    if (is_served) {
      known.data_centers.push_back(name);
    } else {
      others.insert(name);
    }
  }
  if (known.data_centers.empty()) return selector;
  unknown.assign(others.begin(), others.end());
  return known;
}

absl::StatusOr<std::vector<std::string>> MigrationController::ServedNames(
    const Selector& selector) const {
  std::vector<std::string> names;
  std::vector<std::string> known;
  std::set<std::string> missing(selector.data_centers.begin(), selector.data_centers.end());
  for (const auto& [name, record] : records_) {
    if (record.table == nullptr) continue;
    const std::string& tier = record.table->data_center().tier();
    known.push_back(selector.tier.empty() ? name : tier);
    const bool is_named = missing.erase(name) > 0;
    if (is_named || selector.all || (!selector.tier.empty() && tier == selector.tier)) {
      names.push_back(name);
    }
  }
  if (!missing.empty()) {
    return absl::NotFoundError(UnknownNameMessage("data center", *missing.begin(), known));
  }
  if (!names.empty()) return names;
  if (selector.tier.empty()) return absl::NotFoundError("the router serves no data center");
  std::erase(known, "");
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return absl::NotFoundError(UnknownNameMessage("tier", selector.tier, known));
}

absl::StatusOr<std::vector<MigrationController::Record*>> MigrationController::Served(
    const Selector& selector) {
  const absl::StatusOr<std::vector<std::string>> names = ServedNames(selector);
  if (!names.ok()) return names.status();
  std::vector<Record*> records;
  for (const std::string& name : *names) records.push_back(&records_.at(name));
  return records;
}

absl::Status MigrationController::CheckRefusals(const std::vector<Record*>& records,
                                                const Refusal& refusal) {
  constexpr std::size_t kMaxNamed = 10;
  std::string text;
  std::size_t count = 0;
  for (const Record* record : records) {
    const std::string why = refusal(*record);
    if (why.empty() || ++count > kMaxNamed) continue;
    if (!text.empty()) text += "; ";
    text += "data center \"" + record->stored.data_center + "\" " + why;
  }
  if (count == 0) return absl::OkStatus();
  if (count > kMaxNamed) text += "; and " + std::to_string(count - kMaxNamed) + " more";
  return absl::FailedPreconditionError(text);
}

View MigrationController::ViewOf(const Record& record) const {
  View view;
  view.migration =
      record.table != nullptr ? record.table->migration() : InForce(record, /*has_v1=*/true);
  view.table = record.table;
  view.is_orphan =
      record.table == nullptr && IsSelected(options_.data_centers, record.stored.data_center);
  view.is_durable = record.rollbacks.empty();
  view.balance_warning = record.balance_warning;
  return view;
}

std::vector<View> MigrationController::Migrations() const {
  std::vector<View> views;
  const MutexLock records_lock(records_mutex_);
  for (const auto& [name, record] : records_) views.push_back(ViewOf(record));
  return views;
}

absl::StatusOr<std::vector<View>> MigrationController::Select(const Selector& selector) const {
  const MutexLock records_lock(records_mutex_);
  const absl::StatusOr<std::vector<std::string>> names = ServedNames(selector);
  if (!names.ok()) return names.status();
  std::vector<View> views;
  for (const std::string& name : *names) views.push_back(ViewOf(records_.find(name)->second));
  return views;
}

absl::StatusOr<View> MigrationController::Find(std::string_view data_center) const {
  const MutexLock records_lock(records_mutex_);
  if (const auto found = records_.find(data_center); found != records_.end()) {
    return ViewOf(found->second);
  }
  std::vector<std::string> known;
  for (const auto& [name, record] : records_) known.push_back(name);
  return absl::NotFoundError(UnknownNameMessage("data center", data_center, known));
}

std::size_t MigrationController::OrphanCount() const {
  const MutexLock records_lock(records_mutex_);
  return static_cast<std::size_t>(
      std::count_if(records_.begin(), records_.end(), [this](const auto& entry) {
        return entry.second.table == nullptr && IsSelected(options_.data_centers, entry.first);
      }));
}

}  // namespace ringshift
