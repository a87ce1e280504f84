#include "migration/internal/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/mutex.h"

namespace ringshift::internal {
namespace {

// The files that objects of this process hold, with their descriptors.
struct HeldFiles {
  Mutex mutex;
  std::map<FileId, int> fds ABSL_GUARDED_BY(mutex);
};

HeldFiles& Held() {
  static HeldFiles* const held = new HeldFiles;  // not destroyed: an object may outlive statics
  return *held;
}

std::string ErrorText(int error) { return std::generic_category().message(error); }

absl::Status HeldError(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", QuotePath(path),
      " is held by another router; stop that one, or give this one a store of its own"));
}

absl::Status IrregularError(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("store ", QuotePath(path), " is not a regular file; give the path of a file"));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Whether the folder is there that the file is, or would be, in.
bool FolderExists(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::is_directory(FolderOf(path), ignored);
}

constexpr char kReadWriteAdvice[] = "let the router's user read and write the file and its folder";

absl::Status OpenError(const std::string& path, int error,
                       const std::string& access_advice = kReadWriteAdvice) {
  const std::string store = absl::StrCat("store ", QuotePath(path));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (std::error_code ignored; std::filesystem::is_symlink(path, ignored)) {
        return absl::NotFoundError(absl::StrCat(
            store, " is a symbolic link to nothing; make what it points to, or mend the path"));
      }
      if (FolderExists(path)) {
        return absl::NotFoundError(
            absl::StrCat(store, " does not exist; mend the path or restore a backup"));
      }
      return absl::NotFoundError(
          absl::StrCat(store, ": its folder does not exist; create the folder or mend the path"));
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(
          absl::StrCat(store, ": ", ErrorText(error), "; ", access_advice));
    case EISDIR:
      return IrregularError(path);
    default:
      return absl::UnavailableError(absl::StrCat(store, ": cannot open: ", ErrorText(error)));
  }
}

// For a file that is not made.
absl::Status MissingError(const std::string& path) {
  const absl::Status status = OpenError(path, ENOENT);
  if (!FolderExists(path)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(),
                                   ", or, if there never was one, start once without "
                                   "--store-must-exist: every data center then begins anew"));
}

// The descriptor, or -1 and errno.
int OpenOrCreate(const std::string& path, bool create, bool& created) {
  created = false;
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0 || errno != ENOENT || !create) return fd;
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

absl::StatusOr<std::string> ReadHeadOf(int fd, const std::string& path, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), 0);
  if (got < 0) {
    return absl::UnavailableError(
        absl::StrCat("store ", QuotePath(path), ": cannot read: ", ErrorText(errno)));
  }
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

std::int64_t FileSize(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? std::int64_t{info.st_size} : 0;
}

std::optional<FileId> IdOfFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId(info.st_dev, info.st_ino);
}

absl::StatusOr<FileHead> ReadFileHead(const std::string& path, std::size_t size) {
  constexpr char kReadAdvice[] = "let this user read the file and search its folder";
  std::error_code error;
  FileHead head{std::filesystem::canonical(path, error).string(), ""};
  if (error) return OpenError(path, error.value(), kReadAdvice);

  MutexLock lock(Held().mutex);
  struct stat info;
  if (stat(head.real_path.c_str(), &info) != 0) return OpenError(path, errno, kReadAdvice);
  if (!S_ISREG(info.st_mode)) return IrregularError(path);
  absl::StatusOr<std::string> bytes;
  if (const auto held = Held().fds.find(FileId(info.st_dev, info.st_ino));
      held != Held().fds.end()) {
    bytes = ReadHeadOf(held->second, path, size);
  } else {
    const int fd = open(head.real_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return OpenError(path, errno, kReadAdvice);
    bytes = ReadHeadOf(fd, path, size);
    close(fd);
  }
  if (!bytes.ok()) return bytes.status();
  head.bytes = *std::move(bytes);
  return head;
}

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::Open(const std::string& path, bool create) {
  std::unique_ptr<LockedFile> file;
  bool created = false;
  {
    MutexLock lock(Held().mutex);
    const std::optional<FileId> present = IdOfFile(path);
    if (present.has_value() && Held().fds.contains(*present)) return HeldError(path);

    const int fd = OpenOrCreate(path, create, created);
    if (fd < 0) {
      const int error = errno;
      return !create && error == ENOENT ? MissingError(path) : OpenError(path, error);
    }
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
    Held().fds.emplace(id, fd);
    file.reset(new LockedFile(fd, id, created));
  }

  std::error_code error;
  file->real_path_ = std::filesystem::canonical(path, error).string();
  if (error) return OpenError(path, error.value());
  if (!file->IsInPlace()) {
    return absl::UnavailableError(absl::StrCat(
        "store ", QuotePath(path), " was replaced while it was being opened; try again"));
  }
  if (const int write_error = file->WriteError(); write_error != 0) {
    return OpenError(path, write_error);
  }
  if (created) {
    if (const int sync_error = SyncFolder(FolderOf(file->real_path_)); sync_error != 0) {
      return OpenError(path, sync_error);
    }
  }
  return file;
}

LockedFile::~LockedFile() {
  MutexLock lock(Held().mutex);
  if (remove_ && IsInPlace()) unlink(real_path_.c_str());
  close(fd_);
  Held().fds.erase(id_);
}

absl::StatusOr<std::string> LockedFile::ReadHead(const std::string& path, std::size_t size) const {
  return ReadHeadOf(fd_, path, size);
}

std::int64_t LockedFile::size() const {
  struct stat info;
  return fstat(fd_, &info) == 0 ? std::int64_t{info.st_size} : 0;
}

bool LockedFile::IsInPlace() const { return IdOfFile(real_path_) == id_; }

void LockedFile::NoteLog() {
  log_id_ = IdOfFile(real_path_ + "-wal");
  index_id_ = IdOfFile(real_path_ + "-shm");
}

bool LockedFile::IsLogInPlace() const {
  return IdOfFile(real_path_ + "-wal") == log_id_ && IdOfFile(real_path_ + "-shm") == index_id_;
}

int LockedFile::WriteError() const {
  // The log lies beside the file.
  const std::string folder = FolderOf(real_path_);
  if (faccessat(AT_FDCWD, real_path_.c_str(), R_OK | W_OK, AT_EACCESS) != 0) return errno;
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return errno;
  return 0;
}

}  // namespace ringshift::internal
