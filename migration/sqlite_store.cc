#include "migration/sqlite_store.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/internal/locked_file.h"
#include "migration/internal/quote.h"
#include "migration/internal/sqlite.h"

namespace ringshift {
namespace {

using internal::DamagedError;
using internal::FileSize;
using internal::LockedFile;
using internal::Quote;
using internal::QuotePath;
using internal::SqliteDatabase;
using internal::SqliteStatement;
using internal::SqliteTransaction;

// "RSFT", in the file's header: whose database it is.
constexpr std::int64_t kApplicationId = 0x52534654;

// Times are in microseconds since 1970 (UTC), shares in parts per million. A change goes into both
// tables in one transaction. `revision_counter` has one row, and never goes back.
constexpr char kSchema[] = R"sql(
CREATE TABLE migration (
  data_center        TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  v2_ppm             INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  salt               TEXT    NOT NULL,
  decision_algorithm TEXT    NOT NULL CHECK (decision_algorithm <> ''),
  revision           INTEGER NOT NULL UNIQUE CHECK (revision >= 1),
  update_time_us     INTEGER NOT NULL,
  actor              TEXT    NOT NULL,
  reason             TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE migration_change (
  revision    INTEGER NOT NULL PRIMARY KEY CHECK (revision >= 1),
  time_us     INTEGER NOT NULL,
  data_center TEXT    NOT NULL CHECK (data_center <> ''),
  actor       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  from_ppm    INTEGER CHECK (from_ppm BETWEEN 0 AND 1000000),
  to_ppm      INTEGER NOT NULL CHECK (to_ppm BETWEEN 0 AND 1000000)
) STRICT;
CREATE INDEX migration_change_of ON migration_change (data_center, revision);

CREATE TABLE revision_counter (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  last_revision INTEGER NOT NULL CHECK (last_revision >= 0)
) STRICT;
INSERT INTO revision_counter VALUES (1, 0);
)sql";

constexpr char kSelectMigration[] =
    "SELECT data_center, v2_ppm, salt, decision_algorithm, revision, update_time_us, actor, reason "
    "FROM migration ";

std::int64_t ToMicros(WallTime time) { return time.time_since_epoch().count(); }
WallTime FromMicros(std::int64_t micros) { return WallTime(std::chrono::microseconds(micros)); }

absl::Status WrongSchemaVersion(const std::string& path, std::int64_t version) {
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", QuotePath(path), " has schema version ", version, ", this program knows up to ",
      SqliteStore::kSchemaVersion, "; run the newer program, or restore a backup of before it"));
}

absl::Status NotOurs(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("store ", QuotePath(path), " is not Ringshift's: ", what,
                   "; give the path of a Ringshift store, or of a file that does not exist yet"));
}

std::uint32_t BigEndian32(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// Judges a file by its header, without SQLite, which would replay the log of a database that is not
// ours.
absl::Status CheckHeader(const LockedFile& file, const std::string& path) {
  // Of https://www.sqlite.org/fileformat.html#the_database_header.
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kHeaderBytes = 100;
  constexpr std::size_t kUserVersionOffset = 60;
  constexpr std::size_t kApplicationIdOffset = 68;

  std::array<unsigned char, kHeaderBytes> header;
  const ssize_t got = pread(file.fd(), header.data(), header.size(), 0);
  if (got < 0) {
    return absl::UnavailableError(absl::StrCat(
        "store ", QuotePath(path), ": cannot read: ", std::generic_category().message(errno)));
  }
  const auto size = static_cast<std::size_t>(got);
  if (size == 0) {
    // SQLite would take the log for a stale one and delete it.
    if (FileSize(file.real_path() + "-wal") > 0) {
      return DamagedError(path, "the file is empty or missing, but its log (-wal) is there");
    }
    if (file.created()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "store ", QuotePath(path),
        " is an empty file, and what was in it is lost; restore a backup, or, if there "
        "never was anything in it, delete it to begin with a new store"));
  }
  if (std::memcmp(header.data(), kMagic.data(), std::min(size, kMagic.size())) != 0) {
    return NotOurs(path, "it is no SQLite database");
  }
  if (size < kHeaderBytes) {
    return DamagedError(path, absl::StrCat("the file is cut off after ", size, " bytes"));
  }
  const std::uint32_t application_id = BigEndian32(&header[kApplicationIdOffset]);
  if (application_id != kApplicationId) {
    return NotOurs(path, absl::StrCat("its SQLite application id is ", application_id));
  }
  const std::uint32_t version = BigEndian32(&header[kUserVersionOffset]);
  if (version > SqliteStore::kSchemaVersion) return WrongSchemaVersion(path, version);
  return absl::OkStatus();
}

