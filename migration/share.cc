#include "migration/share.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

constexpr std::size_t kMaxDecimals = 4;
constexpr std::int32_t kPpmPerPercent = 10'000;

absl::Status NotAPercentage(std::string_view text, const std::string& reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("percentage ", internal::Quote(text), ": ", reason,
                   "; expected 0 to 100 with up to four decimals, such as 12.5 or 0.29%"));
}

// The digits that `text` starts with.
std::string_view LeadingDigits(std::string_view text) {
  return text.substr(0, text.find_first_not_of("0123456789"));
}

}  // namespace

absl::StatusOr<Share> Share::FromPpm(std::int64_t ppm) {
  if (ppm < 0 || ppm > kMaxPpm) {
    return absl::InvalidArgumentError(
        absl::StrCat("share of ", ppm, " ppm is outside 0 to ", kMaxPpm));
  }
  return Share(static_cast<std::int32_t>(ppm));
}

absl::StatusOr<Share> Share::ParsePercent(std::string_view text) {
  std::string_view rest = text;
  if (rest.ends_with('%')) rest.remove_suffix(1);

  const std::string_view whole = LeadingDigits(rest);
  rest.remove_prefix(whole.size());
  if (whole.empty()) {
    if (rest.empty()) return NotAPercentage(text, "there is no number");
    if (rest.front() == '+' || rest.front() == '-') {
      return NotAPercentage(text, "a sign is not allowed");
    }
    if (rest.front() == '.') return NotAPercentage(text, "no digit before the point");
    return NotAPercentage(text, "it does not start with a digit");
  }

  std::string_view decimals;
  if (rest.starts_with('.')) {
    decimals = LeadingDigits(rest.substr(1));
    rest.remove_prefix(1 + decimals.size());
    if (decimals.empty()) return NotAPercentage(text, "no digit behind the point");
  }
  if (!rest.empty()) {
    return NotAPercentage(text, absl::StrCat("unexpected ", internal::Quote(rest.substr(0, 1)),
                                             " behind the number"));
  }
  if (whole.size() > 1 && whole.front() == '0') {
    return NotAPercentage(text, "a needless leading zero");
  }
  if (decimals.size() > kMaxDecimals) return NotAPercentage(text, "more than four decimals");
  if (whole.size() > 3) return NotAPercentage(text, "above 100");

  // At most seven digits, so this fits.
  std::int32_t ppm = 0;
  for (const char digit : whole) ppm = ppm * 10 + (digit - '0');
  for (std::size_t i = 0; i < kMaxDecimals; ++i) {
    ppm = ppm * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  }
  if (ppm > kMaxPpm) return NotAPercentage(text, "above 100");
  return Share(ppm);
}

std::string Share::ToPercent() const {
  std::string percent = absl::StrCat(ppm_ / kPpmPerPercent);
  const std::int32_t decimals = ppm_ % kPpmPerPercent;
  if (decimals == 0) return percent;
  absl::StrAppend(&percent, ".", absl::Dec(decimals, absl::kZeroPad4));
  percent.erase(percent.find_last_not_of('0') + 1);
  return percent;
}

}  // namespace ringshift
