#include "migration/internal/sqlite.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "migration/internal/quote.h"

namespace ringshift::internal {
namespace {

// For another program that has the file's write lock; readers never hold up a write.
constexpr int kBusyTimeoutMs = 2'000;

constexpr char kRestoreAdvice[] = "the file is damaged: keep a copy of it and restore a backup";

// The status for a result code of SQLite: whether the file's content is at fault, and what to do.
absl::Status StatusFor(const std::string& path, int extended_code, const std::string& message) {
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  const char* advice = "see to the file system and try again";
  switch (extended_code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      advice = "another program is writing to it; end that one, or try again";
      break;
    case SQLITE_FULL:
      advice = "free space on its file system and try again";
      break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      advice = "make the file and its folder writable for the router and try again";
      break;
    case SQLITE_NOMEM:
      advice = "free memory and try again";
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_ERROR:  // our statements are constant: they fail on a schema that is not ours
      code = absl::StatusCode::kDataLoss;
      advice = kRestoreAdvice;
      break;
    default:
      break;
  }
  return absl::Status(code, absl::StrCat("store ", QuotePath(path), ": ", message,
                                         " (SQLite error ", extended_code, "); ", advice));
}

// A path as a URI has it.
std::string UriPath(const std::string& path) {
  return absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
}

}  // namespace

absl::Status DamagedError(const std::string& path, const std::string& what) {
  return absl::DataLossError(
      absl::StrCat("store ", QuotePath(path), ": ", what, "; ", kRestoreAdvice));
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenWith(const std::string& name,
                                                                         const std::string& path,
                                                                         int flags) {
  sqlite3* db = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &db,
                                     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (db == nullptr) return StatusFor(path, result, sqlite3_errstr(result));
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(db, path));
  if (result != SQLITE_OK) return database->Error();
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  return database;
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& real_path,
                                                                     const std::string& path) {
  return OpenWith(real_path, path, SQLITE_OPEN_READWRITE);
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenReadOnly(
    const std::string& real_path, const std::string& path, ReadMode mode) {
  const char* const option = mode == ReadMode::kUnchanging ? "?immutable=1" : "";
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      OpenWith(absl::StrCat("file:", UriPath(real_path), option), path,
               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  if (database.ok()) (*database)->SetCheckpointOnClose(false);
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(db_); }

void SqliteDatabase::SetCheckpointOnClose(bool checkpoint) {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, checkpoint ? 0 : 1, nullptr);
}

absl::Status SqliteDatabase::Execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return Error();
  return absl::OkStatus();
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK) {
    return Error();
  }
  return SqliteStatement(*this, statement);
}

absl::StatusOr<SqliteStatement> SqliteDatabase::QueryRow(std::string_view sql) {
  absl::StatusOr<SqliteStatement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return DataLoss("a row that must be there is missing");
  return statement;
}

absl::Status SqliteDatabase::Error() const {
  return StatusFor(path_, sqlite3_extended_errcode(db_), sqlite3_errmsg(db_));
}

absl::Status SqliteDatabase::DataLoss(const std::string& what) const {
  return DamagedError(path_, what);
}

void SqliteStatement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::Bind(int index, std::int64_t value) {
  bind_failed_ |= sqlite3_bind_int64(statement_.get(), index, value) != SQLITE_OK;
}

void SqliteStatement::Bind(int index, std::optional<std::int64_t> value) {
  if (value.has_value()) return Bind(index, *value);
  bind_failed_ |= sqlite3_bind_null(statement_.get(), index) != SQLITE_OK;
}

void SqliteStatement::Bind(int index, std::string_view text) {
  // A null pointer would bind NULL, not the empty text.
  bind_failed_ |= sqlite3_bind_text64(statement_.get(), index, text.empty() ? "" : text.data(),
                                      text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (bind_failed_) return database_->Error();
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return database_->Error();
}

void SqliteStatement::Reset() {
  // It says again what Step said.
  sqlite3_reset(statement_.get());
}

absl::Status SqliteStatement::Run() {
  absl::Status status = Step().status();
  Reset();
  return status;
}

std::optional<std::int64_t> SqliteStatement::Int64(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::string> SqliteStatement::Text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const void* const bytes = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return std::string(static_cast<const char*>(bytes), size);
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

SqliteTransaction::~SqliteTransaction() {
  // After some errors SQLite has rolled back already. A roll-back that fails leaves nothing behind
  // either: what was not committed is not read by anyone.
  if (sqlite3_get_autocommit(database_.db_) == 0) {
    sqlite3_exec(database_.db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

absl::Status SqliteTransaction::Begin() { return database_.Execute("BEGIN IMMEDIATE"); }

absl::Status SqliteTransaction::BeginReading() { return database_.Execute("BEGIN"); }

absl::Status SqliteTransaction::Commit() { return database_.Execute("COMMIT"); }

}  // namespace ringshift::internal
