#include "migration/internal/sqlite_reader.h"

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "migration/internal/locked_file.h"
#include "migration/internal/quote.h"
#include "migration/internal/sqlite.h"
#include "migration/internal/sqlite_rows.h"
#include "migration/internal/sqlite_schema.h"

namespace ringshift::internal {
namespace {

using ReadMode = SqliteDatabase::ReadMode;

// What tells a file that somebody wrote to meanwhile.
struct FileState {
  std::optional<FileId> id;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> written;  // size; seconds, nanoseconds
  std::int64_t log_size = 0;
  bool has_log = false;
  bool has_index = false;

  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState StateOf(const std::string& real_path) {
  FileState state;
  struct stat info;
  if (stat(real_path.c_str(), &info) == 0) {
    state.id = FileId(info.st_dev, info.st_ino);
    state.written = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  }
  state.log_size = FileSize(real_path + "-wal");
  state.has_log = IdOfFile(real_path + "-wal").has_value();
  state.has_index = IdOfFile(real_path + "-shm").has_value();
  return state;
}

// A store that was closed has no log. To open one in the common way would leave a log and its index
// behind, which nobody who only reads can take away.
ReadMode ModeFor(const FileState& state) {
  const bool closed = !state.has_log || (state.log_size == 0 && !state.has_index);
  return closed ? ReadMode::kUnchanging : ReadMode::kShared;
}

absl::StatusOr<StoreContents> ReadAs(ReadMode mode, const std::string& real_path,
                                     const std::string& path) {
  const absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::OpenReadOnly(real_path, path, mode);
  if (!database.ok()) return database.status();
  SqliteTransaction transaction(**database);
  if (absl::Status status = transaction.BeginReading(); !status.ok()) return status;
  const absl::StatusOr<std::int64_t> version = CheckStoreContent(**database, path);
  if (!version.ok()) return version.status();
  return ReadContents(**database, *version);
}

}  // namespace

absl::StatusOr<StoreContents> ReadSqliteStore(const std::string& path) {
  // A router that starts, stops or makes a change meanwhile spoils an attempt.
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<FileHead> file = ReadFileHead(path, 0);
    if (!file.ok()) return file.status();
    const FileState before = StateOf(file->real_path);
    const absl::StatusOr<FileHead> head = ReadFileHead(path, kSqliteHeaderBytes);
    if (!head.ok()) return head.status();
    if (absl::Status status = CheckStoreHeader(head->bytes, head->real_path, path); !status.ok()) {
      return status;
    }
    const ReadMode mode = ModeFor(before);
    if (mode == ReadMode::kUnchanging) {
      absl::Status whole = CheckFileSize(head->bytes, std::get<0>(before.written), path);
      if (!whole.ok() && StateOf(head->real_path) == before) return whole;
    }
    absl::StatusOr<StoreContents> contents = ReadAs(mode, head->real_path, path);
    if (contents.ok() && mode != ReadMode::kUnchanging) return contents;
    if (StateOf(head->real_path) == before) return contents;
  }
  return absl::UnavailableError(
      absl::StrCat("store ", QuotePath(path), " kept changing while it was being read; try again"));
}

}  // namespace ringshift::internal