// In one transaction and before there is a log, so that the file's own header says whose it is from
// the first moment at which there is something in it.
absl::Status CreateSchema(SqliteDatabase& database) {
  SqliteTransaction transaction(database);
  if (absl::Status status = transaction.Begin(); !status.ok()) return status;
  if (absl::Status status = database.Execute(
          absl::StrCat("PRAGMA application_id = ", kApplicationId,
                       "; PRAGMA user_version = ", SqliteStore::kSchemaVersion, ";", kSchema));
      !status.ok()) {
    return status;
  }
  return transaction.Commit();
}

// Checks what the header cannot show. Reads only.
absl::Status CheckContent(SqliteDatabase& database, const std::string& path) {
  {
    const absl::StatusOr<SqliteStatement> check = database.QueryRow("PRAGMA quick_check(1)");
    if (!check.ok()) return check.status();
    const std::string verdict = check->Text(0).value_or("no verdict");
    if (verdict != "ok") return database.DataLoss(verdict);
  }
  {
    // The log can hold a later one than the header.
    const absl::StatusOr<SqliteStatement> row = database.QueryRow("PRAGMA user_version");
    if (!row.ok()) return row.status();
    const std::int64_t version = row->Int64(0).value_or(0);
    if (version > SqliteStore::kSchemaVersion) return WrongSchemaVersion(path, version);
    if (version < 1) return database.DataLoss(absl::StrCat("its schema version is ", version));
  }
  const absl::StatusOr<SqliteStatement> row = database.QueryRow(
      "SELECT last_revision, (SELECT coalesce(max(revision), 0) FROM migration_change) "
      "FROM revision_counter");
  if (!row.ok()) return row.status();
  const std::optional<std::int64_t> counter = row->Int64(0);
  const std::optional<std::int64_t> newest = row->Int64(1);
  if (!counter.has_value() || !newest.has_value() || *counter < *newest) {
    return database.DataLoss("its revision counter is behind its history");
  }
  return absl::OkStatus();
}

// Makes commits durable.
absl::Status UseLog(SqliteDatabase& database, const std::string& path) {
  {
    const absl::StatusOr<SqliteStatement> row = database.QueryRow("PRAGMA journal_mode = WAL");
    if (!row.ok()) return row.status();
    const std::string mode = row->Text(0).value_or("unknown");
    if (mode != "wal") {
      return absl::UnavailableError(
          absl::StrCat("store ", QuotePath(path), ": its journal mode remains ", mode,
                       " where wal is needed; put the file on a local file system"));
    }
  }
  // Changes are rare, so each goes on into the file at once: a copy or a restore of the file alone,
  // without its log, then has them all.
  return database.Execute("PRAGMA wal_autocheckpoint = 1");
}

absl::StatusOr<Migration> DecodeMigration(const SqliteDatabase& database,
                                          const SqliteStatement& row) {
  const std::optional<std::string> data_center = row.Text(0);
  const std::optional<std::int64_t> ppm = row.Int64(1);
  const std::optional<std::string> salt = row.Text(2);
  const std::optional<std::string> algorithm = row.Text(3);
  const std::optional<std::int64_t> revision = row.Int64(4);
  const std::optional<std::int64_t> update_time = row.Int64(5);
  const std::optional<std::string> actor = row.Text(6);
  const std::optional<std::string> reason = row.Text(7);
  const std::string what = absl::StrCat("the migration of ", Quote(data_center.value_or("")));
  if (!data_center || !ppm || !salt || !algorithm || !revision || !update_time || !actor ||
      !reason) {
    return database.DataLoss(absl::StrCat(what, " has a value that is missing or of a wrong type"));
  }
  if (data_center->empty()) return database.DataLoss("a migration names no data center");
  if (algorithm->empty()) {
    return database.DataLoss(absl::StrCat(what, " has no decision algorithm"));
  }
  if (*revision < 1) {
    return database.DataLoss(absl::StrCat(what, " has revision ", *revision, ", below 1"));
  }
  const absl::StatusOr<Share> share = Share::FromPpm(*ppm);
  if (!share.ok()) {
    return database.DataLoss(absl::StrCat(what, ": ", std::string(share.status().message())));
  }
  return Migration{*data_center, *share, *salt, *algorithm, *revision, FromMicros(*update_time),
                   *actor,       *reason};
}

