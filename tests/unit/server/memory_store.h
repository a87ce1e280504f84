// A MigrationStore in memory that can be told to fail, or to block.
//
// Thread safety: thread-compatible, unlike a real one: the controller serialises its writes. Block,
// Unblock and WaitUntilBlocked may be called meanwhile.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_

#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "migration/decision.h"
#include "migration/store.h"

namespace ringshift::testing {

class MemoryStore final : public MigrationStore {
 public:
  // Every later call fails with `status`, unless it is OK.
  void FailWith(absl::Status status) { status_ = std::move(status); }

  // From Block to Unblock SetShare does not return.
  void Block() { SetBlocked(true); }
  void Unblock() { SetBlocked(false); }
  // Returns when a SetShare waits for Unblock.
  void WaitUntilBlocked() {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&waits_));
  }

  absl::StatusOr<std::vector<Migration>> Load() override {
    if (!status_.ok()) return status_;
    std::vector<Migration> migrations;
    for (const auto& [name, migration] : migrations_) migrations.push_back(migration);
    return migrations;
  }

  absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) override {
    if (!status_.ok()) return status_;
    const auto [it, added] = migrations_.try_emplace(wanted.data_center);
    if (added) {
      it->second = {wanted.data_center, wanted.share, wanted.salt,  std::string(kDecisionAlgorithm),
                    ++revision_,        WallTime(),   wanted.actor, wanted.reason};
    }
    return Ensured{it->second, added};
  }

  absl::StatusOr<Migration> SetShare(const ShareChange& change) override {
    {
      const absl::MutexLock lock(&mutex_);
      waits_ = blocked_;
      mutex_.Await(absl::Condition(
          +[](bool* blocked) { return !*blocked; }, &blocked_));
      waits_ = false;
    }
    if (!status_.ok()) return status_;
    Migration& migration = migrations_.at(change.data_center);
    if (change.expected_revision && *change.expected_revision != migration.revision) {
      return absl::AbortedError("stale revision");
    }
    migration.share = change.share;
    migration.revision = ++revision_;
    migration.actor = change.actor;
    migration.reason = change.reason;
    const Migration stored = migration;
    std::this_thread::yield();  // the store is what a change waits for
    return stored;
  }

  absl::StatusOr<std::vector<MigrationChange>> History(std::string_view, std::size_t) override {
    return absl::UnimplementedError("no history");
  }

 private:
  void SetBlocked(bool blocked) {
    const absl::MutexLock lock(&mutex_);
    blocked_ = blocked;
  }

  absl::Mutex mutex_;
  bool blocked_ = false;  // guarded by mutex_
  bool waits_ = false;    // guarded by mutex_
  absl::Status status_;
  std::int64_t revision_ = 0;
  std::map<std::string, Migration> migrations_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_MEMORY_STORE_H_
