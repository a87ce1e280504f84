#include "migration/etcd/etcd_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/etcd/etcd_state.h"
#include "migration/internal/quote.h"
#include "migration/internal/sqlite_rows.h"
#include "migration/internal/sqlite_schema.h"

namespace ringshift {
namespace {

using internal::LockedFile;
using internal::QuotePath;
using internal::SqliteDatabase;
using internal::SqliteStatement;
using internal::SqliteTransaction;
using internal::StoreChange;

// Identifiers and chains are in hexadecimal digits. etcd's
// cluster id is one of 64 bits, kept as a signed number of the same bits.
constexpr char kOriginTable[] = R"sql(
CREATE TABLE etcd_origin (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  cluster_id    INTEGER NOT NULL,
  store_id      TEXT    NOT NULL,
  revision      INTEGER NOT NULL,
  chain         TEXT    NOT NULL,
  etcd_revision INTEGER NOT NULL
) STRICT;
)sql";

absl::Status NotACache(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the cache of etcd, ", QuotePath(path), ", ", what,
                   "; give the path of a file that does not exist yet, or remove this one: a "
                   "router fetches all of it from etcd again"));
}

absl::Status MakeTables(SqliteDatabase& database) {
  if (absl::Status status = internal::CreateStoreSchema(database); !status.ok()) return status;
  return database.Execute(kOriginTable);
}

absl::StatusOr<bool> HasOriginTable(SqliteDatabase& database) {
  const absl::StatusOr<SqliteStatement> row =
      database.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'etcd_origin'");
  if (!row.ok()) return row.status();
  return row->Int64(0) == 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdCache>> EtcdCache::Open(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LockedFile>> file = LockedFile::Open(path, /*create=*/true);
  if (!file.ok()) return file.status();
  const bool created = (*file)->created();
  if (!created) {
    const absl::StatusOr<std::string> head = (*file)->ReadHead(path, internal::kSqliteHeaderBytes);
    if (!head.ok()) return head.status();
    absl::Status status = internal::CheckStoreHeader(*head, (*file)->real_path(), path);
    if (!status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open((*file)->real_path(), path);
  if (!database.ok()) return database.status();
  if (created) {
    if (absl::Status status = MakeTables(**database); !status.ok()) return status;
  }
  const absl::StatusOr<std::int64_t> version = internal::CheckStoreContent(**database, path);
  if (!version.ok()) return version.status();
  if (*version != internal::kStoreSchemaVersion) {
    return NotACache(path, absl::StrCat("has schema version ", *version, ", not ",
                                        internal::kStoreSchemaVersion));
  }
  const absl::StatusOr<bool> has_origin = HasOriginTable(**database);
  if (!has_origin.ok()) return has_origin.status();
  if (!*has_origin) return NotACache(path, "is a store of its own");
  {
    const auto mode = (*database)->QueryRow("PRAGMA journal_mode = WAL");
    if (!mode.ok()) return mode.status();
  }
  if (absl::Status status = (*database)->Execute("PRAGMA synchronous = NORMAL"); !status.ok()) {
    return status;
  }
  std::unique_ptr<EtcdCache> cache(new EtcdCache(*std::move(file), *std::move(database)));
  if (absl::Status status = cache->ReadOrigin(path); !status.ok()) return status;
  cache->file_->Keep();
  return cache;
}

EtcdCache::~EtcdCache() = default;

absl::Status EtcdCache::ReadOrigin(const std::string& path) {
  absl::StatusOr<SqliteStatement> statement = database_->Prepare(
      "SELECT cluster_id, store_id, revision, chain, etcd_revision, "
      "(SELECT last_revision FROM revision_counter) FROM etcd_origin");
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> has_row = statement->Step();
  if (!has_row.ok()) return has_row.status();
  if (!*has_row) return absl::OkStatus();
  const std::optional<std::int64_t> cluster_id = statement->Int64(0);
  const std::optional<std::string> store_id = statement->Text(1);
  const std::optional<std::int64_t> revision = statement->Int64(2);
  const std::optional<std::string> chain = statement->Text(3);
  const std::optional<std::int64_t> etcd_revision = statement->Int64(4);
  if (!cluster_id || !store_id || !revision || !chain || !etcd_revision) {
    return database_->DataLoss("what it is a copy of has a value that is missing");
  }
  if (statement->Int64(5) != *revision) {
    return NotACache(path, "was changed as a store of its own");
  }
  origin_ = EtcdOrigin{static_cast<std::uint64_t>(*cluster_id), FromHex(*store_id), *revision,
                       FromHex(*chain), *etcd_revision};
  return absl::OkStatus();
}

absl::Status EtcdCache::WriteOrigin(const EtcdOrigin& origin) {
  absl::StatusOr<SqliteStatement> statement =
      database_->Prepare("INSERT OR REPLACE INTO etcd_origin VALUES (1, ?1, ?2, ?3, ?4, ?5)");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, static_cast<std::int64_t>(origin.cluster_id));
  statement->Bind(2, ToHex(origin.store_id));
  statement->Bind(3, origin.revision);
  statement->Bind(4, ToHex(origin.chain));
  statement->Bind(5, origin.etcd_revision);
  return statement->Run();
}

absl::Status EtcdCache::Apply(std::span<const StoreChange> changes, const EtcdOrigin& origin) {
  SqliteTransaction transaction(*database_);
  absl::Status status = transaction.Begin();
  for (const StoreChange& change : changes) {
    if (status.ok()) status = internal::ApplyChange(*database_, change);
  }
  if (status.ok()) status = WriteOrigin(origin);
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) origin_ = origin;
  return status;
}

absl::Status EtcdCache::Replace(const StoreContents& contents, std::span<const StoreChange> changes,
                                const EtcdOrigin& origin) {
  SqliteTransaction transaction(*database_);
  absl::Status status = transaction.Begin();
  if (status.ok()) {
    status = database_->Execute(
        "DELETE FROM migration; DELETE FROM migration_change; DELETE FROM topology; "
        "DELETE FROM node_change;");
  }
  if (status.ok()) status = internal::WriteContents(*database_, contents);
  for (const StoreChange& change : changes) {
    if (status.ok()) status = internal::ApplyChange(*database_, change);
  }
  if (status.ok()) status = WriteOrigin(origin);
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) origin_ = origin;
  return status;
}

absl::Status EtcdCache::TrimHistory(std::size_t rows) {
  constexpr std::size_t kMax = std::numeric_limits<std::int64_t>::max();
  absl::StatusOr<SqliteStatement> statement = database_->Prepare(
      "DELETE FROM migration_change WHERE revision <= (SELECT revision FROM migration_change "
      "ORDER BY revision DESC, data_center LIMIT 1 OFFSET ?1)");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, static_cast<std::int64_t>(std::min(rows, kMax)));
  return statement->Run();
}

}  // namespace ringshift
