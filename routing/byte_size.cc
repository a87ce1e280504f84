#include "routing/byte_size.h"

#include <charconv>
#include <cstdio>
#include <limits>
#include <system_error>

#include "absl/status/status.h"

namespace ringshift {
namespace {

struct Unit {
  std::string_view name;
  int shift;
};
constexpr Unit kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};

}  // namespace

absl::StatusOr<std::uint64_t> ParseByteSize(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  int shift = name.empty() ? 0 : -1;
  for (const Unit& unit : kUnits) {
    if (name == unit.name) shift = unit.shift;
  }
  if (error != std::errc() || shift < 0 || count == 0 ||
      count > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return absl::InvalidArgumentError(absl::string_view(
        "\"" + std::string(text) +
        "\" is not a number of bytes above 0, or of KiB, MiB, GiB or TiB: for example 8GiB"));
  }
  return count << shift;
}

std::string DescribeBytes(std::uint64_t bytes) {
  std::string text = std::to_string(bytes) + " bytes";
  const Unit* largest = nullptr;
  for (const Unit& unit : kUnits) {
    if (bytes >> unit.shift > 0) largest = &unit;
  }
  if (largest == nullptr) return text;
  char number[32];
  std::snprintf(
      number, sizeof number, "%.1f",
      static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << largest->shift));
  return text + " (" + number + " " + std::string(largest->name) + ")";
}

}  // namespace ringshift
