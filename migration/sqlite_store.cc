#include "migration/sqlite_store.h"

#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/internal/locked_file.h"
#include "migration/internal/quote.h"
#include "migration/internal/rollout_rules.h"
#include "migration/internal/sqlite.h"
#include "migration/internal/sqlite_reader.h"
#include "migration/internal/sqlite_rows.h"
#include "migration/internal/sqlite_schema.h"
#include "migration/internal/store_contents.h"

namespace ringshift {
namespace {

using internal::LockedFile;
using internal::Quote;
using internal::QuotePath;
using internal::SqliteDatabase;
using internal::SqliteStatement;
using internal::SqliteTransaction;

static_assert(SqliteStore::kSchemaVersion == internal::kStoreSchemaVersion);

// Makes commits durable. The log and its index are there once this is OK.
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
  // SQLite makes them at the first look into the file.
  if (const auto row = database.QueryRow("SELECT last_revision FROM revision_counter"); !row.ok()) {
    return row.status();
  }
  // Changes are rare, so each goes on into the file at once: a copy or a restore of the file alone,
  // without its log, then has them all.
  return database.Execute("PRAGMA wal_autocheckpoint = 1");
}

// Makes the tables of a file that is new, or checks those of another one and brings them to the
// present schema.
absl::Status Prepare(SqliteDatabase& database, const std::string& path, bool created) {
  if (absl::Status status = database.Execute("PRAGMA synchronous = FULL"); !status.ok()) {
    return status;
  }
  if (created) {
    if (absl::Status status = internal::CreateStoreSchema(database); !status.ok()) return status;
  }
  const absl::StatusOr<std::int64_t> version = internal::CheckStoreContent(database, path);
  if (!version.ok()) return version.status();
  // What cannot be read is refused before anything is written.
  if (const auto all = internal::ReadMigrations(database, *version); !all.ok()) {
    return all.status();
  }
  if (const auto all = internal::ReadTopologies(database, *version); !all.ok()) {
    return all.status();
  }
  if (*version >= 3) {
    if (const auto share = internal::ReadDefaultShare(database); !share.ok()) {
      return share.status();
    }
  }
  if (*version >= 4) {
    if (const auto rollouts = internal::ReadRollouts(database); !rollouts.ok()) {
      return rollouts.status();
    }
    if (const auto term = internal::ReadRolloutTerm(database); !term.ok()) return term.status();
  }
  if (absl::Status status = UseLog(database, path); !status.ok()) return status;
  return internal::UpgradeStoreSchema(database, *version);
}

// Whether nothing was ever put into the store.
absl::StatusOr<bool> IsEmpty(SqliteDatabase& database) {
  const absl::StatusOr<SqliteStatement> row =
      database.QueryRow("SELECT last_revision FROM revision_counter");
  if (!row.ok()) return row.status();
  return row->Int64(0).value_or(0) == 0;
}

// Whether an error says that the store did not work, not that a change was refused.
bool IsFailure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDataLoss(status);
}

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

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path,
                                                               IfMissing if_missing,
                                                               WallClock clock) {
  absl::StatusOr<std::unique_ptr<LockedFile>> file =
      LockedFile::Open(path, if_missing == IfMissing::kCreate);
  if (!file.ok()) return file.status();
  const bool created = (*file)->created();
  const bool has_log = internal::FileSize((*file)->real_path() + "-wal") > 0;
  if (!created || has_log) {
    const absl::StatusOr<std::string> head = (*file)->ReadHead(path, internal::kSqliteHeaderBytes);
    if (!head.ok()) return head.status();
    if (absl::Status status = internal::CheckStoreHeader(*head, (*file)->real_path(), path);
        !status.ok()) {
      return status;
    }
    if (!has_log) {
      absl::Status whole = internal::CheckFileSize(*head, (*file)->size(), path);
      if (!whole.ok()) return whole;
    }
  }

  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open((*file)->real_path(), path);
  if (!database.ok()) return database.status();
  // Until the file is found good nothing may move from the log into it.
  if (has_log) (*database)->SetCheckpointOnClose(false);
  if (absl::Status status = Prepare(**database, path, created); !status.ok()) return status;
  (*database)->SetCheckpointOnClose(true);
  (*file)->NoteLog();
  const absl::StatusOr<bool> is_empty = IsEmpty(**database);
  if (!is_empty.ok()) return is_empty.status();
  if (*is_empty && if_missing == IfMissing::kFail) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", QuotePath(path),
                     ": it is empty, as a first start that failed leaves it; restore it from a "
                     "backup, or let the router begin with a new store"));
  }
  (*file)->Keep();
  std::unique_ptr<SqliteStore> store(
      new SqliteStore(path, std::move(clock), *is_empty, *std::move(file), *std::move(database)));
  if (absl::Status whole = store->CheckWhole(); !whole.ok()) return whole;
  return store;
}

