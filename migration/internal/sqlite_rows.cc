#include "migration/internal/sqlite_rows.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/internal/store_contents.h"

namespace ringshift::internal {
namespace {

constexpr char kSelectMigration[] =
    "SELECT data_center, v2_ppm, salt, decision_algorithm, revision, update_time_us, actor, reason "
    "FROM migration ";
constexpr char kSelectTopology[] =
    "SELECT data_center, text, revision, update_time_us, actor, reason FROM topology ";
constexpr char kSelectChange[] =
    "SELECT revision, time_us, data_center, kind, actor, reason, from_ppm, to_ppm, detail "
    "FROM migration_change ";
// What an upgrade makes of them.
constexpr char kSelectChangeOfSchema1[] =
    "SELECT revision, time_us, data_center, CASE WHEN from_ppm IS NULL THEN 1 ELSE 2 END, actor, "
    "reason, from_ppm, to_ppm, '' FROM migration_change ";

std::int64_t ToMicros(WallTime time) { return time.time_since_epoch().count(); }
WallTime FromMicros(std::int64_t micros) { return WallTime(std::chrono::microseconds(micros)); }

std::optional<std::int64_t> ToPpm(std::optional<Share> share) {
  if (!share.has_value()) return std::nullopt;
  return share->ppm();
}

constexpr char kMissingValue[] = " has a value that is missing or of a wrong type";

absl::Status CheckRow(const SqliteDatabase& database, const std::string& what,
                      std::int64_t revision) {
  if (revision >= 1) return absl::OkStatus();
  return database.DataLoss(absl::StrCat(what, " has revision ", revision, ", below 1"));
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
    return database.DataLoss(absl::StrCat(what, kMissingValue));
  }
  if (data_center->empty()) return database.DataLoss("a migration names no data center");
  if (algorithm->empty()) {
    return database.DataLoss(absl::StrCat(what, " has no decision algorithm"));
  }
  if (absl::Status status = CheckRow(database, what, *revision); !status.ok()) return status;
  const absl::StatusOr<Share> share = Share::FromPpm(*ppm);
  if (!share.ok()) {
    return database.DataLoss(absl::StrCat(what, ": ", std::string(share.status().message())));
  }
  return Migration{*data_center, *share, *salt, *algorithm, *revision, FromMicros(*update_time),
                   *actor,       *reason};
}

absl::StatusOr<StoredTopology> DecodeTopology(const SqliteDatabase& database,
                                              const SqliteStatement& row) {
  const std::optional<std::string> data_center = row.Text(0);
  const std::optional<std::string> text = row.Text(1);
  const std::optional<std::int64_t> revision = row.Int64(2);
  const std::optional<std::int64_t> update_time = row.Int64(3);
  const std::optional<std::string> actor = row.Text(4);
  const std::optional<std::string> reason = row.Text(5);
  const std::string what = absl::StrCat("the topology of ", Quote(data_center.value_or("")));
  if (!data_center || !text || !revision || !update_time || !actor || !reason) {
    return database.DataLoss(absl::StrCat(what, kMissingValue));
  }
  if (data_center->empty()) return database.DataLoss("a topology names no data center");
  if (absl::Status status = CheckRow(database, what, *revision); !status.ok()) return status;
  return StoredTopology{*data_center, *text, *revision, FromMicros(*update_time), *actor, *reason};
}

// A share that may be NULL. None if it is of another type or out of range.
std::optional<std::optional<Share>> DecodeShare(const SqliteStatement& row, int column) {
  if (row.IsNull(column)) return std::optional<Share>();
  const std::optional<std::int64_t> ppm = row.Int64(column);
  if (!ppm.has_value()) return std::nullopt;
  const absl::StatusOr<Share> share = Share::FromPpm(*ppm);
  if (!share.ok()) return std::nullopt;
  return std::optional<Share>(*share);
}

absl::StatusOr<MigrationChange> DecodeChange(const SqliteDatabase& database,
                                             const SqliteStatement& row) {
  const std::optional<std::int64_t> revision = row.Int64(0);
  const std::optional<std::int64_t> time = row.Int64(1);
  const std::optional<std::string> data_center = row.Text(2);
  const std::optional<std::int64_t> kind = row.Int64(3);
  const std::optional<std::string> actor = row.Text(4);
  const std::optional<std::string> reason = row.Text(5);
  const std::optional<std::optional<Share>> from = DecodeShare(row, 6);
  const std::optional<std::optional<Share>> to = DecodeShare(row, 7);
  const std::optional<std::string> detail = row.Text(8);
  if (!revision || !time || !data_center || !kind || !actor || !reason || !detail) {
    return database.DataLoss(absl::StrCat("its history", kMissingValue));
  }
  if (*revision < 1 || data_center->empty() || *kind < 1 || *kind > 5 || !from || !to ||
      !SharesFit(static_cast<ChangeKind>(*kind), from->has_value(), to->has_value())) {
    return database.DataLoss(
        absl::StrCat("its history has a value out of range at revision ", *revision));
  }
  return MigrationChange{*revision, FromMicros(*time), *data_center, static_cast<ChangeKind>(*kind),
                         *actor,    *reason,           *from,        *to,
                         *detail};
}

// All rows of a statement, each through `decode`.
template <typename Row>
absl::StatusOr<std::vector<Row>> ReadAll(const SqliteDatabase& database, SqliteStatement& statement,
                                         absl::StatusOr<Row> (*decode)(const SqliteDatabase&,
                                                                       const SqliteStatement&)) {
  std::vector<Row> rows;
  for (;;) {
    const absl::StatusOr<bool> more = statement.Step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    absl::StatusOr<Row> row = decode(database, statement);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
}

template <typename Row>
absl::StatusOr<std::vector<Row>> ReadAll(SqliteDatabase& database, std::string_view sql,
                                         absl::StatusOr<Row> (*decode)(const SqliteDatabase&,
                                                                       const SqliteStatement&)) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();
  return ReadAll(database, *statement, decode);
}

template <typename Row>
absl::StatusOr<std::optional<Row>> First(absl::StatusOr<std::vector<Row>> rows) {
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<Row>();
  return std::optional<Row>(std::move(rows->front()));
}

// The row of a data center, if there is one.
template <typename Row>
absl::StatusOr<std::optional<Row>> ReadOne(SqliteDatabase& database, const char* select,
                                           std::string_view data_center,
                                           absl::StatusOr<Row> (*decode)(const SqliteDatabase&,
                                                                         const SqliteStatement&)) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare(absl::StrCat(select, "WHERE data_center = ?1"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, data_center);
  return First(ReadAll(database, *statement, decode));
}

absl::Status Delete(SqliteDatabase& database, std::string_view sql, std::string_view data_center) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();
  statement->Bind(1, data_center);
  return statement->Step().status();
}

}  // namespace

