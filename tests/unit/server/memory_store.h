// A MigrationStore in memory that can be told to fail, or to block.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "migration/decision.h"
#include "migration/internal/quote.h"
#include "migration/internal/rollout_rules.h"
#include "migration/internal/store_contents.h"
#include "migration/store.h"

namespace ringshift::testing {

class MemoryStore final : public MigrationStore {
 public:
  // Without a clock it is always 1970.
  explicit MemoryStore(WallClock clock = [] { return WallTime(); }) : clock_(std::move(clock)) {}

  // Every later call fails with `status`, unless it is OK.
  void FailWith(absl::Status status) {
    const absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
  }
  // Every later call that writes, and Check, fails with `status`, unless it is OK.
  void FailWritesWith(absl::Status status) {
    const absl::MutexLock lock(&mutex_);
    write_status_ = std::move(status);
  }

  // From Block to Unblock Update does not return.
  void Block() { SetBlocked(true); }
  void Unblock() { SetBlocked(false); }
  // Returns when an Update waits for Unblock.
  void WaitUntilBlocked() {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&waits_));
  }

  absl::StatusOr<std::vector<Migration>> Load() override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return Values(migrations_);
  }

  absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) override {
    if (wanted.data_center.empty()) {
      return absl::InvalidArgumentError("a migration needs a data center");
    }
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (const auto it = migrations_.find(wanted.data_center); it != migrations_.end()) {
      return Ensured{it->second, false};
    }
    if (!write_status_.ok()) return write_status_;
    Migration migration;
    migration.data_center = wanted.data_center;
    migration.salt = wanted.salt;
    migration.decision_algorithm = kDecisionAlgorithm;
    migration.share = wanted.share;
    migration.share_time = clock_();
    MigrationChange change = ChangeFor(wanted, wanted.data_center, ChangeKind::kCreated);
    change.time = migration.share_time;
    change.to = wanted.share;
    return Ensured{Write(migration, Append({change}).front()), true};
  }

  absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate& update) override {
    if (absl::Status status = internal::CheckUpdate(update); !status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    waits_ = blocked_;
    mutex_.Await(absl::Condition(
        +[](bool* blocked) { return !*blocked; }, &blocked_));
    waits_ = false;
    const WallTime now = clock_();
    absl::StatusOr<Rollout> own;
    if (update.rollout.has_value()) {
      own = Decide(*update.rollout, now);
      if (!own.ok()) return own.status();
    }
    std::vector<Migration> migrations;
    std::vector<MigrationChange> changes;
    for (const Migration& wanted : update.migrations) {
      absl::StatusOr<Migration> migration = Find(wanted.data_center, wanted.revision);
      if (!migration.ok()) return migration.status();
      MigrationChange change =
          ChangeFor(update, wanted.data_center, update.kind, migration->share, update.detail);
      change.time = now;
      change.to = wanted.share;
      changes.push_back(std::move(change));
      migration->share = wanted.share;
      migration->share_time = wanted.share_time;
      migration->is_frozen = wanted.is_frozen;
      migration->retired = wanted.retired;
      migration->answers = wanted.answers;
      migrations.push_back(*std::move(migration));
    }
    absl::StatusOr<std::vector<Rollout>> rollouts =
        internal::OtherRollouts(update, Unfinished(), now);
    if (!rollouts.ok()) return rollouts.status();
    if (update.rollout.has_value()) rollouts->push_back(*std::move(own));
    changes = Append(std::move(changes));
    for (Rollout& rollout : *rollouts) Write(rollout);
    for (std::size_t i = 0; i < migrations.size(); ++i) {
      migrations[i] = Write(migrations[i], changes[i]);
    }
    std::this_thread::yield();  // the store is what a change waits for
    return migrations;
  }

  absl::StatusOr<DefaultShare> LoadDefaultShare() override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return default_share_;
  }

  absl::StatusOr<DefaultShare> SetDefaultShare(const DefaultShareUpdate& update) override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    if (absl::Status status = internal::CheckRevision(default_share_, update.base_revision);
        !status.ok()) {
      return status;
    }
    MigrationChange change = ChangeFor(update, "", ChangeKind::kDefaultShare, default_share_.share);
    change.time = clock_();
    change.to = update.share;
    default_share_ = {update.share, Append({std::move(change)}).front().revision};
    return default_share_;
  }

  absl::StatusOr<Migration> Forget(const ForgetRequest& request) override {
    const absl::MutexLock lock(&mutex_);
    absl::StatusOr<Migration> migration = Find(request.data_center, request.base_revision);
    if (!migration.ok()) return migration.status();
    if (absl::Status status = internal::CheckNotInRollout(request.data_center, Unfinished());
        !status.ok()) {
      return status;
    }
    Erase(request.data_center);
    MigrationChange change =
        ChangeFor(request, request.data_center, ChangeKind::kForgotten, migration->share);
    change.time = clock_();
    Append({std::move(change)});
    return migration;
  }

  absl::StatusOr<Migration> Rename(const RenameRequest& request) override {
    if (request.from.empty() || request.to.empty() || request.from == request.to) {
      return absl::InvalidArgumentError("a migration is renamed from one data center to another");
    }
    const absl::MutexLock lock(&mutex_);
    absl::StatusOr<Migration> migration = Find(request.from, std::nullopt);
    if (!migration.ok()) return migration.status();
    for (const std::string& name : {request.from, request.to}) {
      absl::Status status = internal::CheckNotInRollout(name, Unfinished());
      if (!status.ok()) return status;
    }
    std::optional<Share> before;
    if (const auto it = migrations_.find(request.to); it != migrations_.end()) {
      if (!IsPristine(it->second)) {
        return absl::AlreadyExistsError(
            absl::StrCat("the migration of ", internal::Quote(request.to), " was changed by ",
                         internal::Quote(it->second.actor)));
      }
      before = it->second.share;
    }
    const WallTime now = clock_();
    std::vector<MigrationChange> changes = {
        ChangeFor(request, request.to, before ? ChangeKind::kShare : ChangeKind::kCreated, before,
                  (request.keep_from ? "copied from " : "renamed from ") + request.from)};
    changes[0].time = now;
    changes[0].to = migration->share;
    if (!request.keep_from) {
      changes.push_back(ChangeFor(request, request.from, ChangeKind::kRenamed, migration->share,
                                  "to " + request.to));
      changes[1].time = now;
      Erase(request.from);
    }
    return Write(*migration, Append(std::move(changes)).front());
  }

  absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    std::vector<MigrationChange> changes;
    for (const MigrationChange& change : history_) {
      if (!query.data_center.empty() && change.data_center != query.data_center) continue;
      if (query.before.has_value()) {
        if (change.revision > query.before->revision) continue;
        if (change.revision == query.before->revision &&
            change.data_center <= query.before->data_center) {
          continue;
        }
      }
      changes.push_back(change);
    }
    std::sort(changes.begin(), changes.end(),
              [](const MigrationChange& a, const MigrationChange& b) {
                if (a.revision != b.revision) return a.revision > b.revision;
                return a.data_center < b.data_center;
              });
    if (changes.size() > query.limit) changes.resize(query.limit);
    return changes;
  }

  absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return Values(topologies_);
  }

  absl::Status SaveTopology(const TopologyUpdate& update) override {
    if (absl::Status status = internal::CheckTopology(update); !status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    const auto it = topologies_.find(update.data_center);
    if (update.text.has_value() ? it != topologies_.end() && it->second.text == *update.text
                                : it == topologies_.end()) {
      return absl::OkStatus();
    }
    if (!write_status_.ok()) return write_status_;
    MigrationChange change =
        ChangeFor(update, update.data_center, ChangeKind::kTopology, std::nullopt, update.detail);
    change.time = clock_();
    change = Append({std::move(change)}).front();
    if (update.text.has_value()) {
      topologies_[update.data_center] = {update.data_center, *update.text, update.node_changes,
                                         change.revision,    change.time,  change.actor,
                                         change.reason};
    } else {
      topologies_.erase(it);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Rollout>> LoadRollouts(WhichRollouts which) override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return which == WhichRollouts::kAll ? Values(rollouts_) : Unfinished();
  }

  absl::StatusOr<Rollout> SaveRollout(const RolloutUpdate& update) override {
    const absl::MutexLock lock(&mutex_);
    absl::StatusOr<Rollout> rollout = Decide(update, clock_());
    if (!rollout.ok()) return rollout;
    ++revision_;
    return Write(*std::move(rollout));
  }

  absl::StatusOr<std::int64_t> NextRolloutTerm() override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    return ++rollout_term_;
  }

  absl::Status Check() override {
    const absl::MutexLock lock(&mutex_);
    return status_.ok() ? write_status_ : status_;
  }

  absl::StatusOr<StoreContents> Export() override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return Contents();
  }

  absl::Status Import(const StoreContents& contents) override {
    if (absl::Status status = internal::CheckContents(contents); !status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    if (Contents() != StoreContents())
      return absl::FailedPreconditionError("the store is not empty");
    for (const Migration& migration : contents.migrations) {
      migrations_[migration.data_center] = migration;
    }
    for (const StoredTopology& topology : contents.topologies) {
      topologies_[topology.data_center] = topology;
    }
    history_ = contents.history;
    default_share_ = contents.default_share;
    revision_ = contents.last_revision;
    for (const Rollout& rollout : contents.rollouts) rollouts_[rollout.plan.name] = rollout;
    rollout_term_ = contents.last_rollout_term;
    return absl::OkStatus();
  }

 private:
  template <typename Value>
  static std::vector<Value> Values(const std::map<std::string, Value>& map) {
    std::vector<Value> values;
    for (const auto& [name, value] : map) values.push_back(value);
    return values;
  }

  // A change without its revision, its time and the share that it leads to.
  template <typename Request>
  static MigrationChange ChangeFor(const Request& request, const std::string& data_center,
                                   ChangeKind kind, std::optional<Share> from = std::nullopt,
                                   const std::string& detail = "") {
    MigrationChange change;
    change.data_center = data_center;
    change.kind = kind;
    change.actor = request.actor;
    change.reason = request.reason;
    change.from = from;
    change.detail = detail;
    return change;
  }

  void SetBlocked(bool blocked) {
    const absl::MutexLock lock(&mutex_);
    blocked_ = blocked;
  }

  StoreContents Contents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {Values(migrations_), Values(topologies_), history_,     default_share_,
            revision_,           Values(rollouts_),   rollout_term_};
  }

  std::vector<Rollout> Unfinished() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<Rollout> rollouts;
    for (const auto& [name, rollout] : rollouts_) {
      if (!rollout.is_finished()) rollouts.push_back(rollout);
    }
    return rollouts;
  }

  // What becomes of the rollout.
  absl::StatusOr<Rollout> Decide(const RolloutUpdate& update, WallTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    const auto present = rollouts_.find(update.rollout.plan.name);
    const std::vector<Rollout> unfinished = Unfinished();
    const std::vector<Migration> migrations = Values(migrations_);
    return internal::NextRollout(update,
                                 {present == rollouts_.end() ? nullptr : &present->second,
                                  unfinished, migrations, rollout_term_},
                                 now);
  }

  // Writes the rollout at the present revision.
  Rollout Write(Rollout rollout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    rollout.revision = revision_;
    return rollouts_[rollout.plan.name] = std::move(rollout);
  }

  // The migration that a change is about.
  absl::StatusOr<Migration> Find(const std::string& data_center,
                                 std::optional<std::int64_t> base_revision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    const auto it = migrations_.find(data_center);
    if (it == migrations_.end()) {
      return absl::NotFoundError(
          absl::StrCat("the store has no migration of ", internal::Quote(data_center)));
    }
    if (absl::Status status = internal::CheckRevision(it->second, base_revision); !status.ok()) {
      return status;
    }
    return it->second;
  }

  bool IsPristine(const Migration& migration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(history_.begin(), history_.end(), [&](const MigrationChange& change) {
      return change.revision == migration.revision && change.data_center == migration.data_center &&
             change.kind == ChangeKind::kCreated && change.detail.empty();
    });
  }

  // Returns the changes, with the next revision.
  std::vector<MigrationChange> Append(std::vector<MigrationChange> changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++revision_;
    for (MigrationChange& change : changes) change.revision = revision_;
    const auto begin = history_.insert(history_.end(), changes.begin(), changes.end());
    std::sort(begin, history_.end(), [](const MigrationChange& a, const MigrationChange& b) {
      return a.data_center < b.data_center;
    });
    return changes;
  }

  // Writes the migration as made by the change.
  Migration Write(Migration migration, const MigrationChange& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    migration.data_center = change.data_center;
    migration.revision = change.revision;
    migration.update_time = change.time;
    migration.actor = change.actor;
    migration.reason = change.reason;
    migrations_[migration.data_center] = migration;
    return migration;
  }

  void Erase(const std::string& data_center) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    migrations_.erase(data_center);
    topologies_.erase(data_center);
  }

  const WallClock clock_;
  absl::Mutex mutex_;
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  absl::Status write_status_ ABSL_GUARDED_BY(mutex_);
  std::int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Migration> migrations_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, StoredTopology> topologies_ ABSL_GUARDED_BY(mutex_);
  std::vector<MigrationChange> history_ ABSL_GUARDED_BY(mutex_);
  DefaultShare default_share_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Rollout> rollouts_ ABSL_GUARDED_BY(mutex_);
  std::int64_t rollout_term_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_
