#include "migration/internal/sqlite_schema.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "migration/answer_history.h"
#include "migration/internal/locked_file.h"
#include "migration/internal/quote.h"

namespace ringshift::internal {
namespace {

// "RSFT", in the file's header: whose database it is.
constexpr std::int64_t kApplicationId = 0x52534654;

// Times are in microseconds since 1970 (UTC), shares in parts per million, kinds those of
// ChangeKind, retired rings those of RetiredRing, answers as AnswerHistory writes them. A change
// goes into the history and into what it is about in one transaction. `revision_counter` and
// `default_share` have one row each; the counter never goes back.
constexpr char kMigrationTables[] = R"sql(
CREATE TABLE migration (
  data_center        TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  v2_ppm             INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  salt               TEXT    NOT NULL,
  decision_algorithm TEXT    NOT NULL CHECK (decision_algorithm <> ''),
  revision           INTEGER NOT NULL CHECK (revision >= 1),
  update_time_us     INTEGER NOT NULL,
  actor              TEXT    NOT NULL,
  reason             TEXT    NOT NULL,
  share_time_us      INTEGER NOT NULL,
  is_frozen          INTEGER NOT NULL CHECK (is_frozen BETWEEN 0 AND 1),
  retired_ring       INTEGER NOT NULL CHECK (retired_ring BETWEEN 0 AND 2),
  answers            TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE migration_change (
  revision    INTEGER NOT NULL CHECK (revision >= 1),
  data_center TEXT    NOT NULL CHECK ((data_center = '') = (kind = 10)),
  time_us     INTEGER NOT NULL,
  kind        INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 10),
  actor       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  from_ppm    INTEGER CHECK (from_ppm BETWEEN 0 AND 1000000),
  to_ppm      INTEGER CHECK (to_ppm BETWEEN 0 AND 1000000),
  detail      TEXT    NOT NULL,
  PRIMARY KEY (revision, data_center)
) STRICT, WITHOUT ROWID;
CREATE INDEX migration_change_of ON migration_change (data_center, revision);
)sql";

constexpr char kTopologyTable[] = R"sql(
CREATE TABLE topology (
  data_center    TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  text           TEXT    NOT NULL,
  revision       INTEGER NOT NULL UNIQUE CHECK (revision >= 1),
  update_time_us INTEGER NOT NULL,
  actor          TEXT    NOT NULL,
  reason         TEXT    NOT NULL
) STRICT;
)sql";

constexpr char kNodeChangeTable[] = R"sql(
CREATE TABLE node_change (
  data_center TEXT    NOT NULL,
  node        TEXT    NOT NULL,
  time_us     INTEGER NOT NULL,
  before      TEXT    NOT NULL,
  PRIMARY KEY (data_center, node, time_us)
) STRICT, WITHOUT ROWID;
)sql";

constexpr char kCounterTable[] = R"sql(
CREATE TABLE revision_counter (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  last_revision INTEGER NOT NULL CHECK (last_revision >= 0)
) STRICT;
INSERT INTO revision_counter VALUES (1, 0);
)sql";

constexpr char kDefaultShareTable[] = R"sql(
CREATE TABLE default_share (
  only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  v2_ppm   INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  revision INTEGER NOT NULL CHECK (revision >= 0)
) STRICT;
INSERT INTO default_share VALUES (1, 0, 0);
)sql";

// `plan` and `state` as rollout_text.h writes them; a plan never changes, so only the state is
// written again and again. `rollout_term` has one row; the term never goes back.
constexpr char kRolloutTables[] = R"sql(
CREATE TABLE rollout (
  name        TEXT    NOT NULL PRIMARY KEY CHECK (name <> ''),
  is_finished INTEGER NOT NULL CHECK (is_finished BETWEEN 0 AND 1),
  plan        TEXT    NOT NULL,
  state       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE rollout_term (
  only_row  INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  last_term INTEGER NOT NULL CHECK (last_term >= 0)
) STRICT;
INSERT INTO rollout_term VALUES (1, 0);
)sql";

// What brings the tables of a version to the present ones.
std::string UpgradeFrom(std::int64_t version) {
  if (version == 3) return kRolloutTables;
  return absl::StrCat(
      "ALTER TABLE migration RENAME TO old_migration;"
      "ALTER TABLE migration_change RENAME TO old_migration_change;"
      "DROP INDEX IF EXISTS migration_change_of;",
      kMigrationTables, "INSERT INTO migration ", SelectMigration(version),
      " FROM old_migration; INSERT INTO migration_change ", SelectChange(version),
      " FROM old_migration_change; DROP TABLE old_migration; DROP TABLE old_migration_change;",
      version < 2 ? kTopologyTable : "", kNodeChangeTable, kDefaultShareTable, kRolloutTables);
}

std::string SetVersion() {
  return absl::StrCat("PRAGMA user_version = ", kStoreSchemaVersion, ";");
}

absl::Status WrongSchemaVersion(const std::string& path, std::int64_t version) {
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", QuotePath(path), " has schema version ", version, ", this program knows up to ",
      kStoreSchemaVersion, "; run the newer program, or restore a backup of before it"));
}

