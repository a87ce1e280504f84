#include "migration/internal/store_change.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/internal/quote.h"
#include "migration/internal/sqlite_rows.h"
#include "migration/internal/store_contents.h"

namespace ringshift::internal {
namespace {

// The change that a request is about, without its revision and shares.
template <typename Request>
MigrationChange ChangeFor(const Request& request, WallTime time, std::string data_center,
                          ChangeKind kind, std::string detail = "") {
  MigrationChange change;
  change.time = time;
  change.data_center = std::move(data_center);
  change.kind = kind;
  change.actor = request.actor;
  change.reason = request.reason;
  change.detail = std::move(detail);
  return change;
}

// The migration that a change is about. NOT_FOUND, ABORTED: as of MigrationStore::Update.
absl::StatusOr<Migration> Find(SqliteDatabase& database, const std::string& store,
                               std::string_view data_center,
                               std::optional<std::int64_t> base_revision) {
  absl::StatusOr<std::optional<Migration>> present = ReadMigration(database, data_center);
  if (!present.ok()) return present.status();
  if (!present->has_value()) {
    return absl::NotFoundError(
        absl::StrCat("store ", store, " has no migration of ", Quote(data_center)));
  }
  if (absl::Status status = CheckRevision(**present, base_revision); !status.ok()) return status;
  return **std::move(present);
}

// True if nothing was done to the migration since it was made for a data center that had none.
absl::StatusOr<bool> IsPristine(SqliteDatabase& database, const Migration& migration) {
  const absl::StatusOr<std::optional<MigrationChange>> last =
      ReadChange(database, migration.revision, migration.data_center);
  if (!last.ok()) return last.status();
  // A migration that was made from another one says so.
  return last->has_value() && (*last)->kind == ChangeKind::kCreated && (*last)->detail.empty();
}

// Gives all of the change the next revision, and the migrations what the rows of the history have,
// the first of which are theirs, in the same order.
absl::Status Complete(SqliteDatabase& database, StoreChange& change) {
  const absl::StatusOr<std::int64_t> revision = NextRevision(database);
  if (!revision.ok()) return revision.status();
  change.revision = *revision;
  for (MigrationChange& row : change.history) row.revision = *revision;
  for (std::size_t i = 0; i < change.migrations.size(); ++i) {
    change.migrations[i].revision = *revision;
    change.migrations[i].update_time = change.history[i].time;
    change.migrations[i].actor = change.history[i].actor;
    change.migrations[i].reason = change.history[i].reason;
  }
  for (StoredTopology& topology : change.topologies) topology.revision = *revision;
  if (change.default_share.has_value()) change.default_share->revision = *revision;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoreChange> PlanCreation(SqliteDatabase& database, const NewMigration& wanted,
                                         const WallClock& clock) {
  StoreChange change;
  Migration& migration = change.migrations.emplace_back();
  migration.data_center = wanted.data_center;
  migration.share = wanted.share;
  migration.salt = wanted.salt;
  migration.decision_algorithm = kDecisionAlgorithm;
  migration.share_time = clock();
  MigrationChange& row = change.history.emplace_back(
      ChangeFor(wanted, migration.share_time, wanted.data_center, ChangeKind::kCreated));
  row.to = wanted.share;
  if (absl::Status status = Complete(database, change); !status.ok()) return status;
  return change;
}

absl::StatusOr<StoreChange> PlanUpdate(SqliteDatabase& database, const std::string& store,
                                       const MigrationUpdate& update, const WallClock& clock) {
  const WallTime now = clock();
  StoreChange change;
  for (const Migration& wanted : update.migrations) {
    absl::StatusOr<Migration> migration =
        Find(database, store, wanted.data_center, wanted.revision);
    if (!migration.ok()) return migration.status();
    MigrationChange& row = change.history.emplace_back(
        ChangeFor(update, now, wanted.data_center, update.kind, update.detail));
    row.from = migration->share;
    row.to = wanted.share;
    migration->share = wanted.share;
    migration->share_time = wanted.share_time;
    migration->is_frozen = wanted.is_frozen;
    migration->retired = wanted.retired;
    migration->answers = wanted.answers;
    change.migrations.push_back(*std::move(migration));
  }
  if (absl::Status status = Complete(database, change); !status.ok()) return status;
  return change;
}

absl::StatusOr<StoreChange> PlanDefaultShare(SqliteDatabase& database,
                                             const DefaultShareUpdate& update,
                                             const WallClock& clock) {
  const absl::StatusOr<DefaultShare> present = ReadDefaultShare(database);
  if (!present.ok()) return present.status();
  if (absl::Status status = CheckRevision(*present, update.base_revision); !status.ok()) {
    return status;
  }
  StoreChange change;
  MigrationChange& row =
      change.history.emplace_back(ChangeFor(update, clock(), "", ChangeKind::kDefaultShare));
  row.from = present->share;
  row.to = update.share;
  change.default_share = DefaultShare{update.share, 0};
  if (absl::Status status = Complete(database, change); !status.ok()) return status;
  return change;
}

absl::StatusOr<PlannedForget> PlanForget(SqliteDatabase& database, const std::string& store,
                                         const ForgetRequest& request, const WallClock& clock) {
  absl::StatusOr<Migration> before =
      Find(database, store, request.data_center, request.base_revision);
  if (!before.ok()) return before.status();
  StoreChange change;
  change.erased.push_back(request.data_center);
  MigrationChange& row = change.history.emplace_back(
      ChangeFor(request, clock(), request.data_center, ChangeKind::kForgotten));
  row.from = before->share;
  if (absl::Status status = Complete(database, change); !status.ok()) return status;
  return PlannedForget{std::move(change), *std::move(before)};
}

absl::StatusOr<StoreChange> PlanRename(SqliteDatabase& database, const std::string& store,
                                       const RenameRequest& request, const WallClock& clock) {
  absl::StatusOr<Migration> migration = Find(database, store, request.from, std::nullopt);
  if (!migration.ok()) return migration.status();
  const absl::StatusOr<std::optional<Migration>> present = ReadMigration(database, request.to);
  if (!present.ok()) return present.status();
  if (present->has_value()) {
    const absl::StatusOr<bool> pristine = IsPristine(database, **present);
    if (!pristine.ok()) return pristine.status();
    if (!*pristine) {
      return absl::AlreadyExistsError(
          absl::StrCat("the migration of ", Quote(request.to), " was changed by ",
                       Quote((*present)->actor), " (revision ", (*present)->revision,
                       ") and is not overwritten; set its share instead, or forget it first"));
    }
  }

  const WallTime now = clock();
  StoreChange change;
  MigrationChange to = ChangeFor(
      request, now, request.to, present->has_value() ? ChangeKind::kShare : ChangeKind::kCreated,
      absl::StrCat(request.keep_from ? "copied from " : "renamed from ", request.from));
  if (present->has_value()) to.from = (*present)->share;
  to.to = migration->share;
  change.history.push_back(std::move(to));
  if (!request.keep_from) {
    MigrationChange from = ChangeFor(request, now, request.from, ChangeKind::kRenamed,
                                     absl::StrCat("to ", request.to));
    from.from = migration->share;
    change.history.push_back(std::move(from));
    change.erased.push_back(request.from);
  }
  migration->data_center = request.to;
  change.migrations.push_back(*std::move(migration));
  if (absl::Status status = Complete(database, change); !status.ok()) return status;
  return change;
}

absl::StatusOr<std::optional<StoreChange>> PlanTopology(SqliteDatabase& database,
                                                        const TopologyUpdate& update,
                                                        const WallClock& clock) {
  const absl::StatusOr<std::optional<std::string>> present =
      ReadTopologyText(database, update.data_center);
  if (!present.ok()) return present.status();
  if (*present == update.text) return std::optional<StoreChange>();

  StoreChange change;
  const MigrationChange& row = change.history.emplace_back(
      ChangeFor(update, clock(), update.data_center, ChangeKind::kTopology, update.detail));
  if (update.text.has_value()) {
    change.topologies.push_back({update.data_center, *update.text, update.node_changes, 0, row.time,
                                 update.actor, update.reason});
  } else {
    change.dropped_topologies.push_back(update.data_center);
  }
  if (absl::Status status = Complete(database, change); !status.ok()) return status;
  return std::optional<StoreChange>(std::move(change));
}

absl::Status ApplyChange(SqliteDatabase& database, const StoreChange& change) {
  absl::Status status;
  for (const std::string& data_center : change.erased) {
    if (status.ok()) status = DeleteMigration(database, data_center);
    if (status.ok()) status = DeleteTopology(database, data_center);
  }
  for (const std::string& data_center : change.dropped_topologies) {
    if (status.ok()) status = DeleteTopology(database, data_center);
  }
  if (status.ok()) status = AppendChanges(database, change.history);
  if (status.ok()) status = WriteMigrations(database, change.migrations);
  for (const StoredTopology& topology : change.topologies) {
    if (status.ok()) status = WriteTopology(database, topology);
  }
  if (status.ok() && change.default_share.has_value()) {
    status = WriteDefaultShare(database, *change.default_share);
  }
  if (status.ok()) status = WriteRevision(database, change.revision);
  return status;
}

}  // namespace ringshift::internal
