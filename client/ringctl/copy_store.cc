#include "client/ringctl/copy_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/sqlite_store.h"

namespace ringshift {
namespace {

absl::Status Exists(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat("there is a file at ", path, " already"));
}

// OK if there is neither a file at `path` nor a log that SQLite would replay over one.
absl::Status CheckFree(const std::string& path) {
  struct stat present {};
  if (::lstat(path.c_str(), &present) == 0) return Exists(path);
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    const std::string log = path + suffix;
    if (::lstat(log.c_str(), &present) != 0) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("a log of another store is at ", log, ": move it away"));
  }
  return absl::OkStatus();
}

absl::Status Failure(std::string_view what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat(std::string(what), " ", path, ": ", std::strerror(errno)));
}

// Removes the store that was being made, if it is still under that name.
class UnfinishedStore {
 public:
  explicit UnfinishedStore(std::string path) : path_(std::move(path)) {}
  ~UnfinishedStore() {
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
  }
  UnfinishedStore(const UnfinishedStore&) = delete;
  UnfinishedStore& operator=(const UnfinishedStore&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Makes names in the folder of `path` durable.
absl::Status SyncFolder(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failure("cannot open the folder", folder);
  absl::Status status;
  if (::fsync(fd) != 0) status = Failure("cannot sync the folder", folder);
  ::close(fd);
  return status;
}

absl::Status WriteStore(const std::string& path, const StoreContents& contents) {
  {
    const absl::StatusOr<std::unique_ptr<SqliteStore>> store =
        SqliteStore::Open(path, SqliteStore::IfMissing::kCreate);
    if (!store.ok()) return store.status();
    if (const absl::Status status = (*store)->Import(contents); !status.ok()) return status;
  }
  // Once it is closed, all of it is in the one file.
  const absl::StatusOr<StoreContents> copy = SqliteStore::ReadContents(path);
  if (!copy.ok()) return copy.status();
  if (*copy == contents) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("what was written to ", path, " reads differently"));
}

}  // namespace

absl::StatusOr<StoreContents> CopySqliteStore(const std::string& from, const std::string& to) {
  if (absl::Status free = CheckFree(to); !free.ok()) return free;
  absl::StatusOr<StoreContents> contents = SqliteStore::ReadContents(from);
  if (!contents.ok()) return contents.status();

  const std::string path = absl::StrCat(to, ".copy-", ::getpid());
  if (absl::Status free = CheckFree(path); !free.ok()) return free;
  const UnfinishedStore unfinished(path);
  if (const absl::Status status = WriteStore(unfinished.path(), *contents); !status.ok()) {
    return status;
  }
  if (absl::Status free = CheckFree(to); !free.ok()) return free;
  // Unlike a rename, a link never replaces what is there.
  if (::link(unfinished.path().c_str(), to.c_str()) != 0) {
    return errno == EEXIST ? Exists(to) : Failure("cannot make", to);
  }
  if (const absl::Status status = SyncFolder(to); !status.ok()) {
    ::unlink(to.c_str());
    return status;
  }
  return contents;
}

}  // namespace ringshift
