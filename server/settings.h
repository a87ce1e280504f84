// Where the settings of ringshiftd come from beside its command line.
//
// Thread safety: pure functions, save for the file that ReadSettingsFile reads.
#ifndef RINGSHIFT_SERVER_SETTINGS_H_
#define RINGSHIFT_SERVER_SETTINGS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ringshift {

// A setting as somebody wrote it.
struct Setting {
  std::string value;
  std::string source;  // for people: "--store", "RINGSHIFTD_STORE", "ringshiftd.conf:3: store"
};

// By name, which is that of the flag without its dashes.
using Settings = std::map<std::string, Setting, std::less<>>;

// "public-address" gives "RINGSHIFTD_PUBLIC_ADDRESS".
std::string VariableName(std::string_view name);

// Reads lines of `name=value`. Spaces around names and values, lines that are empty, and lines that
// begin with # do not count; everything else does, also # and quotes in a value.
//
// INVALID_ARGUMENT with `path` and the line for any other line, a name that is not in `names` or
// that was there before, and for a value that is empty.
absl::StatusOr<Settings> ParseSettings(std::string_view text, const std::string& path,
                                       const std::vector<std::string>& names);

// The same with what a file holds, at most kMaxSettingsBytes. NOT_FOUND with the path if it cannot
// be read.
inline constexpr std::size_t kMaxSettingsBytes = 1 << 20;
absl::StatusOr<Settings> ReadSettingsFile(const std::string& path,
                                          const std::vector<std::string>& names);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_SETTINGS_H_
