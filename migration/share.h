// The share of a data center: the part of its requests that ring v2 answers, in parts per million.
//
// Thread safety: a value; pure functions.
#ifndef RINGSHIFT_MIGRATION_SHARE_H_
#define RINGSHIFT_MIGRATION_SHARE_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringshift {

class Share {
 public:
  static constexpr std::int32_t kMaxPpm = 1'000'000;

  constexpr Share() = default;  // 0: v1 answers every request
  static constexpr Share None() { return Share(0); }
  static constexpr Share All() { return Share(kMaxPpm); }

  // INVALID_ARGUMENT if `ppm` is not in [0, 1'000'000]; the message has the value and the limit.
  static absl::StatusOr<Share> FromPpm(std::int64_t ppm);

  // Reads a percentage as a person writes it, exactly: "0" to "100", up to four decimals, a '%'
  // behind it or not ("12.5", "0.29%", "100.0000"). Nothing else: no sign, space, exponent, bare
  // point, needless leading zero, or fifth decimal, even if it is 0.
  //
  // INVALID_ARGUMENT quotes the text and says what is wrong with it.
  static absl::StatusOr<Share> ParsePercent(std::string_view text);

  constexpr std::int32_t ppm() const { return ppm_; }

  // The percentage without needless zeros: "12.5", "0.29", "100". ParsePercent reads it back
  // exactly.
  std::string ToPercent() const;

  friend constexpr auto operator<=>(Share, Share) = default;

 private:
  explicit constexpr Share(std::int32_t ppm) : ppm_(ppm) {}

  std::int32_t ppm_ = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_SHARE_H_
