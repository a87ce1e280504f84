// A MigrationStore in memory that can be told to fail, or to block.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_

#include <algorithm>
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
#include "absl/synchronization/mutex.h"
#include "migration/decision.h"
#include "migration/store.h"

namespace ringshift::testing {

class MemoryStore final : public MigrationStore {
 public:
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

  // From Block to Unblock SetShare does not return.
  void Block() { SetBlocked(true); }
  void Unblock() { SetBlocked(false); }
  // Returns when a SetShare waits for Unblock.
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
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (const auto it = migrations_.find(wanted.data_center); it != migrations_.end()) {
      return Ensured{it->second, false};
    }
    if (!write_status_.ok()) return write_status_;
    Migration migration;
    migration.salt = wanted.salt;
    migration.decision_algorithm = kDecisionAlgorithm;
    migration.share = wanted.share;
    return Ensured{Write(migration, ChangeFor(wanted, wanted.data_center, ChangeKind::kCreated)),
                   true};
  }

  absl::StatusOr<Migration> SetShare(const ShareChange& change) override {
    const absl::MutexLock lock(&mutex_);
    waits_ = blocked_;
    mutex_.Await(absl::Condition(
        +[](bool* blocked) { return !*blocked; }, &blocked_));
    waits_ = false;
    absl::StatusOr<Migration> migration = Find(change.data_center, change.expected_revision);
    if (!migration.ok()) return migration.status();
    const Share from = migration->share;
    migration->share = change.share;
    const Migration stored =
        Write(*migration, ChangeFor(change, change.data_center, ChangeKind::kShare, from));
    std::this_thread::yield();  // the store is what a change waits for
    return stored;
  }

  absl::StatusOr<Migration> Forget(const ForgetRequest& request) override {
    const absl::MutexLock lock(&mutex_);
    absl::StatusOr<Migration> migration = Find(request.data_center, request.expected_revision);
    if (!migration.ok()) return migration.status();
    Erase(ChangeFor(request, request.data_center, ChangeKind::kForgotten, migration->share));
    return migration;
  }

  absl::StatusOr<Migration> Rename(const RenameRequest& request) override {
    if (request.from.empty() || request.to.empty() || request.from == request.to) {
      return absl::InvalidArgumentError("not two names");
    }
    const absl::MutexLock lock(&mutex_);
    absl::StatusOr<Migration> migration = Find(request.from, std::nullopt);
    if (!migration.ok()) return migration.status();
    std::optional<Share> before;
    if (const auto it = migrations_.find(request.to); it != migrations_.end()) {
      if (!IsPristine(it->second)) {
        return absl::AlreadyExistsError("the migration of " + request.to + " was changed");
      }
      before = it->second.share;
    }
    if (!request.keep_from) {
      Erase(ChangeFor(request, request.from, ChangeKind::kRenamed, migration->share,
                      "to " + request.to));
    }
    return Write(
        *migration,
        ChangeFor(request, request.to, before ? ChangeKind::kShare : ChangeKind::kCreated, before,
                  (request.keep_from ? "copied from " : "renamed from ") + request.from));
  }

  absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    std::vector<MigrationChange> changes;
    for (auto it = history_.rbegin(); it != history_.rend() && changes.size() < query.limit; ++it) {
      if (!query.data_center.empty() && it->data_center != query.data_center) continue;
      if (query.before_revision && it->revision >= *query.before_revision) continue;
      changes.push_back(*it);
    }
    return changes;
  }

  absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return Values(topologies_);
  }

  absl::Status SaveTopology(const TopologyUpdate& update) override {
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    const auto it = topologies_.find(update.data_center);
    if (update.text.has_value() ? it != topologies_.end() && it->second.text == *update.text
                                : it == topologies_.end()) {
      return absl::OkStatus();
    }
    if (!write_status_.ok()) return write_status_;
    const MigrationChange& change = Append(
        ChangeFor(update, update.data_center, ChangeKind::kTopology, std::nullopt, update.detail));
    if (update.text.has_value()) {
      topologies_[update.data_center] = {update.data_center, *update.text, change.revision,
                                         change.time,        change.actor, change.reason};
    } else {
      topologies_.erase(it);
    }
    return absl::OkStatus();
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
    const absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    if (Contents() != StoreContents()) return absl::FailedPreconditionError("not empty");
    for (const Migration& migration : contents.migrations) {
      migrations_[migration.data_center] = migration;
    }
    for (const StoredTopology& topology : contents.topologies) {
      topologies_[topology.data_center] = topology;
    }
    history_ = contents.history;
    revision_ = contents.last_revision;
    return absl::OkStatus();
  }

 private:
  template <typename Value>
  static std::vector<Value> Values(const std::map<std::string, Value>& map) {
    std::vector<Value> values;
    for (const auto& [name, value] : map) values.push_back(value);
    return values;
  }

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
    return {Values(migrations_), Values(topologies_), history_, revision_};
  }

  // The migration that a change is about.
  absl::StatusOr<Migration> Find(const std::string& data_center,
                                 std::optional<std::int64_t> expected_revision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!status_.ok()) return status_;
    if (!write_status_.ok()) return write_status_;
    const auto it = migrations_.find(data_center);
    if (it == migrations_.end()) return absl::NotFoundError("no migration of " + data_center);
    if (expected_revision && *expected_revision != it->second.revision) {
      return absl::AbortedError("stale revision");
    }
    return it->second;
  }

  bool IsPristine(const Migration& migration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(history_.begin(), history_.end(), [&](const MigrationChange& change) {
      return change.revision == migration.revision && change.kind == ChangeKind::kCreated &&
             change.detail.empty();
    });
  }

  const MigrationChange& Append(MigrationChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    change.revision = ++revision_;
    history_.push_back(std::move(change));
    return history_.back();
  }

  Migration Write(Migration migration, MigrationChange change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    change.to = migration.share;
    const MigrationChange& appended = Append(std::move(change));
    migration.data_center = appended.data_center;
    migration.revision = appended.revision;
    migration.update_time = appended.time;
    migration.actor = appended.actor;
    migration.reason = appended.reason;
    migrations_[migration.data_center] = migration;
    return migration;
  }

  void Erase(MigrationChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    migrations_.erase(change.data_center);
    topologies_.erase(change.data_center);
    Append(std::move(change));
  }

  absl::Mutex mutex_;
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  absl::Status write_status_ ABSL_GUARDED_BY(mutex_);
  std::int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Migration> migrations_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, StoredTopology> topologies_ ABSL_GUARDED_BY(mutex_);
  std::vector<MigrationChange> history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_
