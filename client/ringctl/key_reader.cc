#include "client/ringctl/key_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

}  // namespace

KeyReader::KeyReader(int fd, bool hex, std::function<bool()> before_read)
    : fd_(fd), hex_(hex), before_read_(std::move(before_read)), buffer_(kReadBytes, '\0') {}

bool KeyReader::Next() {
  if (!status_.ok()) return false;
  std::size_t searched = 0;
  const char* newline = nullptr;
  for (;;) {
    const char* const begin = buffer_.data() + begin_;
    newline =
        static_cast<const char*>(std::memchr(begin + searched, '\n', end_ - begin_ - searched));
    if (newline != nullptr) break;
    searched = end_ - begin_;
    if (searched > kMaxLineBytes) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("line ", line_number_ + 1, " is longer than ", kMaxLineBytes, " bytes"));
      return false;
    }
    if (!ReadMore()) break;
  }
  if (!status_.ok() || (newline == nullptr && begin_ == end_)) return false;

  const char* const begin = buffer_.data() + begin_;
  const char* const end = newline != nullptr ? newline : buffer_.data() + end_;
  text_ = std::string_view(begin, static_cast<std::size_t>(end - begin));
  begin_ = std::min(begin_ + text_.size() + 1, end_);
  ++line_number_;
  if (hex_) {
    const absl::Status decoded = DecodeHex(text_, decoded_);
    if (!decoded.ok()) {
      status_ =
          absl::InvalidArgumentError(absl::StrCat("line ", line_number_, ": ", decoded.message()));
      return false;
    }
  }
  return true;
}

bool KeyReader::ReadMore() {
  if (!before_read_()) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() - end_ < kReadBytes / 2) buffer_.resize(buffer_.size() * 2);
  for (;;) {
    const ssize_t count = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (count >= 0) {
      end_ += static_cast<std::size_t>(count);
      return count > 0;
    }
    if (errno == EINTR) continue;
    status_ = absl::UnavailableError(
        absl::StrCat("cannot read the keys from standard input: ", std::strerror(errno)));
    return false;
  }
}

}  // namespace ringshift
