// A store's file, held by one object on this machine: opened or created, and locked until the
// object ends.
//
// The lock is flock(2)'s, so it ends with the process, however that ends. A second object in this
// process is refused without opening the file: a process that closes any descriptor of a file loses
// its fcntl locks on it, and with those SQLite keeps other programs from taking its log away.
//
// Thread safety: Open is thread-safe, an object thread-compatible.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_LOCKED_FILE_H_
#define RINGSHIFT_MIGRATION_INTERNAL_LOCKED_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift::internal {

// A file, whatever it is called: device and inode.
using FileId = std::pair<dev_t, ino_t>;

// The size in bytes of the file at `path`; 0 if there is none.
std::int64_t FileSize(const std::string& path);

// The file at `path`, none if there is none.
std::optional<FileId> IdOfFile(const std::string& path);

struct FileHead {
  std::string real_path;  // absolute, without symbolic links
  std::string bytes;      // as many as were asked for, or all that the file has
};

// The first `size` bytes of a file, for reading only: without a lock, and without harm to an object
// of this process that holds it.
//
// NOT_FOUND            the file does not exist.
// PERMISSION_DENIED    it may not be read.
// FAILED_PRECONDITION  it is not a regular file.
// UNAVAILABLE          any other I/O error.
absl::StatusOr<FileHead> ReadFileHead(const std::string& path, std::size_t size);

class LockedFile {
 public:
  // Opens `path` for reading and writing. If it is not there and `create`, makes it, and its name
  // durable.
  //
  // NOT_FOUND            its folder does not exist, or the file does not and not `create`.
  // PERMISSION_DENIED    the file may not be read and written, or its folder not written.
  // FAILED_PRECONDITION  another object holds it; it is not a regular file.
  // UNAVAILABLE          any other I/O error.
  static absl::StatusOr<std::unique_ptr<LockedFile>> Open(const std::string& path, bool create);

  // Removes the file if Open created it and Keep was not called. Releases the lock.
  ~LockedFile();

  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // True if Open made the file.
  bool created() const { return created_; }
  // Lets a file that Open created outlive this object.
  void Keep() { remove_ = false; }

  // The first `size` bytes, or all that there are. UNAVAILABLE on an I/O error; messages call the
  // file `path`.
  absl::StatusOr<std::string> ReadHead(const std::string& path, std::size_t size) const;
  // In bytes; 0 if it cannot be told.
  std::int64_t size() const;
  // Absolute, without symbolic links.
  const std::string& real_path() const { return real_path_; }
  // False once the file was deleted, moved or replaced.
  bool IsInPlace() const;

  // Takes note of SQLite's files beside this one, the log (-wal) and its index (-shm), as they are
  // now.
  void NoteLog();
  // False once one of those was deleted, moved or replaced.
  bool IsLogInPlace() const;

  // Why the file or its folder may not be written, as an errno; 0 if they may.
  int WriteError() const;

 private:
  LockedFile(int fd, FileId id, bool created)
      : fd_(fd), id_(id), created_(created), remove_(created) {}

  const int fd_;
  const FileId id_;
  const bool created_;
  bool remove_;
  std::string real_path_;  // set by Open
  std::optional<FileId> log_id_;
  std::optional<FileId> index_id_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_LOCKED_FILE_H_
