// What a router last knew of the store in etcd, in a SQLite file on its own disk: reads are served
// from it, and it is there when etcd is not.
//
// The file is laid out as a SqliteStore's, with one more table that says what it is a copy of. It
// is written without waiting for the disk: after a power cut it may be older, never half. One
// router holds it at a time.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_CACHE_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/internal/locked_file.h"
#include "migration/internal/sqlite.h"
#include "migration/internal/store_change.h"
#include "migration/store.h"

namespace ringshift {

// What the contents are a copy of.
struct EtcdOrigin {
  std::uint64_t cluster_id = 0;    // etcd's
  std::string store_id;            // as EtcdHead has it
  std::int64_t revision = 0;       // of the store
  std::string chain;               // of the record of that revision
  std::int64_t etcd_revision = 0;  // that etcd had then

  friend bool operator==(const EtcdOrigin&, const EtcdOrigin&) = default;
};

class EtcdCache {
 public:
  // Opens the cache at `path`, or makes it.
  //
  // FAILED_PRECONDITION  another router holds the file; it is not a cache; it was changed as a
  //                      store of its own; its schema is not this program's.
  // Otherwise the errors of SqliteStore::Open. Messages name the path and what to do.
  static absl::StatusOr<std::unique_ptr<EtcdCache>> Open(const std::string& path);
  ~EtcdCache();

  // None as long as nothing was ever put into it.
  const std::optional<EtcdOrigin>& origin() const { return origin_; }

  // For reading, and for planning changes.
  internal::SqliteDatabase& database() { return *database_; }

  // Makes the changes, which follow on each other and on the contents; then they are those of
  // `origin`. After an error all is as before.
  absl::Status Apply(std::span<const internal::StoreChange> changes, const EtcdOrigin& origin);
  // Takes these contents, with the changes made, in place of what it has.
  absl::Status Replace(const StoreContents& contents,
                       std::span<const internal::StoreChange> changes, const EtcdOrigin& origin);
  // Drops the oldest revisions of the history, so that at most `rows` rows are left.
  absl::Status TrimHistory(std::size_t rows);

 private:
  EtcdCache(std::unique_ptr<internal::LockedFile> file,
            std::unique_ptr<internal::SqliteDatabase> database)
      : file_(std::move(file)), database_(std::move(database)) {}

  absl::Status ReadOrigin(const std::string& path);
  absl::Status WriteOrigin(const EtcdOrigin& origin);

  // Outlives the database: closing its descriptor drops SQLite's locks.
  const std::unique_ptr<internal::LockedFile> file_;
  const std::unique_ptr<internal::SqliteDatabase> database_;
  std::optional<EtcdOrigin> origin_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_CACHE_H_