absl::StatusOr<std::vector<Migration>> ReadMigrations(SqliteDatabase& database) {
  return ReadAll(database, absl::StrCat(kSelectMigration, "ORDER BY data_center"), DecodeMigration);
}

absl::StatusOr<std::optional<Migration>> ReadMigration(SqliteDatabase& database,
                                                       std::string_view data_center) {
  return ReadOne(database, kSelectMigration, data_center, DecodeMigration);
}

absl::Status WriteMigration(SqliteDatabase& database, const Migration& migration) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(
      "INSERT INTO migration VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (data_center) DO UPDATE SET v2_ppm = ?2, salt = ?3, decision_algorithm = ?4, "
      "revision = ?5, update_time_us = ?6, actor = ?7, reason = ?8");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, migration.data_center);
  statement->Bind(2, std::int64_t{migration.share.ppm()});
  statement->Bind(3, migration.salt);
  statement->Bind(4, migration.decision_algorithm);
  statement->Bind(5, migration.revision);
  statement->Bind(6, ToMicros(migration.update_time));
  statement->Bind(7, migration.actor);
  statement->Bind(8, migration.reason);
  return statement->Step().status();
}

absl::Status DeleteMigration(SqliteDatabase& database, std::string_view data_center) {
  return Delete(database, "DELETE FROM migration WHERE data_center = ?1", data_center);
}

absl::StatusOr<std::vector<StoredTopology>> ReadTopologies(SqliteDatabase& database) {
  return ReadAll(database, absl::StrCat(kSelectTopology, "ORDER BY data_center"), DecodeTopology);
}

absl::StatusOr<std::optional<StoredTopology>> ReadTopology(SqliteDatabase& database,
                                                           std::string_view data_center) {
  return ReadOne(database, kSelectTopology, data_center, DecodeTopology);
}

absl::Status WriteTopology(SqliteDatabase& database, const StoredTopology& topology) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(
      "INSERT INTO topology VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
      "ON CONFLICT (data_center) DO UPDATE SET text = ?2, revision = ?3, update_time_us = ?4, "
      "actor = ?5, reason = ?6");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, topology.data_center);
  statement->Bind(2, topology.text);
  statement->Bind(3, topology.revision);
  statement->Bind(4, ToMicros(topology.update_time));
  statement->Bind(5, topology.actor);
  statement->Bind(6, topology.reason);
  return statement->Step().status();
}

