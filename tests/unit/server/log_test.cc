#include "server/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace ringshift {
namespace {

const WallTime kTime{std::chrono::microseconds(1'796'037'072'000'042)};

TEST(LogTest, ALineIsLogfmtWithTimeLevelMessageAndFields) {
  EXPECT_EQ(
      FormatLogLine(kTime, LogLevel::kInfo, "ready", {{"data_centers", "3"}, {"seconds", "0.5"}}),
      "ts=2026-11-30T11:11:12.000042Z level=info msg=\"ready\" data_centers=3 seconds=0.5\n");
}

TEST(LogTest, AValueThatWouldBeMisreadIsQuotedAndEscaped) {
  EXPECT_EQ(
      FormatLogLine(kTime, LogLevel::kWarn, "two words",
                    {{"empty", ""}, {"quote", "say \"hi\""}, {"slash", "a\\b"}, {"equals", "a=b"}}),
      "ts=2026-11-30T11:11:12.000042Z level=warn msg=\"two words\" empty=\"\" "
      "quote=\"say \\\"hi\\\"\" slash=\"a\\\\b\" equals=\"a=b\"\n");
}

TEST(LogTest, ALineIsOneLineWhateverItSays) {
  const std::string line =
      FormatLogLine(kTime, LogLevel::kError, "cannot start", {{"error", "a\nb\r\t\x1b[31m\x7f"}});
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_NE(line.find("error=\"a\\nb\\x0d\\t\\x1b[31m\\x7f\"\n"), std::string::npos) << line;
}

// A terminal or a collector may take these for the end of a line, or for an order.
TEST(LogTest, ControlCharactersBeyondAsciiAndWhatIsNotUtf8AreEscaped) {
  const auto value = [](const std::string& text) {
    const std::string line = FormatLogLine(kTime, LogLevel::kInfo, "m", {{"v", text}});
    return line.substr(line.find(" v=") + 3);
  };
  EXPECT_EQ(value("a\u0085b"), "\"a\\xc2\\x85b\"\n");
  EXPECT_EQ(value("\u009b31m"), "\"\\xc2\\x9b31m\"\n");
  EXPECT_EQ(value("a\u2028b\u2029"), "\"a\\xe2\\x80\\xa8b\\xe2\\x80\\xa9\"\n");
  EXPECT_EQ(value("\x9b"), "\"\\x9b\"\n");                             // no start
  EXPECT_EQ(value("\xe2\x80"), "\"\\xe2\\x80\"\n");                    // no end
  EXPECT_EQ(value("\xc0\x8a"), "\"\\xc0\\x8a\"\n");                    // a newline in two bytes
  EXPECT_EQ(value("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\"\n");           // a surrogate
  EXPECT_EQ(value("\xf4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\"\n");  // above U+10FFFF
}

TEST(LogTest, OtherTextStaysAsItIs) {
  for (const std::string text : {"z\u00fcrich", "\u00a0", "\u2027\u202a", "\u4eac", "\U0001f600"}) {
    EXPECT_TRUE(
        FormatLogLine(kTime, LogLevel::kInfo, "m", {{"v", text}}).ends_with(" v=" + text + "\n"))
        << text;
  }
}

TEST(LogTest, ATimeBeforeTheEpochIsRight) {
  EXPECT_TRUE(FormatLogLine(WallTime(std::chrono::microseconds(-1)), LogLevel::kInfo, "m", {})
                  .starts_with("ts=1969-12-31T23:59:59.999999Z "));
}

}  // namespace
}  // namespace ringshift
