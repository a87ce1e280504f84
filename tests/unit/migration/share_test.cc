#include "migration/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using ::testing::Not;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// What ParsePercent makes of `text`, in ppm; -1 for an error.
std::int32_t Parsed(std::string_view text) {
  const absl::StatusOr<Share> share = Share::ParsePercent(text);
  return share.ok() ? share->ppm() : -1;
}

TEST(ShareTest, IsZeroUnlessSaidOtherwise) {
  EXPECT_EQ(Share().ppm(), 0);
  EXPECT_EQ(Share(), Share::None());
  EXPECT_EQ(Share::All().ppm(), 1'000'000);
  EXPECT_LT(Share::None(), Share::All());
}

TEST(ShareTest, PpmOutsideTheRangeIsRefusedWithTheValueAndTheLimit) {
  for (const std::int64_t ppm :
       {std::int64_t{-1}, std::int64_t{1'000'001},
        // What a cast to 32 bits would make 0 and 1.
        std::int64_t{1} << 32, (std::int64_t{1} << 32) + 1,
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THAT(Share::FromPpm(ppm),
                StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat("share of ", ppm, " ppm")),
                                         HasSubstr("0 to 1000000"))));
  }
}

TEST(ShareTest, EveryPpmValueRoundTripsThroughItsPercentage) {
  for (std::int32_t ppm = 0; ppm <= 1'000'000; ++ppm) {
    const absl::StatusOr<Share> share = Share::FromPpm(ppm);
    ASSERT_TRUE(share.ok());
    ASSERT_EQ(share->ppm(), ppm);
    ASSERT_EQ(Parsed(share->ToPercent()), ppm) << share->ToPercent();
  }
}

// In doubles, int(percent * 100) is one too low for 573 of these: 0.29, 0.57, 1.13, ...
TEST(ShareTest, EveryPercentageWithTwoDecimalsIsReadExactly) {
  for (std::int32_t hundredths = 0; hundredths <= 10'000; ++hundredths) {
    char text[16];
    std::snprintf(text, sizeof(text), "%d.%02d", hundredths / 100, hundredths % 100);
    ASSERT_EQ(Parsed(text), hundredths * 100) << text;
    ASSERT_EQ(Parsed(absl::StrCat(text, "%")), hundredths * 100) << text;
  }
}