absl::Status SqliteStore::CheckWhole() {
  MutexLock lock(mutex_);
  return CheckFile();
}

absl::StatusOr<StoreContents> SqliteStore::ReadContents(const std::string& path) {
  return internal::ReadSqliteStore(path);
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
  return internal::ReadMigrations(*database_);
}

absl::StatusOr<MigrationStore::Ensured> SqliteStore::EnsureExists(const NewMigration& wanted) {
  if (wanted.data_center.empty()) {
    return absl::InvalidArgumentError("a migration needs a data center");
  }
  MutexLock lock(mutex_);
  absl::StatusOr<std::optional<Migration>> present =
      internal::ReadMigration(*database_, wanted.data_center);
  if (!present.ok()) return present.status();
  if (present->has_value()) return Ensured{**std::move(present), false};

  Migration migration;
  migration.data_center = wanted.data_center;
  migration.share = wanted.share;
  migration.salt = wanted.salt;
  migration.decision_algorithm = kDecisionAlgorithm;
  migration.share_time = clock_();
  MigrationChange change =
      ChangeFor(wanted, migration.share_time, wanted.data_center, ChangeKind::kCreated);
  change.to = wanted.share;
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::Status status = Append({&change, 1});
  if (status.ok()) status = Write({&migration, 1}, {&change, 1});
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return Ensured{std::move(migration), true};
}

absl::StatusOr<std::vector<Migration>> SqliteStore::Update(const MigrationUpdate& update) {
  if (absl::Status status = internal::CheckUpdate(update); !status.ok()) return status;
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  const WallTime now = clock_();
  // First, so that an executor that was replaced is told so, whatever else is wrong.
  absl::StatusOr<Rollout> own;
  if (update.rollout.has_value()) {
    own = Decide(*update.rollout, now);
    if (!own.ok()) return own.status();
  }
  std::vector<Migration> migrations;
  std::vector<MigrationChange> changes;
  for (const Migration& wanted : update.migrations) {
    absl::StatusOr<Migration> migration = Find(wanted.data_center, wanted.revision);
    if (!migration.ok()) return migration.status();
    MigrationChange& change = changes.emplace_back(
        ChangeFor(update, now, wanted.data_center, update.kind, update.detail));
    change.from = migration->share;
    change.to = wanted.share;
    migration->share = wanted.share;
    migration->share_time = wanted.share_time;
    migration->is_frozen = wanted.is_frozen;
    migration->retired = wanted.retired;
    migration->answers = wanted.answers;
    migrations.push_back(*std::move(migration));
  }
  const absl::StatusOr<std::vector<Rollout>> unfinished =
      internal::ReadUnfinishedRollouts(*database_);
  if (!unfinished.ok()) return unfinished.status();
  absl::StatusOr<std::vector<Rollout>> rollouts = internal::OtherRollouts(update, *unfinished, now);
  if (!rollouts.ok()) return rollouts.status();
  if (update.rollout.has_value()) {
    rollouts->push_back(*std::move(own));
  }
  absl::Status status = Append(changes);
  if (status.ok()) status = Write(migrations, changes);
  for (Rollout& rollout : *rollouts) rollout.revision = changes.front().revision;
  if (status.ok()) status = internal::WriteRollouts(*database_, *rollouts);
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return migrations;
}

absl::StatusOr<DefaultShare> SqliteStore::LoadDefaultShare() {
  MutexLock lock(mutex_);
  return internal::ReadDefaultShare(*database_);
}