absl::StatusOr<MigrationChange> DecodeChange(const SqliteDatabase& database,
                                             const SqliteStatement& row) {
  const std::optional<std::int64_t> revision = row.Int64(0);
  const std::optional<std::int64_t> time = row.Int64(1);
  const std::optional<std::string> data_center = row.Text(2);
  const std::optional<std::string> actor = row.Text(3);
  const std::optional<std::string> reason = row.Text(4);
  const std::optional<std::int64_t> from_ppm = row.Int64(5);
  const std::optional<std::int64_t> to_ppm = row.Int64(6);
  if (!revision || !time || !data_center || !actor || !reason || !to_ppm ||
      (!from_ppm && !row.IsNull(5))) {
    return database.DataLoss("its history has a value that is missing or of a wrong type");
  }
  const absl::StatusOr<Share> from = Share::FromPpm(from_ppm.value_or(0));
  const absl::StatusOr<Share> to = Share::FromPpm(*to_ppm);
  if (*revision < 1 || !from.ok() || !to.ok()) {
    return database.DataLoss(
        absl::StrCat("its history has a value out of range at revision ", *revision));
  }
  return MigrationChange{*revision,    FromMicros(*time),
                         *data_center, *actor,
                         *reason,      from_ppm ? std::optional<Share>(*from) : std::nullopt,
                         *to};
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path,
                                                               WallClock clock) {
  absl::StatusOr<std::unique_ptr<LockedFile>> file = LockedFile::Open(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = CheckHeader(**file, path); !status.ok()) return status;
  const bool created = (*file)->created();

  const bool has_log = FileSize((*file)->real_path() + "-wal") > 0;
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open((*file)->real_path(), path);
  if (!database.ok()) return database.status();
  // Until the file is found good nothing may move from the log into it.
  if (has_log) (*database)->SetCheckpointOnClose(false);

  absl::Status status = (*database)->Execute("PRAGMA synchronous = FULL");
  if (status.ok() && created) status = CreateSchema(**database);
  if (status.ok()) status = CheckContent(**database, path);
  if (status.ok()) status = UseLog(**database, path);
  if (!status.ok()) return status;

  std::unique_ptr<SqliteStore> store(
      new SqliteStore(path, std::move(clock), created, *std::move(file), *std::move(database)));
  if (absl::StatusOr<std::vector<Migration>> all = store->Load(); !all.ok()) return all.status();
  {
    MutexLock lock(store->mutex_);
    store->database_->SetCheckpointOnClose(true);
  }
  store->file_->Keep();
  return store;
}

SqliteStore::SqliteStore(std::string path, WallClock clock, bool created,
                         std::unique_ptr<LockedFile> file, std::unique_ptr<SqliteDatabase> database)
    : path_(std::move(path)),
      clock_(std::move(clock)),
      created_(created),
      file_(std::move(file)),
      database_(std::move(database)) {}

SqliteStore::~SqliteStore() = default;

absl::StatusOr<std::vector<Migration>> SqliteStore::Load() {
  MutexLock lock(mutex_);
  absl::StatusOr<SqliteStatement> statement =
      database_->Prepare(absl::StrCat(kSelectMigration, "ORDER BY data_center"));
  if (!statement.ok()) return statement.status();
  std::vector<Migration> migrations;
  for (;;) {
    const absl::StatusOr<bool> row = statement->Step();
    if (!row.ok()) return row.status();
    if (!*row) return migrations;
    absl::StatusOr<Migration> migration = DecodeMigration(*database_, *statement);
    if (!migration.ok()) return migration.status();
    migrations.push_back(*std::move(migration));
  }
}

absl::StatusOr<MigrationStore::Ensured> SqliteStore::EnsureExists(const NewMigration& wanted) {
  if (wanted.data_center.empty()) {
    return absl::InvalidArgumentError("a migration needs a data center");
  }
  MutexLock lock(mutex_);
  absl::StatusOr<std::optional<Migration>> present = Read(wanted.data_center);
  if (!present.ok()) return present.status();
  if (present->has_value()) return Ensured{**std::move(present), false};

  Migration migration;
  migration.data_center = wanted.data_center;
  migration.share = wanted.share;
  migration.salt = wanted.salt;
  migration.decision_algorithm = kDecisionAlgorithm;
  migration.actor = wanted.actor;
  migration.reason = wanted.reason;
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  if (absl::Status status = Write(migration, std::nullopt); !status.ok()) return status;
  if (absl::Status status = transaction.Commit(); !status.ok()) return status;
  return Ensured{std::move(migration), true};
}

