// Buffered writing to standard output, in big blocks, where a failure is not lost.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_OUTPUT_H_
#define RINGSHIFT_CLIENT_RINGCTL_OUTPUT_H_

#include <string>
#include <string_view>

#include "client/ringctl/exit_code.h"

namespace ringshift {

class Output {
 public:
  // Writes to descriptor `fd`, which stays open and the caller's.
  explicit Output(int fd);

  void Write(std::string_view bytes) {
    buffer_.append(bytes);
    if (buffer_.size() >= kBlock) Flush();
  }

  // Hands everything to the system. After a failure, nothing more is written.
  void Flush();

  // False once a write has failed.
  bool ok() const { return error_ == 0; }

  // Flushes; kOk, or after a failure says so and returns kInput.
  ExitCode Finish();

 private:
  static constexpr std::size_t kBlock = std::size_t{256} * 1024;

  const int fd_;
  int error_ = 0;  // errno of the first failure
  std::string buffer_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_OUTPUT_H_
