// What the values of options must be. CLI11 has checks of its own, but what they say changes from
// release to release.
//
// A check returns nothing for a good value, else what is wrong with it and what would be right.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_CLIENT_RINGCTL_CHECKS_H_
#define RINGSHIFT_CLIENT_RINGCTL_CHECKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ringshift {

using Check = std::function<std::string(const std::string& text)>;

// UTF-8, as everything but a key must be on the wire.
std::string CheckUtf8(const std::string& text);

// Of a file to write; an empty variable of a script is none.
std::string CheckFileName(const std::string& text);

// What Share::ParsePercent reads.
std::string CheckPercent(const std::string& text);

// A decimal from 0 to 1, as absl::SimpleAtod reads it.
std::string CheckRatio(const std::string& text);

// One of `words`.
Check CheckOneOf(std::vector<std::string> words);

// Decimal, from `low` to `high`, without sign (but '-') and needless zeros.
Check CheckWholeNumber(std::int64_t low, std::int64_t high);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_CHECKS_H_