absl::StatusOr<Migration> SqliteStore::SetShare(const ShareChange& change) {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<std::optional<Migration>> present = Read(change.data_center);
  if (!present.ok()) return present.status();
  if (!present->has_value()) {
    return absl::NotFoundError(absl::StrCat("store ", QuotePath(path_), " has no migration of ",
                                            Quote(change.data_center)));
  }
  Migration migration = **std::move(present);
  if (change.expected_revision.has_value() && *change.expected_revision != migration.revision) {
    return absl::AbortedError(
        absl::StrCat("the migration of ", Quote(change.data_center), " is at revision ",
                     migration.revision, ", the change is based on revision ",
                     *change.expected_revision, "; read it again and decide again"));
  }
  const Share from = migration.share;
  migration.share = change.share;
  migration.actor = change.actor;
  migration.reason = change.reason;
  if (absl::Status status = Write(migration, from); !status.ok()) return status;
  if (absl::Status status = transaction.Commit(); !status.ok()) return status;
  return migration;
}

absl::StatusOr<std::vector<MigrationChange>> SqliteStore::History(std::string_view data_center,
                                                                  std::size_t limit) {
  MutexLock lock(mutex_);
  absl::StatusOr<SqliteStatement> statement = database_->Prepare(
      "SELECT revision, time_us, data_center, actor, reason, from_ppm, to_ppm "
      "FROM migration_change WHERE data_center = ?1 ORDER BY revision DESC LIMIT ?2");
  if (!statement.ok()) return statement.status();
  constexpr std::size_t kMaxLimit = std::numeric_limits<std::int64_t>::max();
  statement->Bind(1, data_center);
  statement->Bind(2, static_cast<std::int64_t>(std::min(limit, kMaxLimit)));
  std::vector<MigrationChange> changes;
  for (;;) {
    const absl::StatusOr<bool> row = statement->Step();
    if (!row.ok()) return row.status();
    if (!*row) return changes;
    absl::StatusOr<MigrationChange> change = DecodeChange(*database_, *statement);
    if (!change.ok()) return change.status();
    changes.push_back(*std::move(change));
  }
}

absl::Status SqliteStore::Begin(SqliteTransaction& transaction) {
  // What is written to a file without a name is gone when the router ends.
  if (!file_->IsInPlace()) {
    return absl::UnavailableError(absl::StrCat(
        "store ", QuotePath(path_),
        " was deleted, moved or replaced under the router; put the "
        "file back: a router that starts without it starts every data center at share 0"));
  }
  return transaction.Begin();
}

absl::StatusOr<std::optional<Migration>> SqliteStore::Read(std::string_view data_center) {
  absl::StatusOr<SqliteStatement> statement =
      database_->Prepare(absl::StrCat(kSelectMigration, "WHERE data_center = ?1"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, data_center);
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::nullopt;
  absl::StatusOr<Migration> migration = DecodeMigration(*database_, *statement);
  if (!migration.ok()) return migration.status();
  return *std::move(migration);
}

absl::Status SqliteStore::Write(Migration& migration, std::optional<Share> from) {
  {
    const absl::StatusOr<SqliteStatement> row = database_->QueryRow(
        "UPDATE revision_counter SET last_revision = last_revision + 1 RETURNING last_revision");
    if (!row.ok()) return row.status();
    migration.revision = row->Int64(0).value_or(0);
  }
  migration.update_time = clock_();

  absl::StatusOr<SqliteStatement> change =
      database_->Prepare("INSERT INTO migration_change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  if (!change.ok()) return change.status();
  change->Bind(1, migration.revision);
  change->Bind(2, ToMicros(migration.update_time));
  change->Bind(3, migration.data_center);
  change->Bind(4, migration.actor);
  change->Bind(5, migration.reason);
  change->Bind(6, from ? std::optional<std::int64_t>(from->ppm()) : std::nullopt);
  change->Bind(7, std::int64_t{migration.share.ppm()});
  if (const absl::StatusOr<bool> row = change->Step(); !row.ok()) return row.status();

  absl::StatusOr<SqliteStatement> state = database_->Prepare(
      "INSERT INTO migration VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (data_center) DO UPDATE SET v2_ppm = ?2, revision = ?5, update_time_us = ?6, "
      "actor = ?7, reason = ?8");
  if (!state.ok()) return state.status();
  state->Bind(1, migration.data_center);
  state->Bind(2, std::int64_t{migration.share.ppm()});
  state->Bind(3, migration.salt);
  state->Bind(4, migration.decision_algorithm);
  state->Bind(5, migration.revision);
  state->Bind(6, ToMicros(migration.update_time));
  state->Bind(7, migration.actor);
  state->Bind(8, migration.reason);
  return state->Step().status();
}

}  // namespace ringshift
