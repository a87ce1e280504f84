#include "migration/internal/sqlite_rows.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/internal/rollout_text.h"
#include "migration/internal/store_contents.h"

namespace ringshift::internal {
namespace {

constexpr char kSelectTopology[] =
    "SELECT data_center, text, revision, update_time_us, actor, reason FROM topology "
    "ORDER BY data_center";
constexpr char kSelectNodeChange[] =
    "SELECT data_center, node, time_us, before FROM node_change ORDER BY data_center, node, "
    "time_us";

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
  const std::optional<std::int64_t> share_time = row.Int64(8);
  const std::optional<std::int64_t> frozen = row.Int64(9);
  const std::optional<std::int64_t> retired = row.Int64(10);
  const std::optional<std::string> answers_text = row.Text(11);
  const std::string what = absl::StrCat("the migration of ", Quote(data_center.value_or("")));
  if (!data_center || !ppm || !salt || !algorithm || !revision || !update_time || !actor ||
      !reason || !share_time || !frozen || !retired || !answers_text) {
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
  if (*frozen < 0 || *frozen > 1) {
    return database.DataLoss(absl::StrCat(what, " is frozen to ", *frozen, ", not 0 or 1"));
  }
  if (*retired < 0 || *retired > static_cast<int>(RetiredRing::kV2)) {
    return database.DataLoss(absl::StrCat(what, " has retired ring ", *retired, ", not 0 to 2"));
  }
  absl::StatusOr<AnswerHistory> answers = AnswerHistory::Parse(*answers_text);
  if (!answers.ok()) {
    return database.DataLoss(absl::StrCat(what, ": ", std::string(answers.status().message())));
  }
  return Migration{*data_center,
                   *share,
                   *salt,
                   *algorithm,
                   *revision,
                   FromMicros(*update_time),
                   *actor,
                   *reason,
                   FromMicros(*share_time),
                   *frozen == 1,
                   static_cast<RetiredRing>(*retired),
                   *std::move(answers)};
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
  return StoredTopology{*data_center, *text,  {}, *revision, FromMicros(*update_time),
                        *actor,       *reason};
}

struct NodeChangeRow {
  std::string data_center;
  NodeChange change;
};

absl::StatusOr<NodeChangeRow> DecodeNodeChange(const SqliteDatabase& database,
                                               const SqliteStatement& row) {
  const std::optional<std::string> data_center = row.Text(0);
  const std::optional<std::string> node = row.Text(1);
  const std::optional<std::int64_t> time = row.Int64(2);
  const std::optional<std::string> before = row.Text(3);
  if (!data_center || !node || !time || !before) {
    return database.DataLoss(
        absl::StrCat("a node's change in ", Quote(data_center.value_or("")), kMissingValue));
  }
  return NodeChangeRow{*data_center, {*node, FromMicros(*time), *before}};
}

absl::StatusOr<DefaultShare> DecodeDefaultShare(const SqliteDatabase& database,
                                                const SqliteStatement& row) {
  const std::optional<std::int64_t> ppm = row.Int64(0);
  const std::optional<std::int64_t> revision = row.Int64(1);
  if (!ppm || !revision) {
    return database.DataLoss(absl::StrCat("the default share", kMissingValue));
  }
  const absl::StatusOr<Share> share = Share::FromPpm(*ppm);
  if (!share.ok() || *revision < 0) {
    return database.DataLoss(
        absl::StrCat("the default share, ", *ppm, " at revision ", *revision, ", is out of range"));
  }
  return DefaultShare{*share, *revision};
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
  const std::optional<std::string> data_center = row.Text(1);
  const std::optional<std::int64_t> time = row.Int64(2);
  const std::optional<std::int64_t> kind = row.Int64(3);
  const std::optional<std::string> actor = row.Text(4);
  const std::optional<std::string> reason = row.Text(5);
  const std::optional<std::optional<Share>> from = DecodeShare(row, 6);
  const std::optional<std::optional<Share>> to = DecodeShare(row, 7);
  const std::optional<std::string> detail = row.Text(8);
  if (!revision || !time || !data_center || !kind || !actor || !reason || !detail) {
    return database.DataLoss(absl::StrCat("its history", kMissingValue));
  }
  constexpr auto kLastKind = static_cast<std::int64_t>(ChangeKind::kDefaultShare);
  if (*revision < 1 || *kind < 1 || *kind > kLastKind || !from || !to ||
      !ChangeFits(static_cast<ChangeKind>(*kind), *data_center, from->has_value(),
                  to->has_value())) {
    return database.DataLoss(
        absl::StrCat("its history has a value out of range at revision ", *revision));
  }
  return MigrationChange{*revision, FromMicros(*time), *data_center, static_cast<ChangeKind>(*kind),
                         *actor,    *reason,           *from,        *to,
                         *detail};
}

constexpr char kSelectRollout[] = "SELECT name, is_finished, plan, state FROM rollout ";

absl::StatusOr<Rollout> DecodeRollout(const SqliteDatabase& database, const SqliteStatement& row) {
  const std::optional<std::string> name = row.Text(0);
  const std::optional<std::int64_t> is_finished = row.Int64(1);
  const std::optional<std::string> plan = row.Text(2);
  const std::optional<std::string> state = row.Text(3);
  const std::string what = absl::StrCat("rollout ", Quote(name.value_or("")));
  if (!name || !is_finished || !plan || !state) {
    return database.DataLoss(absl::StrCat(what, kMissingValue));
  }
  absl::StatusOr<Rollout> rollout = ParseRollout(*plan, *state);
  if (!rollout.ok()) {
    return database.DataLoss(absl::StrCat(what, ": ", std::string(rollout.status().message())));
  }
  if (rollout->plan.name != *name || rollout->is_finished() != (*is_finished == 1)) {
    return database.DataLoss(absl::StrCat(what, " is not what its row says"));
  }
  return rollout;
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

absl::Status Delete(SqliteDatabase& database, std::string_view table,
                    std::string_view data_center) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare(absl::StrCat("DELETE FROM ", std::string(table), " WHERE data_center = ?1"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, data_center);
  return statement->Run();
}

absl::Status WriteNodeChanges(SqliteDatabase& database, const StoredTopology& topology) {
  if (absl::Status status = Delete(database, "node_change", topology.data_center); !status.ok()) {
    return status;
  }
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare("INSERT INTO node_change VALUES (?1, ?2, ?3, ?4)");
  if (!statement.ok()) return statement.status();
  for (const NodeChange& change : topology.node_changes) {
    statement->Bind(1, topology.data_center);
    statement->Bind(2, change.node);
    statement->Bind(3, ToMicros(change.time));
    statement->Bind(4, change.before);
    if (absl::Status status = statement->Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Migration>> ReadMigrations(SqliteDatabase& database,
                                                      std::int64_t schema_version) {
  return ReadAll(database,
                 absl::StrCat(SelectMigration(schema_version),
                              " FROM migration "
                              "ORDER BY data_center"),
                 DecodeMigration);
}

absl::StatusOr<std::optional<Migration>> ReadMigration(SqliteDatabase& database,
                                                       std::string_view data_center) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(
      absl::StrCat(SelectMigration(kStoreSchemaVersion), " FROM migration WHERE data_center = ?1"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, data_center);
  return First(ReadAll(database, *statement, DecodeMigration));
}

absl::Status WriteMigrations(SqliteDatabase& database, std::span<const Migration> migrations) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(
      "INSERT INTO migration VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
      "ON CONFLICT (data_center) DO UPDATE SET v2_ppm = ?2, salt = ?3, decision_algorithm = ?4, "
      "revision = ?5, update_time_us = ?6, actor = ?7, reason = ?8, share_time_us = ?9, "
      "is_frozen = ?10, retired_ring = ?11, answers = ?12");
  if (!statement.ok()) return statement.status();
  for (const Migration& migration : migrations) {
    statement->Bind(1, migration.data_center);
    statement->Bind(2, std::int64_t{migration.share.ppm()});
    statement->Bind(3, migration.salt);
    statement->Bind(4, migration.decision_algorithm);
    statement->Bind(5, migration.revision);
    statement->Bind(6, ToMicros(migration.update_time));
    statement->Bind(7, migration.actor);
    statement->Bind(8, migration.reason);
    statement->Bind(9, ToMicros(migration.share_time));
    statement->Bind(10, std::int64_t{migration.is_frozen});
    statement->Bind(11, std::int64_t{static_cast<std::uint8_t>(migration.retired)});
    statement->Bind(12, migration.answers.ToText());
    if (absl::Status status = statement->Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DeleteMigration(SqliteDatabase& database, std::string_view data_center) {
  return Delete(database, "migration", data_center);
}

absl::StatusOr<std::vector<StoredTopology>> ReadTopologies(SqliteDatabase& database,
                                                           std::int64_t schema_version) {
  if (schema_version < 2) return std::vector<StoredTopology>();
  absl::StatusOr<std::vector<StoredTopology>> topologies =
      ReadAll(database, kSelectTopology, DecodeTopology);
  if (!topologies.ok() || schema_version < 3) return topologies;
  absl::StatusOr<std::vector<NodeChangeRow>> changes =
      ReadAll(database, kSelectNodeChange, DecodeNodeChange);
  if (!changes.ok()) return changes.status();
  auto topology = topologies->begin();
  for (NodeChangeRow& row : *changes) {
    while (topology != topologies->end() && topology->data_center < row.data_center) ++topology;
    if (topology == topologies->end() || topology->data_center != row.data_center) {
      return database.DataLoss(absl::StrCat("a node changed in ", Quote(row.data_center),
                                            ", of which there is no topology"));
    }
    topology->node_changes.push_back(std::move(row.change));
  }
  return topologies;
}

absl::StatusOr<std::optional<std::string>> ReadTopologyText(SqliteDatabase& database,
                                                            std::string_view data_center) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare("SELECT text FROM topology WHERE data_center = ?1");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, data_center);
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::optional<std::string>();
  std::optional<std::string> text = statement->Text(0);
  if (text.has_value()) return text;
  return database.DataLoss(absl::StrCat("the topology of ", Quote(data_center), kMissingValue));
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
  if (absl::Status status = statement->Run(); !status.ok()) return status;
  return WriteNodeChanges(database, topology);
}

absl::Status DeleteTopology(SqliteDatabase& database, std::string_view data_center) {
  absl::Status status = Delete(database, "topology", data_center);
  return status.ok() ? Delete(database, "node_change", data_center) : status;
}

absl::StatusOr<DefaultShare> ReadDefaultShare(SqliteDatabase& database) {
  const absl::StatusOr<SqliteStatement> row =
      database.QueryRow("SELECT v2_ppm, revision FROM default_share");
  if (!row.ok()) return row.status();
  return DecodeDefaultShare(database, *row);
}

absl::Status WriteDefaultShare(SqliteDatabase& database, const DefaultShare& share) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare("UPDATE default_share SET v2_ppm = ?1, revision = ?2");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, std::int64_t{share.share.ppm()});
  statement->Bind(2, share.revision);
  return statement->Run();
}

absl::StatusOr<std::vector<Rollout>> ReadRollouts(SqliteDatabase& database) {
  return ReadAll(database, absl::StrCat(kSelectRollout, "ORDER BY name"), DecodeRollout);
}

absl::StatusOr<std::vector<Rollout>> ReadUnfinishedRollouts(SqliteDatabase& database) {
  return ReadAll(database, absl::StrCat(kSelectRollout, "WHERE is_finished = 0 ORDER BY name"),
                 DecodeRollout);
}

absl::StatusOr<std::optional<Rollout>> ReadRollout(SqliteDatabase& database,
                                                   std::string_view name) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare(absl::StrCat(kSelectRollout, "WHERE name = ?1"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, name);
  return First(ReadAll(database, *statement, DecodeRollout));
}

absl::Status WriteRollouts(SqliteDatabase& database, std::span<const Rollout> rollouts) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(
      "INSERT INTO rollout VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (name) DO UPDATE SET is_finished = ?2, state = ?4");
  if (!statement.ok()) return statement.status();
  for (const Rollout& rollout : rollouts) {
    statement->Bind(1, rollout.plan.name);
    statement->Bind(2, std::int64_t{rollout.is_finished()});
    statement->Bind(3, PlanToText(rollout.plan));
    statement->Bind(4, StateToText(rollout));
    if (absl::Status status = statement->Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> ReadRolloutTerm(SqliteDatabase& database) {
  const absl::StatusOr<SqliteStatement> row =
      database.QueryRow("SELECT last_term FROM rollout_term");
  if (!row.ok()) return row.status();
  const std::optional<std::int64_t> term = row->Int64(0);
  if (!term.has_value() || *term < 0) {
    return database.DataLoss("its last executor term is out of range");
  }
  return *term;
}

absl::Status WriteRolloutTerm(SqliteDatabase& database, std::int64_t term) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare("UPDATE rollout_term SET last_term = ?1");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, term);
  return statement->Run();
}

absl::StatusOr<std::vector<MigrationChange>> ReadHistory(SqliteDatabase& database,
                                                         const HistoryQuery& query) {
  std::string sql =
      absl::StrCat(SelectChange(kStoreSchemaVersion), " FROM migration_change WHERE true ");
  if (!query.data_center.empty()) sql += "AND data_center = ?1 ";
  if (query.before.has_value()) {
    sql += "AND revision <= ?2 AND (revision < ?2 OR data_center > ?3) ";
  }
  sql += "ORDER BY revision DESC, data_center LIMIT ?4";
  absl::StatusOr<SqliteStatement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();
  if (!query.data_center.empty()) statement->Bind(1, query.data_center);
  if (query.before.has_value()) {
    statement->Bind(2, query.before->revision);
    statement->Bind(3, query.before->data_center);
  }
  constexpr std::size_t kMax = std::numeric_limits<std::int64_t>::max();
  statement->Bind(4, static_cast<std::int64_t>(std::min(query.limit, kMax)));
  return ReadAll(database, *statement, DecodeChange);
}

absl::StatusOr<std::optional<MigrationChange>> ReadChange(SqliteDatabase& database,
                                                          std::int64_t revision,
                                                          std::string_view data_center) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(
      absl::StrCat(SelectChange(kStoreSchemaVersion),
                   " FROM migration_change WHERE revision = ?1 AND data_center = ?2"));
  if (!statement.ok()) return statement.status();
  statement->Bind(1, revision);
  statement->Bind(2, data_center);
  return First(ReadAll(database, *statement, DecodeChange));
}

absl::Status AppendChanges(SqliteDatabase& database, std::span<const MigrationChange> changes) {
  absl::StatusOr<SqliteStatement> statement =
      database.Prepare("INSERT INTO migration_change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  if (!statement.ok()) return statement.status();
  for (const MigrationChange& change : changes) {
    statement->Bind(1, change.revision);
    statement->Bind(2, change.data_center);
    statement->Bind(3, ToMicros(change.time));
    statement->Bind(4, std::int64_t{static_cast<std::uint8_t>(change.kind)});
    statement->Bind(5, change.actor);
    statement->Bind(6, change.reason);
    statement->Bind(7, ToPpm(change.from));
    statement->Bind(8, ToPpm(change.to));
    statement->Bind(9, change.detail);
    if (absl::Status status = statement->Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> NextRevision(SqliteDatabase& database) {
  const absl::StatusOr<SqliteStatement> row = database.QueryRow(
      "UPDATE revision_counter SET last_revision = last_revision + 1 RETURNING last_revision, "
      "last_revision > (SELECT coalesce(max(revision), 0) FROM migration_change)");
  if (!row.ok()) return row.status();
  const std::optional<std::int64_t> revision = row->Int64(0);
  if (revision.has_value() && row->Int64(1) == 1) return *revision;
  return database.DataLoss("its revision counter is behind its history");
}

absl::StatusOr<StoreContents> ReadContents(SqliteDatabase& database, std::int64_t schema_version) {
  StoreContents contents;
  absl::StatusOr<std::vector<Migration>> migrations = ReadMigrations(database, schema_version);
  if (!migrations.ok()) return migrations.status();
  contents.migrations = *std::move(migrations);

  absl::StatusOr<std::vector<StoredTopology>> topologies = ReadTopologies(database, schema_version);
  if (!topologies.ok()) return topologies.status();
  contents.topologies = *std::move(topologies);

  absl::StatusOr<std::vector<MigrationChange>> history =
      ReadAll(database,
              absl::StrCat(SelectChange(schema_version),
                           " FROM migration_change ORDER BY revision, data_center"),
              DecodeChange);
  if (!history.ok()) return history.status();
  contents.history = *std::move(history);

  if (schema_version >= 3) {
    const absl::StatusOr<DefaultShare> share = ReadDefaultShare(database);
    if (!share.ok()) return share.status();
    contents.default_share = *share;
  }

  if (schema_version >= 4) {
    absl::StatusOr<std::vector<Rollout>> rollouts = ReadRollouts(database);
    if (!rollouts.ok()) return rollouts.status();
    contents.rollouts = *std::move(rollouts);
    const absl::StatusOr<std::int64_t> term = ReadRolloutTerm(database);
    if (!term.ok()) return term.status();
    contents.last_rollout_term = *term;
  }

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
  absl::Status status = WriteMigrations(database, contents.migrations);
  for (auto it = contents.topologies.begin(); status.ok() && it != contents.topologies.end();
       ++it) {
    status = WriteTopology(database, *it);
  }
  if (status.ok()) status = AppendChanges(database, contents.history);
  if (status.ok()) status = WriteDefaultShare(database, contents.default_share);
  if (status.ok()) status = WriteRollouts(database, contents.rollouts);
  if (status.ok()) status = WriteRolloutTerm(database, contents.last_rollout_term);
  if (!status.ok()) return status;
  absl::StatusOr<SqliteStatement> counter =
      database.Prepare("UPDATE revision_counter SET last_revision = ?1");
  if (!counter.ok()) return counter.status();
  counter->Bind(1, contents.last_revision);
  return counter->Run();
}

}  // namespace ringshift::internal
