// Text of others in our messages: quoted, and without bytes that a terminal or a log would obey.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_QUOTE_H_
#define RINGSHIFT_MIGRATION_INTERNAL_QUOTE_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace ringshift::internal {

inline constexpr std::size_t kMaxQuotedBytes = 64;

// `"TEXT"`, everything but printable ASCII as a C escape; of a longer text its first
// kMaxQuotedBytes and its length: `"TEX"... (300 bytes)`.
inline std::string Quote(std::string_view text) {
  const absl::string_view shown(text.data(), std::min(text.size(), kMaxQuotedBytes));
  const std::string quoted = absl::StrCat("\"", absl::CHexEscape(shown), "\"");
  if (text.size() <= kMaxQuotedBytes) return quoted;
  return absl::StrCat(quoted, "... (", text.size(), " bytes)");
}

// A path whole, so that it can be copied; only control characters and quotes are escaped.
inline std::string QuotePath(const std::string& path) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(path), "\"");
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_QUOTE_H_
