// A MigrationStore in one SQLite file: for a router on its own.
//
// The file is in WAL mode with synchronous=FULL, so a change that was acknowledged survives a crash
// of the process, of the kernel, and a power cut. It carries Ringshift's application id and a
// schema version. A lock held for the lifetime of the object keeps a second router off the file; a
// process that dies, however it dies, releases it. Reading the file with other tools meanwhile is
// safe.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_MIGRATION_SQLITE_STORE_H_
#define RINGSHIFT_MIGRATION_SQLITE_STORE_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/mutex.h"
#include "migration/store.h"

namespace ringshift {

namespace internal {
class LockedFile;
class SqliteDatabase;
class SqliteTransaction;
}  // namespace internal

class SqliteStore final : public MigrationStore {
 public:
  static constexpr int kSchemaVersion = 4;

  enum class IfMissing {
    kCreate,  // make the file (not its folder)
    kFail,    // NOT_FOUND; FAILED_PRECONDITION if nothing was ever put into it
  };

  // Opens the store at `path`. One of an older schema is brought to the present one, in one step.
  //
  // NOT_FOUND            the folder does not exist, or the file does not and may not be created.
  // PERMISSION_DENIED    the file or folder may not be read and written.
  // FAILED_PRECONDITION  another router holds the file; the file is not Ringshift's, or it is
  //                      empty; its schema is newer than this program.
  // DATA_LOSS            the file is damaged.
  // UNAVAILABLE          any other I/O error.
  // Every message names the path and what to do. A file that is refused is not touched.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path,
                                                           IfMissing if_missing,
                                                           WallClock clock = SystemWallTime);

  // What the store at `path` holds, at one moment, also while a router has it open, which is not
  // held up by that. Nothing is written, but for the index (-shm) of a log that a crash left; an
  // older schema stays. Errors: those of Open with IfMissing::kFail, save that of the lock.
  static absl::StatusOr<StoreContents> ReadContents(const std::string& path);

  ~SqliteStore() override;

  // True if Open made the file, or found that nothing was ever put into it: there was no state to
  // remember.
  bool created() const { return created_; }

  absl::StatusOr<std::vector<Migration>> Load() override;
  absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) override;
  absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate& update) override;
  absl::StatusOr<DefaultShare> LoadDefaultShare() override;
  absl::StatusOr<DefaultShare> SetDefaultShare(const DefaultShareUpdate& update) override;
  absl::StatusOr<Migration> Forget(const ForgetRequest& request) override;
  absl::StatusOr<Migration> Rename(const RenameRequest& request) override;
  absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) override;
  absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() override;
  absl::Status SaveTopology(const TopologyUpdate& update) override;
  absl::StatusOr<std::vector<Rollout>> LoadRollouts(WhichRollouts which) override;
  absl::StatusOr<Rollout> SaveRollout(const RolloutUpdate& update) override;
  absl::StatusOr<std::int64_t> NextRolloutTerm() override;
  absl::Status Check() override;
  absl::StatusOr<StoreContents> Export() override;
  absl::Status Import(const StoreContents& contents) override;

 private:
  SqliteStore(std::string path, WallClock clock, bool created,
              std::unique_ptr<internal::LockedFile> file,
              std::unique_ptr<internal::SqliteDatabase> database);

  // OK if the file and its log are in place and whole, as far as their names and sizes tell.
  absl::Status CheckFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckWhole();
  absl::Status CheckSize() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Begins a change, unless CheckFile fails.
  absl::Status Begin(internal::SqliteTransaction& transaction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Commits if `change` is OK.
  absl::Status Commit(internal::SqliteTransaction& transaction, absl::Status change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Remembers whether the store could be written.
  absl::Status Note(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The migration that a change is about. NOT_FOUND, ABORTED: as of MigrationStore::Update.
  absl::StatusOr<Migration> Find(std::string_view data_center,
                                 std::optional<std::int64_t> base_revision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if nothing was done to the migration since it was made for a data center that had none.
  absl::StatusOr<bool> IsPristine(const Migration& migration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the changes the next revision, and writes them. REQUIRES, as do the others: a
  // transaction.
  absl::Status Append(std::span<MigrationChange> changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the migrations as made by those changes, one of each, in the same order.
  absl::Status Write(std::span<Migration> migrations, std::span<const MigrationChange> changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What becomes of the rollout. Errors: those of SaveRollout.
  absl::StatusOr<Rollout> Decide(const RolloutUpdate& update, WallTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION if an unfinished rollout has one of them.
  absl::Status CheckNoRolloutHas(std::initializer_list<std::string_view> data_centers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes away all that the store has of the data center.
  absl::Status Erase(std::string_view data_center) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const WallClock clock_;
  const bool created_;
  // Outlives the database: closing its descriptor drops SQLite's locks.
  const std::unique_ptr<internal::LockedFile> file_;
  Mutex mutex_;
  const std::unique_ptr<internal::SqliteDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
  bool write_failed_ ABSL_GUARDED_BY(mutex_) = false;  // the last one
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_SQLITE_STORE_H_