absl::StatusOr<DefaultShare> SqliteStore::SetDefaultShare(const DefaultShareUpdate& update) {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<DefaultShare> share = internal::ReadDefaultShare(*database_);
  if (!share.ok()) return share.status();
  if (absl::Status status = internal::CheckRevision(*share, update.base_revision); !status.ok()) {
    return status;
  }
  MigrationChange change = ChangeFor(update, clock_(), "", ChangeKind::kDefaultShare);
  change.from = share->share;
  change.to = update.share;
  absl::Status status = Append({&change, 1});
  *share = {update.share, change.revision};
  if (status.ok()) status = internal::WriteDefaultShare(*database_, *share);
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return share;
}

absl::StatusOr<Migration> SqliteStore::Forget(const ForgetRequest& request) {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<Migration> migration = Find(request.data_center, request.base_revision);
  if (!migration.ok()) return migration.status();
  if (absl::Status status = CheckNoRolloutHas({request.data_center}); !status.ok()) return status;
  MigrationChange change =
      ChangeFor(request, clock_(), request.data_center, ChangeKind::kForgotten);
  change.from = migration->share;
  absl::Status status = Erase(request.data_center);
  if (status.ok()) status = Append({&change, 1});
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return migration;
}

absl::StatusOr<Migration> SqliteStore::Rename(const RenameRequest& request) {
  if (request.from.empty() || request.to.empty() || request.from == request.to) {
    return absl::InvalidArgumentError(
        absl::StrCat("a migration is renamed from one data center to another, not from ",
                     Quote(request.from), " to ", Quote(request.to)));
  }
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<Migration> migration = Find(request.from, std::nullopt);
  if (!migration.ok()) return migration.status();
  if (absl::Status status = CheckNoRolloutHas({request.from, request.to}); !status.ok()) {
    return status;
  }
  const absl::StatusOr<std::optional<Migration>> present =
      internal::ReadMigration(*database_, request.to);
  if (!present.ok()) return present.status();
  if (present->has_value()) {
    const absl::StatusOr<bool> pristine = IsPristine(**present);
    if (!pristine.ok()) return pristine.status();
    if (!*pristine) {
      return absl::AlreadyExistsError(
          absl::StrCat("the migration of ", Quote(request.to), " was changed by ",
                       Quote((*present)->actor), " (revision ", (*present)->revision,
                       ") and is not overwritten; set its share instead, or forget it first"));
    }
  }

  const WallTime now = clock_();
  std::vector<MigrationChange> changes;
  MigrationChange& to = changes.emplace_back(ChangeFor(
      request, now, request.to, present->has_value() ? ChangeKind::kShare : ChangeKind::kCreated,
      absl::StrCat(request.keep_from ? "copied from " : "renamed from ", request.from)));
  if (present->has_value()) to.from = (*present)->share;
  to.to = migration->share;
  absl::Status status;
  if (!request.keep_from) {
    MigrationChange& from = changes.emplace_back(ChangeFor(
        request, now, request.from, ChangeKind::kRenamed, absl::StrCat("to ", request.to)));
    from.from = migration->share;
    status = Erase(request.from);
  }
  migration->data_center = request.to;
  if (status.ok()) status = Append(changes);
  if (status.ok()) status = Write({&*migration, 1}, {changes.data(), 1});
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return migration;
}

absl::StatusOr<std::vector<MigrationChange>> SqliteStore::History(const HistoryQuery& query) {
  MutexLock lock(mutex_);
  return internal::ReadHistory(*database_, query);
}

absl::StatusOr<std::vector<StoredTopology>> SqliteStore::LoadTopologies() {
  MutexLock lock(mutex_);
  return internal::ReadTopologies(*database_);
}

absl::Status SqliteStore::SaveTopology(const TopologyUpdate& update) {
  if (absl::Status status = internal::CheckTopology(update); !status.ok()) return status;
  MutexLock lock(mutex_);
  const absl::StatusOr<std::optional<std::string>> present =
      internal::ReadTopologyText(*database_, update.data_center);
  if (!present.ok()) return present.status();
  if (*present == update.text) return absl::OkStatus();

  MigrationChange change =
      ChangeFor(update, clock_(), update.data_center, ChangeKind::kTopology, update.detail);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::Status status = Append({&change, 1});
  if (status.ok()) {
    status = update.text.has_value()
                 ? internal::WriteTopology(
                       *database_, {update.data_center, *update.text, update.node_changes,
                                    change.revision, change.time, update.actor, update.reason})
                 : internal::DeleteTopology(*database_, update.data_center);
  }
  return Commit(transaction, std::move(status));
}

