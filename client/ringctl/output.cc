#include "client/ringctl/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace ringshift {

Output::Output(int fd) : fd_(fd) { buffer_.reserve(kBlock + 4096); }

void Output::Flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && ok()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
}

ExitCode Output::Finish() {
  Flush();
  if (ok()) return ExitCode::kOk;
  return Fail(ExitCode::kInput, absl::StrCat("cannot write the output: ", std::strerror(error_)),
              "what was written is incomplete; make room and run it again");
}

}  // namespace ringshift
