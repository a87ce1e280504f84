// SQLite behind RAII and absl::Status: no more of it than a store needs.
//
//   absl::StatusOr<SqliteStatement> statement =
//       database.Prepare("SELECT share FROM t WHERE name = ?1");
//   statement->Bind(1, name);
//   absl::StatusOr<bool> row = statement->Step();          // true: a row; false: done
//   if (row.ok() && *row) share = statement->Int64(0);     // none if it is not an integer
//   statement->Reset();                                    // for another name
//
// Errors of SQLite, with the file and what to do: UNAVAILABLE where it may work later (busy, full,
// read-only, I/O), DATA_LOSS where the file's content is at fault (corrupt, a constraint that it
// breaks, a table that is not there).
//
// Thread safety: thread-compatible; a database and its statements belong to one thread at a time.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_SQLITE_H_
#define RINGSHIFT_MIGRATION_INTERNAL_SQLITE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ringshift::internal {

// DATA_LOSS: `what` is wrong with the content of the file at `path`, and what to do.
absl::Status DamagedError(const std::string& path, const std::string& what);

class SqliteStatement;

class SqliteDatabase {
 public:
  // Opens the existing file `real_path`; messages call it `path`.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& real_path,
                                                              const std::string& path);

  enum class ReadMode {
    // Beside other programs that write to the file. Of the log's index (-shm) what is missing is
    // made, if this user may; nothing else is written.
    kShared,
    // Without the log, and as if nobody could write to the file: nothing is written or locked.
    kUnchanging,
  };
  // As Open, for reading only.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenReadOnly(const std::string& real_path,
                                                                      const std::string& path,
                                                                      ReadMode mode);
  // REQUIRES: no statement is left.
  ~SqliteDatabase();

  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  // Whether closing moves the log into the file and deletes it, as it does by default.
  void SetCheckpointOnClose(bool checkpoint);

  // Runs statements, separated by semicolons, and drops their rows.
  absl::Status Execute(const std::string& sql);
  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql);
  // A statement at its first row; DATA_LOSS if there is none.
  absl::StatusOr<SqliteStatement> QueryRow(std::string_view sql);

  // What SQLite says about its last call.
  absl::Status Error() const;
  // DamagedError with the file of this database.
  absl::Status DataLoss(const std::string& what) const;

 private:
  SqliteDatabase(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenWith(const std::string& name,
                                                                  const std::string& path,
                                                                  int flags);
  friend class SqliteTransaction;

  sqlite3* const db_;
  const std::string path_;
};

// REQUIRES: its database outlives it.
class SqliteStatement {
 public:
  SqliteStatement(const SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  // Sets parameter ?`index`, from 1. An error shows up in Step.
  void Bind(int index, std::int64_t value);
  void Bind(int index, std::optional<std::int64_t> value);
  void Bind(int index, std::string_view text);

  // True if there is a row, false at the end.
  absl::StatusOr<bool> Step();
  // Back to the beginning, for other values of the parameters.
  void Reset();
  // Steps a statement that has no row, and resets it.
  absl::Status Run();

  // A column of the present row, from 0; none if it is NULL or of another type.
  std::optional<std::int64_t> Int64(int column) const;
  std::optional<std::string> Text(int column) const;
  bool IsNull(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };

  const SqliteDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  bool bind_failed_ = false;
};

// A transaction: rolled back unless it was committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(database) {}
  ~SqliteTransaction();

  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  // Takes the file's write lock, so nothing that is read behind it can change before the commit.
  absl::Status Begin();
  // For reading only: all that is read behind it is of one moment.
  absl::Status BeginReading();
  // Durable when it returns OK.
  absl::Status Commit();

 private:
  SqliteDatabase& database_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_SQLITE_H_