absl::StatusOr<std::vector<Rollout>> SqliteStore::LoadRollouts(WhichRollouts which) {
  MutexLock lock(mutex_);
  return which == WhichRollouts::kAll ? internal::ReadRollouts(*database_)
                                      : internal::ReadUnfinishedRollouts(*database_);
}

absl::StatusOr<Rollout> SqliteStore::SaveRollout(const RolloutUpdate& update) {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<Rollout> rollout = Decide(update, clock_());
  if (!rollout.ok()) return rollout.status();
  const absl::StatusOr<std::int64_t> revision = internal::NextRevision(*database_);
  if (!revision.ok()) return Note(revision.status());
  rollout->revision = *revision;
  absl::Status status = internal::WriteRollouts(*database_, {&*rollout, 1});
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return rollout;
}

absl::StatusOr<std::int64_t> SqliteStore::NextRolloutTerm() {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  const absl::StatusOr<std::int64_t> last = internal::ReadRolloutTerm(*database_);
  if (!last.ok()) return last.status();
  absl::Status status = internal::WriteRolloutTerm(*database_, *last + 1);
  if (status = Commit(transaction, std::move(status)); !status.ok()) return status;
  return *last + 1;
}

absl::Status SqliteStore::Check() {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckFile(); !status.ok()) return status;
  if (const int error = file_->WriteError(); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("store ", QuotePath(path_), ": ", std::generic_category().message(error),
                     "; make the file and its folder writable for the router"));
  }
  if (const absl::StatusOr<SqliteStatement> row =
          database_->QueryRow("SELECT last_revision FROM revision_counter");
      !row.ok()) {
    return row.status();
  }
  if (!write_failed_) return absl::OkStatus();
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  // SQLite leaves out a write that changes nothing.
  return Commit(transaction, database_->Execute(
                                 "UPDATE revision_counter SET last_revision = last_revision + 1;"
                                 "UPDATE revision_counter SET last_revision = last_revision - 1"));
}

absl::StatusOr<StoreContents> SqliteStore::Export() {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = transaction.BeginReading(); !status.ok()) return status;
  return internal::ReadContents(*database_, kSchemaVersion);
}

absl::Status SqliteStore::Import(const StoreContents& contents) {
  if (absl::Status status = internal::CheckContents(contents); !status.ok()) return status;
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  const absl::StatusOr<StoreContents> present = internal::ReadContents(*database_, kSchemaVersion);
  if (!present.ok()) return present.status();
  if (*present != StoreContents()) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", QuotePath(path_), " is not empty: its last revision is ",
                     present->last_revision, "; give the path of a file that does not exist yet"));
  }
  return Commit(transaction, internal::WriteContents(*database_, contents));
}

absl::Status SqliteStore::CheckFile() {
  // What is written to a file without a name is gone when the router ends.
  if (!file_->IsInPlace()) {
    return absl::UnavailableError(absl::StrCat(
        "store ", QuotePath(path_),
        " was deleted, moved or replaced under the router; put the "
        "file back: a router that starts without it starts every data center at share 0"));
  }
  if (!file_->IsLogInPlace()) {
    return absl::UnavailableError(absl::StrCat(
        "store ", QuotePath(path_),
        ": its log (-wal, -shm) was deleted, moved or replaced under the router; restart the "
        "router, in order: the file has every change that was acknowledged"));
  }
  const absl::StatusOr<std::string> head = file_->ReadHead(path_, internal::kSqliteHeaderBytes);
  if (!head.ok()) return head.status();
  absl::Status whole = internal::CheckStoreHeader(*head, file_->real_path(), path_);
  if (whole.ok()) whole = CheckSize();
  // Then what the log has must not go into what is left of the file.
  if (!whole.ok() && !absl::IsUnavailable(whole)) {
    database_->SetCheckpointOnClose(false);
    return absl::DataLossError(whole.message());
  }
  return whole;
}

