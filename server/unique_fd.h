// A file descriptor that is closed with its object.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_SERVER_UNIQUE_FD_H_
#define RINGSHIFT_SERVER_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace ringshift {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }  // -1: none

 private:
  int fd_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_UNIQUE_FD_H_
