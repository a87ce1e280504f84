#include "migration/internal/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/mutex.h"

namespace ringshift::internal {
namespace {

// The files that objects of this process hold.
struct HeldFiles {
  Mutex mutex;
  std::set<FileId> ids ABSL_GUARDED_BY(mutex);
};

HeldFiles& Held() {
  static HeldFiles* const held = new HeldFiles;  // not destroyed: an object may outlive statics
  return *held;
}

std::string ErrorText(int error) { return std::generic_category().message(error); }

std::optional<FileId> IdOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId(info.st_dev, info.st_ino);
}

absl::Status HeldError(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", QuotePath(path),
      " is held by another router; stop that one, or give this one a store of its own"));
}

absl::Status IrregularError(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("store ", QuotePath(path), " is not a regular file; give the path of a file"));
}

absl::Status OpenError(const std::string& path, int error) {
  const std::string store = absl::StrCat("store ", QuotePath(path));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (std::error_code ignored; std::filesystem::is_symlink(path, ignored)) {
        return absl::NotFoundError(absl::StrCat(
            store, " is a symbolic link to nothing; make what it points to, or mend the path"));
      }
      return absl::NotFoundError(
          absl::StrCat(store, ": its folder does not exist; create the folder or mend the path"));
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(
          absl::StrCat(store, ": ", ErrorText(error),
                       "; let the router's user read and write the file and its folder"));
    case EISDIR:
      return IrregularError(path);
    default:
      return absl::UnavailableError(absl::StrCat(store, ": cannot open: ", ErrorText(error)));
  }
}

// The descriptor, or -1 and errno.
int OpenOrCreate(const std::string& path, bool& created) {
  created = false;
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0 || errno != ENOENT) return fd;
  fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  created = fd >= 0;
  if (fd >= 0 || errno != EEXIST) return fd;
  // Created by someone else meanwhile, or a symbolic link to nothing.
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

// Makes the entries of a folder durable: 0, or an errno.
int SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

std::int64_t FileSize(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? std::int64_t{info.st_size} : 0;
}

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::Open(const std::string& path) {
  std::unique_ptr<LockedFile> file;
  bool created = false;
  {
    MutexLock lock(Held().mutex);
    const std::optional<FileId> present = IdOf(path);
    if (present.has_value() && Held().ids.contains(*present)) return HeldError(path);

    const int fd = OpenOrCreate(path, created);
    if (fd < 0) return OpenError(path, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(fd);
      return error == EWOULDBLOCK ? HeldError(path) : OpenError(path, error);
    }
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      close(fd);
      return IrregularError(path);
    }
    const FileId id(info.st_dev, info.st_ino);
    Held().ids.insert(id);
    file.reset(new LockedFile(fd, id, created));
  }

  std::error_code error;
  file->real_path_ = std::filesystem::canonical(path, error).string();
  if (error) return OpenError(path, error.value());
  if (!file->IsInPlace()) {
    return absl::UnavailableError(absl::StrCat(
        "store ", QuotePath(path), " was replaced while it was being opened; try again"));
  }
  // The log lies beside the file.
  const std::string folder = std::filesystem::path(file->real_path_).parent_path().string();
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return OpenError(path, errno);
  }
  if (created) {
    if (const int sync_error = SyncFolder(folder); sync_error != 0) {
      return OpenError(path, sync_error);
    }
  }
  return file;
}

LockedFile::~LockedFile() {
  MutexLock lock(Held().mutex);
  if (remove_ && IsInPlace()) unlink(real_path_.c_str());
  close(fd_);
  Held().ids.erase(id_);
}

bool LockedFile::IsInPlace() const { return IdOf(real_path_) == id_; }

}  // namespace ringshift::internal