absl::Status SqliteStore::CheckSize() {
  std::int64_t expected = 0;
  {
    const absl::StatusOr<SqliteStatement> row = database_->QueryRow(
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
    if (!row.ok()) return row.status();
    expected = row->Int64(0).value_or(0);
  }
  if (file_->size() >= expected) return absl::OkStatus();
  // The rest may still be in the log.
  const absl::StatusOr<SqliteStatement> row = database_->QueryRow("PRAGMA wal_checkpoint(PASSIVE)");
  if (!row.ok()) return row.status();
  const bool all_moved = row->Int64(1) == row->Int64(2);
  const std::int64_t size = file_->size();
  if (size >= expected || !all_moved) return absl::OkStatus();
  return database_->DataLoss(absl::StrCat("it was cut off to ", size, " of ", expected, " bytes"));
}

absl::Status SqliteStore::Begin(SqliteTransaction& transaction) {
  if (absl::Status status = CheckFile(); !status.ok()) return Note(std::move(status));
  return Note(transaction.Begin());
}

absl::Status SqliteStore::Commit(SqliteTransaction& transaction, absl::Status change) {
  if (!change.ok()) return Note(std::move(change));
  absl::Status status = Note(transaction.Commit());
  if (status.ok()) write_failed_ = false;
  return status;
}

absl::Status SqliteStore::Note(absl::Status status) {
  if (IsFailure(status)) write_failed_ = true;
  return status;
}

absl::StatusOr<Migration> SqliteStore::Find(std::string_view data_center,
                                            std::optional<std::int64_t> base_revision) {
  absl::StatusOr<std::optional<Migration>> present =
      internal::ReadMigration(*database_, data_center);
  if (!present.ok()) return present.status();
  if (!present->has_value()) {
    return absl::NotFoundError(
        absl::StrCat("store ", QuotePath(path_), " has no migration of ", Quote(data_center)));
  }
  if (absl::Status status = internal::CheckRevision(**present, base_revision); !status.ok()) {
    return status;
  }
  return **std::move(present);
}

absl::StatusOr<bool> SqliteStore::IsPristine(const Migration& migration) {
  const absl::StatusOr<std::optional<MigrationChange>> last =
      internal::ReadChange(*database_, migration.revision, migration.data_center);
  if (!last.ok()) return last.status();
  // A migration that was made from another one says so.
  return last->has_value() && (*last)->kind == ChangeKind::kCreated && (*last)->detail.empty();
}

absl::Status SqliteStore::Append(std::span<MigrationChange> changes) {
  const absl::StatusOr<std::int64_t> revision = internal::NextRevision(*database_);
  if (!revision.ok()) return revision.status();
  for (MigrationChange& change : changes) change.revision = *revision;
  return internal::AppendChanges(*database_, changes);
}

absl::Status SqliteStore::Write(std::span<Migration> migrations,
                                std::span<const MigrationChange> changes) {
  for (std::size_t i = 0; i < migrations.size(); ++i) {
    migrations[i].revision = changes[i].revision;
    migrations[i].update_time = changes[i].time;
    migrations[i].actor = changes[i].actor;
    migrations[i].reason = changes[i].reason;
  }
  return internal::WriteMigrations(*database_, migrations);
}

absl::StatusOr<Rollout> SqliteStore::Decide(const RolloutUpdate& update, WallTime now) {
  const absl::StatusOr<std::optional<Rollout>> present =
      internal::ReadRollout(*database_, update.rollout.plan.name);
  if (!present.ok()) return present.status();
  const absl::StatusOr<std::int64_t> term = internal::ReadRolloutTerm(*database_);
  if (!term.ok()) return term.status();
  if (present->has_value()) {
    return internal::NextRollout(update, {&**present, {}, {}, *term}, now);
  }
  const absl::StatusOr<std::vector<Rollout>> unfinished =
      internal::ReadUnfinishedRollouts(*database_);
  if (!unfinished.ok()) return unfinished.status();
  const absl::StatusOr<std::vector<Migration>> migrations = internal::ReadMigrations(*database_);
  if (!migrations.ok()) return migrations.status();
  return internal::NextRollout(update, {nullptr, *unfinished, *migrations, *term}, now);
}

absl::Status SqliteStore::CheckNoRolloutHas(std::initializer_list<std::string_view> data_centers) {
  const absl::StatusOr<std::vector<Rollout>> unfinished =
      internal::ReadUnfinishedRollouts(*database_);
  if (!unfinished.ok()) return unfinished.status();
  for (const std::string_view name : data_centers) {
    if (absl::Status status = internal::CheckNotInRollout(name, *unfinished); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::Erase(std::string_view data_center) {
  absl::Status status = internal::DeleteMigration(*database_, data_center);
  return status.ok() ? internal::DeleteTopology(*database_, data_center) : status;
}

}  // namespace ringshift