absl::Status NotOurs(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("store ", QuotePath(path), " is not Ringshift's: ", what,
                   "; give the path of a Ringshift store, or of a file that does not exist yet"));
}

std::uint32_t BigEndian32(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(offset, 4)) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

}  // namespace

std::string SelectMigration(std::int64_t version) {
  std::string columns =
      "SELECT data_center, v2_ppm, salt, decision_algorithm, revision, update_time_us, actor, "
      "reason, ";
  // A change of a migration was one of its share.
  return columns + (version < 3
                        ? absl::StrCat("update_time_us, 0, 0, '", AnswerHistory().ToText(), "'")
                        : "share_time_us, is_frozen, retired_ring, answers");
}

std::string SelectChange(std::int64_t version) {
  // A change had no `kind` and no `detail`, and always a `to_ppm`.
  if (version < 2) {
    return "SELECT revision, data_center, time_us, CASE WHEN from_ppm IS NULL THEN 1 ELSE 2 END, "
           "actor, reason, from_ppm, to_ppm, ''";
  }
  return "SELECT revision, data_center, time_us, kind, actor, reason, from_ppm, to_ppm, detail";
}

absl::Status CheckStoreHeader(std::string_view head, const std::string& real_path,
                              const std::string& path) {
  // Of https://www.sqlite.org/fileformat.html#the_database_header.
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kUserVersionOffset = 60;
  constexpr std::size_t kApplicationIdOffset = 68;

  if (head.empty()) {
    // SQLite would take the log for a stale one and delete it.
    if (FileSize(real_path + "-wal") > 0) {
      return DamagedError(path, "the file is empty or missing, but its log (-wal) is there");
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "store ", QuotePath(path),
        " is an empty file, and what was in it is lost; restore a backup, or, if there "
        "never was anything in it, delete it to begin with a new store"));
  }
  const std::size_t compared = std::min(head.size(), kMagic.size());
  if (head.substr(0, compared) != kMagic.substr(0, compared)) {
    return NotOurs(path, "it is no SQLite database");
  }
  if (head.size() < kSqliteHeaderBytes) {
    return DamagedError(path, absl::StrCat("the file is cut off after ", head.size(), " bytes"));
  }
  const std::uint32_t application_id = BigEndian32(head, kApplicationIdOffset);
  if (application_id != kApplicationId) {
    return NotOurs(path, absl::StrCat("its SQLite application id is ", application_id));
  }
  const std::uint32_t version = BigEndian32(head, kUserVersionOffset);
  if (version > kStoreSchemaVersion) return WrongSchemaVersion(path, version);
  return absl::OkStatus();
}

absl::Status CheckFileSize(std::string_view head, std::int64_t size, const std::string& path) {
  constexpr std::size_t kPageSizeOffset = 16;  // two bytes
  constexpr std::size_t kPageCountOffset = 28;
  const std::int64_t stored_page_size = BigEndian32(head, kPageSizeOffset) >> 16;
  const std::int64_t page_size = stored_page_size == 1 ? 65536 : stored_page_size;
  const std::int64_t expected = page_size * BigEndian32(head, kPageCountOffset);
  if (size >= expected) return absl::OkStatus();
  return DamagedError(path,
                      absl::StrCat("the file was cut off to ", size, " of ", expected, " bytes"));
}

absl::StatusOr<std::int64_t> CheckStoreContent(SqliteDatabase& database, const std::string& path) {
  {
    const absl::StatusOr<SqliteStatement> check = database.QueryRow("PRAGMA quick_check(1)");
    if (!check.ok()) return check.status();
    const std::string verdict = check->Text(0).value_or("no verdict");
    if (verdict != "ok") return database.DataLoss(verdict);
  }
  std::int64_t version = 0;
  {
    // The log can hold a later one than the header.
    const absl::StatusOr<SqliteStatement> row = database.QueryRow("PRAGMA user_version");
    if (!row.ok()) return row.status();
    version = row->Int64(0).value_or(0);
    if (version > kStoreSchemaVersion) return WrongSchemaVersion(path, version);
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
  return version;
}

// Before there is a log, so that the file's own header says whose it is from the first moment at
// which there is something in it.
absl::Status CreateStoreSchema(SqliteDatabase& database) {
  SqliteTransaction transaction(database);
  if (absl::Status status = transaction.Begin(); !status.ok()) return status;
  if (absl::Status status = database.Execute(absl::StrCat(
          "PRAGMA application_id = ", kApplicationId, ";", SetVersion(), kMigrationTables,
          kTopologyTable, kNodeChangeTable, kCounterTable, kDefaultShareTable, kRolloutTables));
      !status.ok()) {
    return status;
  }
  return transaction.Commit();
}

absl::Status UpgradeStoreSchema(SqliteDatabase& database, std::int64_t version) {
  if (version == kStoreSchemaVersion) return absl::OkStatus();
  SqliteTransaction transaction(database);
  absl::Status status = transaction.Begin();
  if (status.ok()) {
    status = database.Execute(absl::StrCat(UpgradeFrom(version), SetVersion()));
  }
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "; it could not be brought from schema version ", version,
                   " to ", kStoreSchemaVersion, " and is as it was"));
}

}  // namespace ringshift::internal
