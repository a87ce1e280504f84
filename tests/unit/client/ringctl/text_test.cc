#include "client/ringctl/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::IsOkAndHolds;
using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

using namespace std::string_view_literals;

TEST(TextTest, WhatCouldSteerATerminalIsEscaped) {
  EXPECT_EQ(ForTerminal("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(ForTerminal("\033[31mred\a"), "\\x1b[31mred\\x07");
  EXPECT_EQ(ForTerminal("nul\0del\x7f"sv), "nul\\x00del\\x7f");
  // CSI as a C1 control, alone and in UTF-8.
  EXPECT_EQ(ForTerminal("\x9b"
                        "31m"),
            "\\x9b31m");
  EXPECT_EQ(ForTerminal("\xc2\x9b"
                        "31m"),
            "\\u{009b}31m");
  // RIGHT-TO-LEFT OVERRIDE, LINE SEPARATOR.
  EXPECT_EQ(ForTerminal("a\xe2\x80\xae"
                        "b\xe2\x80\xa8"),
            "a\\u{202e}b\\u{2028}");
}

TEST(TextTest, OtherTextReachesTheTerminalUnchanged) {
  EXPECT_EQ(ForTerminal("plain \\ text"), "plain \\ text");
  EXPECT_EQ(ForTerminal("Zürich 東京 🚀"), "Zürich 東京 🚀");
  EXPECT_EQ(ForTerminal(""), "");
}

TEST(TextTest, BytesThatAreNotUtf8AreEscaped) { EXPECT_EQ(ForTerminal("\xff\xc3"), "\\xff\\xc3"); }

TEST(TextTest, Utf8IsRecognisedStrictly) {
  for (const std::string_view valid :
       {""sv, "a"sv, "\0"sv, "\x7f"sv, "\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv,
        "\xed\x9f\xbf"sv, "\xee\x80\x80"sv, "\xef\xbf\xbf"sv, "\xf0\x90\x80\x80"sv,
        "\xf4\x8f\xbf\xbf"sv}) {
    EXPECT_TRUE(IsUtf8(valid)) << ToHex(valid);
  }
  for (const std::string_view invalid :
       {"\x80"sv, "\xc0\x80"sv, "\xc1\xbf"sv,        // a lone continuation, two-byte forms of ASCII
        "\xe0\x9f\xbf"sv, "\xf0\x8f\xbf\xbf"sv,      // longer than need be
        "\xed\xa0\x80"sv, "\xed\xbf\xbf"sv,          // surrogates
        "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv,  // above U+10FFFF
        "\xc2"sv, "\xe2\x82"sv, "\xf0\x90\x80"sv, "\xe2\x28\xa1"sv}) {  // cut short
    EXPECT_FALSE(IsUtf8(invalid)) << ToHex(invalid);
  }
}

TEST(TextTest, EveryByteGoesThroughHexAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  std::string decoded;
  ASSERT_THAT(DecodeHex(ToHex(all), decoded), IsOk());
  EXPECT_EQ(decoded, all);
  ASSERT_THAT(DecodeHex("00FFaB", decoded), IsOk());
  EXPECT_EQ(decoded, "\x00\xff\xab"sv);
}

TEST(TextTest, NoHexIsNoBytes) {
  std::string decoded = "left over";
  ASSERT_THAT(DecodeHex("", decoded), IsOk());
  EXPECT_EQ(decoded, "");
}

TEST(TextTest, WhatIsNotHexIsRefusedWithItsPlace) {
  std::string decoded;
  EXPECT_THAT(DecodeHex("00zz", decoded),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("character 3 is not a hex digit: 'z'")));
  EXPECT_THAT(DecodeHex("00\r", decoded),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("character 3 is not a hex digit: '\\r'")));
  EXPECT_THAT(DecodeHex("abc", decoded), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  HasSubstr("an odd number of hex digits: 3")));
}

TEST(TextTest, CountsHaveSeparators) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(204'800'000), "204,800,000");
  EXPECT_EQ(HumanCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(TextTest, BytesHaveTheUnitThatReadsBest) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1024), "1.0 KiB");
  EXPECT_EQ(HumanBytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(1'638'400'000), "1.5 GiB");
  EXPECT_EQ(HumanBytes(UINT64_MAX), "16777216.0 TiB");
}

TEST(TextTest, DurationsAreReadAsPeopleWriteThem) {
  EXPECT_THAT(ParseTimeout("5s"), IsOkAndHolds(absl::Seconds(5)));
  EXPECT_THAT(ParseTimeout("500ms"), IsOkAndHolds(absl::Milliseconds(500)));
  EXPECT_THAT(ParseTimeout("1.5s"), IsOkAndHolds(absl::Milliseconds(1500)));
  EXPECT_THAT(ParseTimeout("1m30s"), IsOkAndHolds(absl::Seconds(90)));
  EXPECT_THAT(ParseTimeout("24h"), IsOkAndHolds(absl::Hours(24)));
}

TEST(TextTest, WhatIsNoDurationIsRefused) {
  for (const std::string_view text : {"", "5", "s", "5 s", " 5s", "5s ", "five", "5S", "5d"}) {
    EXPECT_THAT(ParseTimeout(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a duration")))
        << text;
  }
}

TEST(TextTest, ATimeoutThatCannotHoldIsRefused) {
  for (const std::string_view text : {"0", "0s", "-1s", "1us", "25h", "inf"}) {
    EXPECT_THAT(ParseTimeout(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is out of range")))
        << text;
  }
}

}  // namespace
}  // namespace ringshift
