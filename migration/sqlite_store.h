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

#include <cstddef>
#include <memory>
#include <optional>
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
  static constexpr int kSchemaVersion = 1;

  // Opens the store at `path`, and creates the file (not its folder) if it is not there.
  //
  // NOT_FOUND            the folder does not exist.
  // PERMISSION_DENIED    the file or folder may not be read and written.
  // FAILED_PRECONDITION  another router holds the file; the file is not Ringshift's, or it is
  //                      empty; its schema is newer than this program.
  // DATA_LOSS            the file is damaged.
  // UNAVAILABLE          any other I/O error.
  // Every message names the path and what to do. A file that is refused is not touched.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path,
                                                           WallClock clock = SystemWallTime);
  ~SqliteStore() override;

  // True if Open made the file: there was no state to remember.
  bool created() const { return created_; }

  absl::StatusOr<std::vector<Migration>> Load() override;
  absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) override;
  absl::StatusOr<Migration> SetShare(const ShareChange& change) override;
  absl::StatusOr<std::vector<MigrationChange>> History(std::string_view data_center,
                                                       std::size_t limit) override;

 private:
  SqliteStore(std::string path, WallClock clock, bool created,
              std::unique_ptr<internal::LockedFile> file,
              std::unique_ptr<internal::SqliteDatabase> database);

  // Begins unless the file is no longer in its place.
  absl::Status Begin(internal::SqliteTransaction& transaction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<Migration>> Read(std::string_view data_center)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives `migration` the next revision and the time, and writes it and its row of the history;
  // `from` is its share before. REQUIRES: a transaction.
  absl::Status Write(Migration& migration, std::optional<Share> from)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const WallClock clock_;
  const bool created_;
  // Outlives the database: closing its descriptor drops SQLite's locks.
  const std::unique_ptr<internal::LockedFile> file_;
  Mutex mutex_;
  const std::unique_ptr<internal::SqliteDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_SQLITE_STORE_H_
