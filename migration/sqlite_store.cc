#include "migration/sqlite_store.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/internal/locked_file.h"
#include "migration/internal/quote.h"
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
  if (const auto all = internal::ReadMigrations(database); !all.ok()) return all.status();
  if (*version >= 2) {
    if (const auto all = internal::ReadTopologies(database); !all.ok()) return all.status();
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

// The change that a request is about, without its revision, time and shares.
template <typename Request>
MigrationChange ChangeFor(const Request& request, std::string data_center, ChangeKind kind,
                          std::string detail = "") {
  MigrationChange change;
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
  MigrationChange change = ChangeFor(wanted, wanted.data_center, ChangeKind::kCreated);
  change.time = clock_();
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  if (absl::Status status = Commit(transaction, Write(migration, std::move(change)));
      !status.ok()) {
    return status;
  }
  return Ensured{std::move(migration), true};
}

absl::StatusOr<Migration> SqliteStore::SetShare(const ShareChange& request) {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<Migration> migration = Find(request.data_center, request.expected_revision);
  if (!migration.ok()) return migration.status();
  MigrationChange change = ChangeFor(request, request.data_center, ChangeKind::kShare);
  change.time = clock_();
  change.from = migration->share;
  migration->share = request.share;
  if (absl::Status status = Commit(transaction, Write(*migration, std::move(change)));
      !status.ok()) {
    return status;
  }
  return migration;
}

absl::StatusOr<Migration> SqliteStore::Forget(const ForgetRequest& request) {
  MutexLock lock(mutex_);
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::StatusOr<Migration> migration = Find(request.data_center, request.expected_revision);
  if (!migration.ok()) return migration.status();
  MigrationChange change = ChangeFor(request, request.data_center, ChangeKind::kForgotten);
  change.time = clock_();
  change.from = migration->share;
  if (absl::Status status = Commit(transaction, Erase(std::move(change))); !status.ok()) {
    return status;
  }
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
  absl::Status status;
  if (!request.keep_from) {
    MigrationChange change =
        ChangeFor(request, request.from, ChangeKind::kRenamed, absl::StrCat("to ", request.to));
    change.time = now;
    change.from = migration->share;
    status = Erase(std::move(change));
  }
  if (status.ok()) {
    MigrationChange change = ChangeFor(
        request, request.to, present->has_value() ? ChangeKind::kShare : ChangeKind::kCreated,
        absl::StrCat(request.keep_from ? "copied from " : "renamed from ", request.from));
    change.time = now;
    if (present->has_value()) change.from = (*present)->share;
    migration->data_center = request.to;
    status = Write(*migration, std::move(change));
  }
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
  if (update.data_center.empty()) {
    return absl::InvalidArgumentError("a topology needs a data center");
  }
  MutexLock lock(mutex_);
  const absl::StatusOr<std::optional<StoredTopology>> present =
      internal::ReadTopology(*database_, update.data_center);
  if (!present.ok()) return present.status();
  const bool same = update.text.has_value()
                        ? present->has_value() && (*present)->text == *update.text
                        : !present->has_value();
  if (same) return absl::OkStatus();

  MigrationChange change =
      ChangeFor(update, update.data_center, ChangeKind::kTopology, update.detail);
  change.time = clock_();
  SqliteTransaction transaction(*database_);
  if (absl::Status status = Begin(transaction); !status.ok()) return status;
  absl::Status status = Append(change);
  if (status.ok()) {
    status = update.text.has_value()
                 ? internal::WriteTopology(
                       *database_, {update.data_center, *update.text, change.revision, change.time,
                                    update.actor, update.reason})
                 : internal::DeleteTopology(*database_, update.data_center);
  }
  return Commit(transaction, std::move(status));
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
                                            std::optional<std::int64_t> expected_revision) {
  absl::StatusOr<std::optional<Migration>> present =
      internal::ReadMigration(*database_, data_center);
  if (!present.ok()) return present.status();
  if (!present->has_value()) {
    return absl::NotFoundError(
        absl::StrCat("store ", QuotePath(path_), " has no migration of ", Quote(data_center)));
  }
  if (expected_revision.has_value() && *expected_revision != (*present)->revision) {
    return absl::AbortedError(absl::StrCat("the migration of ", Quote(data_center),
                                           " is at revision ", (*present)->revision,
                                           ", the change is based on revision ", *expected_revision,
                                           "; read it again and decide again"));
  }
  return **std::move(present);
}

absl::StatusOr<bool> SqliteStore::IsPristine(const Migration& migration) {
  const absl::StatusOr<std::optional<MigrationChange>> last =
      internal::ReadChange(*database_, migration.revision);
  if (!last.ok()) return last.status();
  // A migration that was made from another one says so.
  return last->has_value() && (*last)->kind == ChangeKind::kCreated && (*last)->detail.empty();
}

absl::Status SqliteStore::Append(MigrationChange& change) {
  const absl::StatusOr<std::int64_t> revision = internal::NextRevision(*database_);
  if (!revision.ok()) return revision.status();
  change.revision = *revision;
  return internal::AppendChange(*database_, change);
}

absl::Status SqliteStore::Write(Migration& migration, MigrationChange change) {
  change.to = migration.share;
  if (absl::Status status = Append(change); !status.ok()) return status;
  migration.revision = change.revision;
  migration.update_time = change.time;
  migration.actor = change.actor;
  migration.reason = change.reason;
  return internal::WriteMigration(*database_, migration);
}

absl::Status SqliteStore::Erase(MigrationChange change) {
  if (absl::Status status = internal::DeleteMigration(*database_, change.data_center);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = internal::DeleteTopology(*database_, change.data_center);
      !status.ok()) {
    return status;
  }
  return Append(change);
}

}  // namespace ringshift