TEST(ShareTest, ReadsWhatAPersonWrites) {
  EXPECT_EQ(Parsed("0"), 0);
  EXPECT_EQ(Parsed("0%"), 0);
  EXPECT_EQ(Parsed("0.0000"), 0);
  EXPECT_EQ(Parsed("0.0001"), 1);
  EXPECT_EQ(Parsed("0.001"), 10);
  EXPECT_EQ(Parsed("0.01"), 100);
  EXPECT_EQ(Parsed("0.29%"), 2'900);
  EXPECT_EQ(Parsed("1.15"), 11'500);
  EXPECT_EQ(Parsed("12.5"), 125'000);
  EXPECT_EQ(Parsed("33.33"), 333'300);
  EXPECT_EQ(Parsed("99.9999"), 999'999);
  EXPECT_EQ(Parsed("100"), 1'000'000);
  EXPECT_EQ(Parsed("100%"), 1'000'000);
  EXPECT_EQ(Parsed("100.0000"), 1'000'000);
}

TEST(ShareTest, IsWrittenWithoutNeedlessZeros) {
  const auto percent = [](std::int32_t ppm) { return Share::FromPpm(ppm)->ToPercent(); };
  EXPECT_EQ(percent(0), "0");
  EXPECT_EQ(percent(1), "0.0001");
  EXPECT_EQ(percent(2'900), "0.29");
  EXPECT_EQ(percent(125'000), "12.5");
  EXPECT_EQ(percent(100'000), "10");
  EXPECT_EQ(percent(1'000'000), "100");
}

TEST(ShareTest, AnythingElseIsRefusedWithTheTextAndTheReason) {
  const struct {
    std::string_view text;
    const char* reason;
  } kCases[] = {
      {"", "there is no number"},
      {"%", "there is no number"},
      {"%%", "does not start with a digit"},
      {".5", "no digit before the point"},
      {".", "no digit before the point"},
      {"5.", "no digit behind the point"},
      {"5.%", "no digit behind the point"},
      {"-1", "a sign"},
      {"-0", "a sign"},
      {"+1", "a sign"},
      {"1e2", "unexpected \"e\""},
      {"1E2", "unexpected \"E\""},
      {"0x10", "unexpected \"x\""},
      {"NaN", "does not start with a digit"},
      {"nan", "does not start with a digit"},
      {"inf", "does not start with a digit"},
      {" 1", "does not start with a digit"},
      {"1 ", "unexpected \" \""},
      {"1 %", "unexpected \" \""},
      {"1%%", "unexpected \"%\""},
      {"1%5", "unexpected \"%\""},
      {"1\n", "unexpected \"\\n\""},
      {"1,5", "unexpected \",\""},
      {"1.5.0", "unexpected \".\""},
      {"1.-5", "no digit behind the point"},
      {"100.0001", "above 100"},
      {"101", "above 100"},
      {"1000", "above 100"},
      {"05", "leading zero"},
      {"00", "leading zero"},
      {"0100", "leading zero"},
      {"0.00001", "more than four decimals"},
      {"12.50000", "more than four decimals"},
      {"100.00000", "more than four decimals"},
      {"١", "does not start with a digit"},  // ARABIC-INDIC DIGIT ONE
  };
  for (const auto& [text, reason] : kCases) {
    EXPECT_THAT(Share::ParsePercent(text),
                StatusIs(kInvalid, AllOf(HasSubstr("percentage \""), HasSubstr(reason),
                                         HasSubstr("expected 0 to 100"))))
        << text;
  }
  EXPECT_THAT(Share::ParsePercent("1e2"), StatusIs(kInvalid, HasSubstr("percentage \"1e2\": ")));
}

TEST(ShareTest, ANulByteDoesNotEndTheText) {
  EXPECT_THAT(Share::ParsePercent(std::string_view("1\0", 2)),
              StatusIs(kInvalid, HasSubstr("\"1\\x00\"")));
  EXPECT_THAT(Share::ParsePercent(std::string_view("1\0005", 3)),
              StatusIs(kInvalid, HasSubstr("unexpected \"\\x00\"")));
}

TEST(ShareTest, ManyDigitsAreRefusedWhateverTheyWouldOverflowTo) {
  // 2^64 + 5, 2^32 + 5.
  EXPECT_THAT(Share::ParsePercent("18446744073709551621"),
              StatusIs(kInvalid, HasSubstr("above 100")));
  EXPECT_THAT(Share::ParsePercent("4294967301"), StatusIs(kInvalid, HasSubstr("above 100")));
  EXPECT_THAT(Share::ParsePercent(std::string(1'000'000, '9')),
              StatusIs(kInvalid, HasSubstr("above 100")));
  EXPECT_THAT(Share::ParsePercent("1." + std::string(1'000'000, '0')),
              StatusIs(kInvalid, HasSubstr("more than four decimals")));
}

TEST(ShareTest, ALongTextIsQuotedInPart) {
  const absl::StatusOr<Share> share = Share::ParsePercent(std::string(5'000, 'x'));
  EXPECT_THAT(share, StatusIs(kInvalid, HasSubstr("... (5000 bytes)")));
  EXPECT_LT(share.status().message().size(), 250u);
}

TEST(ShareTest, ControlBytesAreQuotedEscaped) {
  EXPECT_THAT(Share::ParsePercent("\x1b[31m1\r\n"),
              StatusIs(kInvalid, AllOf(HasSubstr("\"\\x1b[31m1\\r\\n\""), Not(HasSubstr("\x1b")),
                                       Not(HasSubstr("\n")))));
}

}  // namespace
}  // namespace ringshift