absl::Status DeleteTopology(SqliteDatabase& database, std::string_view data_center) {
  return Delete(database, "DELETE FROM topology WHERE data_center = ?1", data_center);
}

absl::StatusOr<std::vector<MigrationChange>> ReadHistory(SqliteDatabase& database,
                                                         const HistoryQuery& query) {
  std::string sql = absl::StrCat(kSelectChange, "WHERE revision <= ?2 ");
  if (!query.data_center.empty()) sql += "AND data_center = ?1 ";
  sql += "ORDER BY revision DESC LIMIT ?3";
  absl::StatusOr<SqliteStatement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();

  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::int64_t newest = kMax;
  if (query.before_revision.has_value()) {
    if (*query.before_revision <= 1) return std::vector<MigrationChange>();
    newest = *query.before_revision - 1;
  }
  if (!query.data_center.empty()) statement->Bind(1, query.data_center);
  statement->Bind(2, newest);
  statement->Bind(3, static_cast<std::int64_t>(std::min(query.limit, std::size_t{kMax})));
  return ReadAll(database, *statement, DecodeChange);
}

absl::StatusOr<std::optional<MigrationChange>> ReadChange(SqliteDatabase& database,
                                                          std::int64_t revision) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare(absl::StrCat(kSelectChange, "WHERE revision = ?1"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, revision);
  return First(ReadAll(database, *statement, DecodeChange));
}

absl::Status AppendChange(SqliteDatabase& database, const MigrationChange& change) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare("INSERT INTO migration_change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, change.revision);
  statement->Bind(2, ToMicros(change.time));
  statement->Bind(3, change.data_center);
  statement->Bind(4, std::int64_t{static_cast<std::uint8_t>(change.kind)});
  statement->Bind(5, change.actor);
  statement->Bind(6, change.reason);
  statement->Bind(7, ToPpm(change.from));
  statement->Bind(8, ToPpm(change.to));
  statement->Bind(9, change.detail);
  return statement->Step().status();
}

absl::StatusOr<std::int64_t> NextRevision(SqliteDatabase& database) {
  const absl::StatusOr<SqliteStatement> row = database.QueryRow(
      "UPDATE revision_counter SET last_revision = last_revision + 1 RETURNING last_revision");
  if (!row.ok()) return row.status();
  return row->Int64(0).value_or(0);
}

absl::StatusOr<StoreContents> ReadContents(SqliteDatabase& database, std::int64_t schema_version) {
  StoreContents contents;
  absl::StatusOr<std::vector<Migration>> migrations = ReadMigrations(database);
  if (!migrations.ok()) return migrations.status();
  contents.migrations = *std::move(migrations);

  if (schema_version >= 2) {
    absl::StatusOr<std::vector<StoredTopology>> topologies = ReadTopologies(database);
    if (!topologies.ok()) return topologies.status();
    contents.topologies = *std::move(topologies);
  }

  absl::StatusOr<std::vector<MigrationChange>> history =
      ReadAll(database,
              absl::StrCat(schema_version >= 2 ? kSelectChange : kSelectChangeOfSchema1,
                           "ORDER BY revision"),
              DecodeChange);
  if (!history.ok()) return history.status();
  contents.history = *std::move(history);

  const absl::StatusOr<SqliteStatement> row =
      database.QueryRow("SELECT last_revision FROM revision_counter");
  if (!row.ok()) return row.status();
  const std::optional<std::int64_t> last_revision = row->Int64(0);
  if (!last_revision.has_value() || *last_revision < 0) {
    return database.DataLoss("its revision counter is out of range");
  }
  contents.last_revision = *last_revision;
  return contents;
}

absl::Status WriteContents(SqliteDatabase& database, const StoreContents& contents) {
  for (const Migration& migration : contents.migrations) {
    if (absl::Status status = WriteMigration(database, migration); !status.ok()) return status;
  }
  for (const StoredTopology& topology : contents.topologies) {
    if (absl::Status status = WriteTopology(database, topology); !status.ok()) return status;
  }
  for (const MigrationChange& change : contents.history) {
    if (absl::Status status = AppendChange(database, change); !status.ok()) return status;
  }
  absl::StatusOr<SqliteStatement> counter =
      database.Prepare("UPDATE revision_counter SET last_revision = ?1");
  if (!counter.ok()) return counter.status();
  counter->Bind(1, contents.last_revision);
  return counter->Step().status();
}

}  // namespace ringshift::internal
