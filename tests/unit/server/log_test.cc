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

TEST(LogTest, ATimeBeforeTheEpochIsRight) {
  EXPECT_TRUE(FormatLogLine(WallTime(std::chrono::microseconds(-1)), LogLevel::kInfo, "m", {})
                  .starts_with("ts=1969-12-31T23:59:59.999999Z "));
}

}  // namespace
}  // namespace ringshift
