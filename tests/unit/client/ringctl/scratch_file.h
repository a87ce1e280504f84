// A nameless temporary file, for what reads from and writes to descriptors.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_SCRATCH_FILE_H_
#define RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_SCRATCH_FILE_H_

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace ringshift::testing {

class ScratchFile {
 public:
  // Read from the start, it has `contents`.
  explicit ScratchFile(std::string_view contents = "") : file_(std::tmpfile()) {
    std::fwrite(contents.data(), 1, contents.size(), file_);
    std::rewind(file_);
  }
  ~ScratchFile() { std::fclose(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int fd() const { return ::fileno(file_); }

  // All that is in it.
  std::string Contents() const {
    std::string contents(static_cast<std::size_t>(::lseek(fd(), 0, SEEK_END)), '\0');
    const ssize_t count = ::pread(fd(), contents.data(), contents.size(), 0);
    return count == static_cast<ssize_t>(contents.size()) ? contents : "cannot be read";
  }

 private:
  std::FILE* const file_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_SCRATCH_FILE_H_
