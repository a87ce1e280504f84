// Text for people: what may reach a terminal, and numbers that can be read at a glance.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_CLIENT_RINGCTL_TEXT_H_
#define RINGSHIFT_CLIENT_RINGCTL_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace ringshift {

// The first character of a text: its code point and its length in bytes. Where the bytes are not
// UTF-8, `valid` is false, `code` is the first byte and `length` is 1.
struct Utf8Character {
  char32_t code = 0;
  std::size_t length = 0;
  bool valid = false;
};

// REQUIRES: !text.empty()
Utf8Character FirstCharacter(std::string_view text);

bool IsUtf8(std::string_view text);

// True for what a terminal or a reader takes for more than a character: C0 and C1 controls, DEL,
// and the marks that reorder text.
bool IsControl(char32_t code);

// `text` with \n, \t, \r, \xNN (control bytes and bytes that are not UTF-8) and \u{NNNN} (other
// controls) in place of what could steer a terminal.
std::string ForTerminal(std::string_view text);

// Lower-case hex of `bytes`.
std::string ToHex(std::string_view bytes);

// Replaces `bytes` with what `hex` encodes, in either case. INVALID_ARGUMENT says which character
// is wrong, or that one is missing.
absl::Status DecodeHex(std::string_view hex, std::string& bytes);

// "204,800,000".
std::string HumanCount(std::uint64_t count);

// "17 B", "112.5 KiB", "1.5 GiB".
std::string HumanBytes(std::uint64_t bytes);

// `value` with `decimals` digits behind the point.
std::string FixedPoint(double value, int decimals);

// A duration as a person writes it: "5s", "500ms", "1m30s". INVALID_ARGUMENT unless it is above 0
// and at most a day.
absl::StatusOr<absl::Duration> ParseTimeout(std::string_view text);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_TEXT_H_
