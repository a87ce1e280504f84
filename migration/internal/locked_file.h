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

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift::internal {

// A file, whatever it is called: device and inode.
using FileId = std::pair<dev_t, ino_t>;

// The size in bytes of the file at `path`; 0 if there is none.
std::int64_t FileSize(const std::string& path);

class LockedFile {
 public:
  // Opens `path` for reading and writing. Creates it if it is not there, and makes its name
  // durable.
  //
  // NOT_FOUND            its folder does not exist.
  // PERMISSION_DENIED    the file may not be read and written, or its folder not written.
  // FAILED_PRECONDITION  another object holds it; it is not a regular file.
  // UNAVAILABLE          any other I/O error.
  static absl::StatusOr<std::unique_ptr<LockedFile>> Open(const std::string& path);

  // Removes the file if Open created it and Keep was not called. Releases the lock.
  ~LockedFile();

  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // True if Open made the file.
  bool created() const { return created_; }
  // Lets a file that Open created outlive this object.
  void Keep() { remove_ = false; }

  int fd() const { return fd_; }
  // Absolute, without symbolic links.
  const std::string& real_path() const { return real_path_; }
  // False once the file was deleted, moved or replaced.
  bool IsInPlace() const;

 private:
  LockedFile(int fd, FileId id, bool created)
      : fd_(fd), id_(id), created_(created), remove_(created) {}

  const int fd_;
  const FileId id_;
  const bool created_;
  bool remove_;
  std::string real_path_;  // set by Open
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_LOCKED_FILE_H_
