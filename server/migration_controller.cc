// MigrationController: the changes that the store takes part in.
#include "server/migration_controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "routing/pool_balance.h"
#include "server/heap.h"
#include "server/log.h"
#include "server/selection.h"

namespace ringshift {
namespace {

using View = MigrationController::View;

std::string Quoted(const std::string& data_center) { return "data center \"" + data_center + "\""; }

absl::Status Annotate(const std::string& data_center, const absl::Status& status) {
  return absl::Status(
      status.code(), absl::string_view(Quoted(data_center) + ": " + std::string(status.message())));
}

// For people: "ams, fra, lon and 2 more", "tier canary", "all".
std::string Describe(const Selector& selector) {
  constexpr std::size_t kMaxNamed = 10;
  if (selector.all) return "all";
  if (!selector.tier.empty()) return "tier " + selector.tier;
  std::string text;
  const std::size_t count = selector.data_centers.size();
  for (std::size_t i = 0; i < std::min(count, kMaxNamed); ++i) {
    text += (i == 0 ? "" : ", ") + selector.data_centers[i];
  }
  if (count > kMaxNamed) text += " and " + std::to_string(count - kMaxNamed) + " more";
  return text;
}

std::string Describe(WallTime time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

// For people: "0s", "59m59s", "1h".
std::string Describe(std::chrono::seconds seconds) {
  if (seconds == std::chrono::seconds::zero()) return "0s";  // FormatDuration has no unit for 0
  return absl::FormatDuration(absl::FromChrono(seconds));
}

// When a ring that `share` does not reach last answered, or `since` if that was before.
WallTime LastReached(const AnswerHistory& answers, RingVersion version, Share share,
                     WallTime since) {
  const auto has_answered_since = [&](WallTime begin) {
    const Warmth warmth = answers.At(share, begin);
    return version == RingVersion::kV1 ? warmth.v1_warm_from < share : warmth.v2_warm_below > share;
  };
  while (has_answered_since(since)) since = answers.NextChangeOfBegin(since);
  return since;
}

}  // namespace

absl::Status MigrationController::Load() {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::vector<Migration>> migrations = store_.Load();
  if (!migrations.ok()) return migrations.status();
  const MutexLock records_lock(records_mutex_);
  for (Migration& migration : *migrations) {
    Record& record = records_[migration.data_center];
    record.answers = migration.answers;
    record.stored = std::move(migration);
  }
  return absl::OkStatus();
}

void MigrationController::CatchUp() {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::vector<Migration>> migrations = store_.Load();
  if (!migrations.ok()) {
    LogError("changes of others are not taken: the store cannot be read",
             {{"error", migrations.status().ToString()}});
    return;
  }
  std::vector<Migration> lost;
  {
    const MutexLock records_lock(records_mutex_);
    std::set<std::string_view> stored;
    for (const Migration& migration : *migrations) {
      stored.insert(migration.data_center);
      const auto [found, is_new] = records_.try_emplace(migration.data_center);
      // Not by the revision: a store that was restored goes back, and comes to the same one again.
      if (is_new || found->second.stored != migration) {
        TakeUp(found->second, migration);
      }
    }
    for (auto record = records_.begin(); record != records_.end();) {
      if (!stored.contains(record->first)) {
        if (record->second.table == nullptr) {
          record = records_.erase(record);
          continue;
        }
        lost.push_back(InForce(record->second, true));
      }
      ++record;
    }
  }
  for (const Migration& migration : lost) {
    absl::StatusOr<MigrationStore::Ensured> ensured =
        store_.EnsureExists({migration.data_center, migration.share, migration.salt, "ringshiftd",
                             "served here, and gone from the store"});
    if (!ensured.ok()) {
      LogError("the store has no migration of a data center that is served",
               {{"data_center", migration.data_center}, {"error", ensured.status().ToString()}});
      continue;
    }
    LogWarn("the store had no migration of a data center that is served: it has one again",
            {{"data_center", migration.data_center}, {"share", migration.share.ToPercent()}});
    const MutexLock records_lock(records_mutex_);
    TakeUp(records_.at(migration.data_center), ensured->migration);
  }
}

void MigrationController::TakeUp(Record& record, const Migration& migration) {
  record.stored = migration;
  // Where it is served, what answered here is known better than by those elsewhere.
  if (record.table == nullptr) {
    record.answers = migration.answers;
    return;
  }
  const Share before = record.table->share();
  if (absl::Status published = Publish(record); !published.ok()) {
    LogError("a change of another router is not in force",
             {{"data_center", migration.data_center}, {"error", published.ToString()}});
    return;
  }
  LogInfo("migration changed by another router", {{"data_center", migration.data_center},
                                                  {"from", before.ToPercent()},
                                                  {"requested", migration.share.ToPercent()},
                                                  {"effective", record.table->share().ToPercent()},
                                                  {"revision", std::to_string(migration.revision)},
                                                  {"actor", migration.actor},
                                                  {"reason", migration.reason}});
}

absl::Status MigrationController::Adopt(std::shared_ptr<const DataCenter> data_center,
                                        NodeHistory node_history, const Check& check) {
  const std::string name = data_center->name();
  // Goes away after the locks: its rings may go with it.
  std::shared_ptr<const RoutingTable> before;
  {
    // One that is served needs no store, and does not wait for it.
    const MutexLock records_lock(records_mutex_);
    if (const auto found = records_.find(name);
        found != records_.end() && found->second.table != nullptr) {
      before = found->second.table;
      return AdoptRecord(found->second, std::move(data_center), std::move(node_history), check);
    }
  }
  const MutexLock lock(mutex_);
  if (absl::Status ensured = EnsureStored(*data_center); !ensured.ok()) {
    return Annotate(name, ensured);
  }
  const bool has_v1 = data_center->spec().v1.has_value();
  const MutexLock records_lock(records_mutex_);
  Record& record = records_.at(name);
  absl::Status adopted =
      AdoptRecord(record, std::move(data_center), std::move(node_history), check);
  if (adopted.ok() && !has_v1 && record.stored.share != Share::All()) {
    LogWarn("the data center has no v1: v2 answers every request, whatever the stored share",
            {{"data_center", name}, {"stored", record.stored.share.ToPercent()}});
  }
  return adopted;
}

absl::Status MigrationController::EnsureStored(const DataCenter& data_center) {
  const std::string& name = data_center.name();
  // A data center without v1 is all on v2, and stays there if it is given a v1 later.
  Share initial = Share::All();
  std::string imbalance;  // of v2, where it keeps the data center from the default share
  Share wanted = initial;
  if (data_center.spec().v1) {
    const absl::StatusOr<DefaultShare> default_share = store_.LoadDefaultShare();
    if (!default_share.ok()) return default_share.status();
    wanted = default_share->share;
    if (wanted > Share::None()) {
      imbalance = BalanceWarning(data_center.node_set(), data_center.spec().v2);
    }
    initial = imbalance.empty() ? wanted : Share::None();
  }
  absl::StatusOr<MigrationStore::Ensured> ensured = store_.EnsureExists(
      {name, initial, /*salt=*/name, "ringshiftd", "first seen in the topology"});
  if (!ensured.ok()) return ensured.status();
  if (ensured->created) {
    LogWarn("the store has no share of the data center: a new one is made",
            {{"data_center", name}, {"share", ensured->migration.share.ToPercent()}});
    if (!imbalance.empty()) {
      LogWarn("the data center does not start at the default share: its ring v2 is uneven",
              {{"data_center", name}, {"default", wanted.ToPercent()}, {"warning", imbalance}});
    }
  }
  const MutexLock records_lock(records_mutex_);
  const auto [record, is_new] = records_.try_emplace(name);
  if (is_new) record->second.answers = ensured->migration.answers;
  record->second.stored = std::move(ensured->migration);
  return absl::OkStatus();
}

absl::Status MigrationController::Write(const MigrationUpdate& update) {
  absl::StatusOr<std::vector<Migration>> written = store_.Update(update);
  absl::Status error = written.status();
  if (absl::IsAborted(error)) {
    // The store has something else than was read from it: a write that it did not own up to. What
    // is decided next is based on that.
    written = store_.Load();
  }
  if (!written.ok()) return error;
  const MutexLock records_lock(records_mutex_);
  for (Migration& migration : *written) {
    const auto found = records_.find(migration.data_center);
    if (found == records_.end()) continue;
    Record& record = found->second;
    if (error.ok() && update.kind == ChangeKind::kRolledBack) {
      record.rollbacks.erase(record.rollbacks.begin());
    }
    record.stored = std::move(migration);
    if (record.table == nullptr) continue;
    if (absl::Status published = Publish(record); error.ok()) error = published;
  }
  return error;
}

absl::Status MigrationController::SaveRollbacks() {
  const MutexLock lock(mutex_);
  return SaveRollbacksFirst();
}

absl::Status MigrationController::SaveRollbacksFirst() {
  for (;;) {
    // Those of one who and why, in one step.
    MigrationUpdate update;
    update.kind = ChangeKind::kRolledBack;
    {
      const MutexLock records_lock(records_mutex_);
      for (const auto& [name, record] : records_) {
        if (record.rollbacks.empty()) continue;
        const UnsavedRollback& first = record.rollbacks.front();
        if (update.migrations.empty()) {
          update.actor = first.actor;
          update.reason = first.reason;
        } else if (first.actor != update.actor || first.reason != update.reason) {
          continue;
        }
        update.migrations.push_back(Next(record, Share::None()));
      }
    }
    if (update.migrations.empty()) return absl::OkStatus();
    const absl::Status written = Write(update);
    const std::string text = written.ok() ? "" : written.ToString();
    if (const bool is_news = std::exchange(rollback_error_, text) != text; written.ok()) {
      LogInfo("the store has the rollback",
              {{"data_centers", std::to_string(update.migrations.size())}});
    } else if (is_news) {
      LogError("the store does not take a rollback that is in force; it is tried again",
               {{"data_centers", std::to_string(update.migrations.size())}, {"error", text}});
    }
    if (!written.ok()) return written;
  }
}

absl::Status MigrationController::CheckBaseIsReached(
    const std::optional<std::int64_t>& base_revision) {
  if (!base_revision) return absl::OkStatus();
  HistoryQuery newest;
  newest.limit = 1;
  const absl::StatusOr<std::vector<MigrationChange>> changes = store_.History(newest);
  if (!changes.ok()) return changes.status();
  const std::int64_t last = changes->empty() ? 0 : changes->front().revision;
  if (*base_revision <= last) return absl::OkStatus();
  return absl::AbortedError(absl::string_view("revision " + std::to_string(*base_revision) +
                                              " is not this store's, of which the newest is " +
                                              std::to_string(last) +
                                              "; look at the data centers here, and decide again"));
}

absl::Status MigrationController::CheckBase(const std::vector<Record*>& records,
                                            const Order& order) {
  if (!order.base_revision) return absl::OkStatus();
  for (const Record* record : records) {
    const Migration& stored = record->stored;
    if (stored.revision <= *order.base_revision) continue;
    return absl::AbortedError(
        absl::string_view(Quoted(stored.data_center) + " was changed since revision " +
                          std::to_string(*order.base_revision) + ": it is at revision " +
                          std::to_string(stored.revision) + ", by " + stored.actor + " at " +
                          Describe(stored.update_time) + "; look at it, and decide again"));
  }
  return absl::OkStatus();
}

std::string MigrationController::RefuseShare(const Record& record, Share share,
                                             const ShareRules& rules) {
  const Migration& migration = record.table->migration();
  if (migration.share == share) return "";
  // 100 % is what is in force there; with it the data center may get a v1.
  const bool has_v1 = record.table->data_center().spec().v1.has_value();
  if (!has_v1 && share != Share::All()) {
    return "has no ring v1: v2 answers every request, and the only share to set is 100%";
  }
  if (migration.is_frozen) {
    return "is frozen since it was rolled back at " + Describe(migration.share_time) +
           ": unfreeze it before its share is changed";
  }
  if (has_v1 && share > migration.share && !rules.accept_imbalance &&
      !record.balance_warning.empty()) {
    return "would get more requests from a ring that is uneven: " + record.balance_warning +
           "; mend the ring, or accept the imbalance";
  }
  return "";
}

absl::Status MigrationController::CheckChurn(const Selector& selector, Share share,
                                             std::int32_t max_churn_ppm) {
  if (churn_of_ == nullptr) {
    return absl::UnimplementedError("this router cannot tell the churn of a change beforehand");
  }
  std::map<std::string, std::shared_ptr<const RoutingTable>> tables;
  {
    const MutexLock records_lock(records_mutex_);
    const absl::StatusOr<std::vector<Record*>> records = Served(selector);
    if (!records.ok()) return records.status();
    for (const Record* record : *records) {
      if (record->table->migration().share != share && !IsLeftAlone(selector, *record->table)) {
        tables[record->stored.data_center] = record->table;
      }
    }
  }
  std::map<std::string, double> churns;
  for (const auto& [name, table] : tables) {
    const absl::StatusOr<double> churn = churn_of_(*table, table->share_to_change(), share);
    if (!churn.ok()) return Annotate(name, churn.status());
    churns[name] = *churn;
  }
  const auto refuse = [&](const Record& record) -> std::string {
    const auto found = churns.find(record.stored.data_center);
    if (found == churns.end()) return "";
    const double ppm = found->second * Share::kMaxPpm;
    if (ppm <= max_churn_ppm) return "";
    return "would have " + std::to_string(ppm / 10'000) + "% of its key space moved, above " +
           Share::FromPpm(max_churn_ppm).value_or(Share()).ToPercent() + "%";
  };
  const MutexLock records_lock(records_mutex_);
  const absl::StatusOr<std::vector<Record*>> records = Served(selector);
  return records.ok() ? CheckRefusals(*records, refuse) : records.status();
}

absl::StatusOr<std::vector<MigrationController::Changed>> MigrationController::Change(
    std::string_view what, ChangeKind kind, const std::string& detail, const Order& order,
    const Decide& decide) {
  MigrationUpdate update;
  update.kind = kind;
  update.actor = order.actor;
  update.reason = order.reason;
  update.detail = detail;
  std::map<std::string, Share> previous;
  absl::Status status = SaveRollbacksFirst();
  if (status.ok()) status = CheckBaseIsReached(order.base_revision);
  if (status.ok()) {
    const MutexLock records_lock(records_mutex_);
    const absl::StatusOr<std::vector<Record*>> records = Served(order.selector);
    status = records.status();
    if (status.ok()) status = CheckBase(*records, order);
    if (status.ok()) status = decide(*records, update.migrations);
    if (status.ok()) {
      for (const Record* record : *records) {
        previous[record->stored.data_center] = record->table->migration().share;
      }
    }
  }
  if (status.ok() && !update.migrations.empty()) status = Write(update);
  if (!status.ok()) {
    LogWarn("migration not changed", {{"wanted", std::string(what)},
                                      {"data_centers", Describe(order.selector)},
                                      {"actor", order.actor},
                                      {"error", status.ToString()}});
    return status;
  }
  std::vector<Changed> changes;
  {
    const MutexLock records_lock(records_mutex_);
    for (const auto& [name, share] : previous)
      changes.push_back({ViewOf(records_.at(name)), share});
  }
  for (const Migration& next : update.migrations) {
    const Share from = previous.at(next.data_center);
    const auto changed = std::find_if(changes.begin(), changes.end(), [&](const Changed& each) {
      return each.view.migration.data_center == next.data_center;
    });
    LogInfo(what, {{"data_center", next.data_center},
                   {"from", from.ToPercent()},
                   {"to", next.share.ToPercent()},
                   {"revision", std::to_string(changed->view.migration.revision)},
                   {"actor", order.actor},
                   {"reason", order.reason}});
  }
  return changes;
}

absl::StatusOr<std::vector<MigrationController::Changed>> MigrationController::SetShare(
    const Order& order, Share share, const ShareRules& rules) {
  const MutexLock lock(mutex_);
  if (rules.max_churn_ppm) {
    const absl::Status little = CheckChurn(order.selector, share, *rules.max_churn_ppm);
    if (!little.ok()) return little;
  }
  return Change("migration changed", ChangeKind::kShare, "", order,
                [&](const std::vector<Record*>& records, std::vector<Migration>& next) {
                  const absl::Status allowed = CheckRefusals(records, [&](const Record& record) {
                    const bool is_left_alone = IsLeftAlone(order.selector, *record.table);
                    return is_left_alone ? "" : RefuseShare(record, share, rules);
                  });
                  if (!allowed.ok()) return allowed;
                  for (const Record* record : records) {
                    if (IsLeftAlone(order.selector, *record->table)) continue;
                    if (record->table->migration().share == share) continue;
                    next.push_back(Next(*record, share));
                  }
                  return absl::OkStatus();
                });
}

absl::StatusOr<std::vector<MigrationController::Changed>> MigrationController::Unfreeze(
    const Order& order, std::uint64_t rollbacks) {
  const MutexLock lock(mutex_);
  return Change("migration unfrozen", ChangeKind::kUnfrozen, "", order,
                [&](const std::vector<Record*>& records, std::vector<Migration>& next) {
                  for (const Record* record : records) {
                    const Migration& now = record->table->migration();
                    if (record->last_rollback > rollbacks) {
                      return absl::AbortedError(absl::string_view(
                          Quoted(now.data_center) + " was rolled back by " + now.actor +
                          " after this was asked for; look at it, and decide again"));
                    }
                    if (!now.is_frozen) continue;
                    next.push_back(Next(*record, now.share));
                    next.back().is_frozen = false;
                  }
                  return absl::OkStatus();
                });
}

std::string MigrationController::RefuseRetirement(const Record& record, RingVersion version,
                                                  std::chrono::seconds min_age) const {
  const RoutingTable& table = *record.table;
  const Migration& migration = table.migration();
  const bool is_v1 = version == RingVersion::kV1;
  if (!table.data_center().spec().v1) {
    return is_v1 ? "has no ring v1" : "has no ring but v2";
  }
  if (record.share_override) {
    return "has an override on this router, by " + record.share_override->actor +
           ": clear that before a ring is retired";
  }
  if (migration.share != (is_v1 ? Share::All() : Share::None())) {
    return "has a share of " + migration.share.ToPercent() + "%, at which ring " +
           std::string(RingVersionName(version)) + " answers requests";
  }
  if (table.share() != migration.share) {
    return "does not answer with its share: " + std::string(table.share_reason());
  }
  const WallTime reached =
      LastReached(record.answers, version, migration.share, migration.share_time);
  const auto age = std::chrono::floor<std::chrono::seconds>(options_.clock() - reached);
  if (age < min_age) {
    return "has had a share at which no request reaches ring " +
           std::string(RingVersionName(version)) + " for " + Describe(age) +
           " only, and shall have had it for at least " + Describe(min_age);
  }
  return "";
}

absl::StatusOr<MigrationController::Retired> MigrationController::Retire(
    const Order& order, RingVersion version, std::chrono::seconds min_age) {
  const RetiredRing ring = version == RingVersion::kV1 ? RetiredRing::kV1 : RetiredRing::kV2;
  const MutexLock lock(mutex_);
  // Their rings go away at the end, after the lock of the records.
  std::vector<std::shared_ptr<const RoutingTable>> before;
  absl::StatusOr<std::vector<Changed>> changes =
      Change("ring retired", ChangeKind::kRetired, "ring " + std::string(RingVersionName(version)),
             order, [&](const std::vector<Record*>& records, std::vector<Migration>& next) {
               const absl::Status allowed = CheckRefusals(records, [&](const Record& record) {
                 const bool stays = record.table->migration().retired == ring ||
                                    IsLeftAlone(order.selector, *record.table);
                 return stays ? "" : RefuseRetirement(record, version, min_age);
               });
               if (!allowed.ok()) return allowed;
               for (Record* record : records) {
                 const Migration& now = record->table->migration();
                 if (now.retired == ring) continue;
                 if (IsLeftAlone(order.selector, *record->table)) continue;
                 next.push_back(Next(*record, now.share));
                 next.back().retired = ring;
                 record->retiring = ring;
                 before.push_back(record->table);
               }
               return absl::OkStatus();
             });
  Retired retired;
  {
    const MutexLock records_lock(records_mutex_);
    for (const auto& table : before) {
      Record& record = records_.at(table->migration().data_center);
      record.retiring = RetiredRing::kNone;
      // A rollback that came meanwhile has kept the ring.
      const bool is_gone =
          record.table == nullptr || record.table->data_center().ring(version) == nullptr;
      const DataCenter::BuiltRing* const dropped = table->data_center().ring(version);
      if (is_gone && dropped != nullptr) retired.ring_bytes += dropped->memory_bytes();
    }
  }
  if (!changes.ok()) return changes.status();
  const bool is_any_gone = !before.empty();
  before.clear();
  if (is_any_gone) ReturnFreePages();
  retired.changes = *std::move(changes);
  return retired;
}

absl::StatusOr<std::vector<MigrationController::Changed>> MigrationController::Restore(
    const Order& order) {
  const MutexLock lock(mutex_);
  return Change("ring called back", ChangeKind::kRestored, "", order,
                [this](const std::vector<Record*>& records, std::vector<Migration>& next) {
                  for (const Record* record : records) {
                    const Migration& now = record->table->migration();
                    if (now.retired == RetiredRing::kNone) continue;
                    next.push_back(Next(*record, now.share));
                    next.back().retired = RetiredRing::kNone;
                  }
                  return absl::OkStatus();
                });
}

absl::StatusOr<MigrationController::ChangedDefaultShare> MigrationController::SetDefaultShare(
    const DefaultShareUpdate& update) {
  const MutexLock lock(mutex_);
  if (absl::Status known = CheckBaseIsReached(update.base_revision); !known.ok()) return known;
  const absl::StatusOr<DefaultShare> before = store_.LoadDefaultShare();
  if (!before.ok()) return before.status();
  const absl::StatusOr<DefaultShare> now = store_.SetDefaultShare(update);
  if (!now.ok()) {
    LogWarn("default share not changed", {{"to", update.share.ToPercent()},
                                          {"actor", update.actor},
                                          {"error", now.status().ToString()}});
    return now.status();
  }
  LogInfo("default share changed", {{"from", before->share.ToPercent()},
                                    {"to", now->share.ToPercent()},
                                    {"revision", std::to_string(now->revision)},
                                    {"actor", update.actor},
                                    {"reason", update.reason}});
  return ChangedDefaultShare{*now, before->share};
}

absl::StatusOr<Migration> MigrationController::Forget(const ForgetRequest& request) {
  const MutexLock lock(mutex_);
  if (absl::Status saved = SaveRollbacksFirst(); !saved.ok()) return saved;
  if (absl::Status known = CheckBaseIsReached(request.base_revision); !known.ok()) return known;
  if (directory_.Find(request.data_center).ok()) {
    return absl::FailedPreconditionError("the router serves data center \"" + request.data_center +
                                         "\": take it out of the topology before its migration is "
                                         "forgotten");
  }
  if (!IsSelected(options_.data_centers, request.data_center)) {
    return absl::FailedPreconditionError("--data-centers leaves data center \"" +
                                         request.data_center +
                                         "\" out: its migration is no orphan of this router");
  }
  absl::StatusOr<Migration> migration = store_.Forget(request);
  if (!migration.ok()) {
    LogWarn("migration not forgotten", {{"data_center", request.data_center},
                                        {"actor", request.actor},
                                        {"error", migration.status().ToString()}});
    return migration.status();
  }
  LogInfo("migration forgotten", {{"data_center", request.data_center},
                                  {"share", migration->share.ToPercent()},
                                  {"actor", request.actor},
                                  {"reason", request.reason}});
  const MutexLock records_lock(records_mutex_);
  records_.erase(request.data_center);
  return migration;
}

absl::StatusOr<Migration> MigrationController::Rename(RenameRequest request) {
  // Goes away after the locks: a ring that is retired may go with it.
  std::shared_ptr<const RoutingTable> before;
  const MutexLock lock(mutex_);
  if (absl::Status saved = SaveRollbacksFirst(); !saved.ok()) return saved;
  {
    const MutexLock records_lock(records_mutex_);
    const auto from = records_.find(request.from);
    const bool is_served = from != records_.end() && from->second.table != nullptr;
    request.keep_from = is_served || !IsSelected(options_.data_centers, request.from);
    if (const auto to = records_.find(request.to); to != records_.end()) before = to->second.table;
    // Before the store is changed: afterwards it would be too late to find that there can be no
    // table.
    if (before != nullptr && from != records_.end()) {
      Migration migration = from->second.stored;
      migration.data_center = request.to;
      const auto table = RoutingTable::Create(before->shared_data_center(), std::move(migration));
      if (!table.ok()) return Annotate(request.to, table.status());
    }
  }
  absl::StatusOr<Migration> migration = store_.Rename(request);
  if (!migration.ok()) {
    LogWarn("migration not renamed", {{"from", request.from},
                                      {"to", request.to},
                                      {"actor", request.actor},
                                      {"error", migration.status().ToString()}});
    return migration.status();
  }
  LogInfo("migration renamed", {{"from", request.from},
                                {"to", request.to},
                                {"share", migration->share.ToPercent()},
                                {"revision", std::to_string(migration->revision)},
                                {"actor", request.actor},
                                {"reason", request.reason}});
  const MutexLock records_lock(records_mutex_);
  if (!request.keep_from) records_.erase(request.from);
  Record& to = records_[request.to];
  to.stored = *migration;
  to.answers = migration->answers;
  if (to.table != nullptr) {
    if (absl::Status published = Publish(to); !published.ok()) {
      return Annotate(request.to, published);
    }
  }
  return migration;
}

}  // namespace ringshift
