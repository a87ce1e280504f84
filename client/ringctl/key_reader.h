// Reads keys from a descriptor, one a line, in big blocks.
//
// A line ends at '\n' or at the end of the input; everything else in it is the key, '\r' and NUL
// too, and an empty line is the empty key. With hex, the line is the key's bytes in hex.
//
//   KeyReader reader(STDIN_FILENO, /*hex=*/false, [&] {
//     output.Flush();
//     return output.ok();
//   });
//   while (reader.Next()) Use(reader.key());
//   if (!reader.status().ok()) ...
//
// Thread safety: thread-compatible. Cost: no allocation a key.
#ifndef RINGSHIFT_CLIENT_RINGCTL_KEY_READER_H_
#define RINGSHIFT_CLIENT_RINGCTL_KEY_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ringshift {

class KeyReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

  // `before_read` runs before every read, which may wait for whoever writes the keys: the moment to
  // hand out the answers so far. If it returns false, the input ends there.
  KeyReader(int fd, bool hex, std::function<bool()> before_read);

  // Goes to the next key. False at the end of the input, and after an error, which status() then
  // has.
  bool Next();

  // The present key and its line as it was read. Valid until the next call of Next().
  std::string_view key() const { return hex_ ? std::string_view(decoded_) : text_; }
  std::string_view text() const { return text_; }

  // INVALID_ARGUMENT for a line that is not hex or above kMaxLineBytes, with the line's number;
  // UNAVAILABLE if the input cannot be read.
  const absl::Status& status() const { return status_; }

 private:
  // Reads more behind what is there. False at the end of the input and after an error.
  bool ReadMore();

  const int fd_;
  const bool hex_;
  const std::function<bool()> before_read_;
  std::string buffer_;  // buffer_[begin_, end_) is read and not yet given out
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string_view text_;
  std::string decoded_;
  std::uint64_t line_number_ = 0;  // of the present line, from 1
  absl::Status status_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_KEY_READER_H_
