#include "server/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "server/unique_fd.h"

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

// A pipe with a LogWriter at one end.
class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end_ = UniqueFd(ends[0]);
    write_end_ = UniqueFd(ends[1]);
  }

  // Writes lines until the pipe has no room for another one; returns how many that were.
  int Fill(LogWriter& writer) {
    const int room = ::fcntl(write_end_.get(), F_GETPIPE_SZ);
    int lines = 0;
    for (; lines * 1000 < room; ++lines) writer.Write(std::string(999, 'x') + "\n");
    return lines;
  }

  // All that is in the pipe now.
  std::string Read() {
    ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(read_end_.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(LogWriterTest, AReaderThatStallsBlocksNobodyAndIsToldWhatItMissed) {
  LogWriter writer(write_end_.get(), std::chrono::milliseconds(1));
  const int written = Fill(writer) - 1;  // the last one dropped, at least
  for (int i = 0; i < 100; ++i) writer.Write("dropped\n");
  const std::string before = Read();
  EXPECT_THAT(before, Not(HasSubstr("dropped")));
  EXPECT_GE(std::count(before.begin(), before.end(), '\n'), written - 20);

  writer.Write("after\n");
  writer.Write("later\n");
  const std::string after = Read();
  const auto missed = std::count(after.begin(), after.end(), '\n');
  EXPECT_EQ(missed, 3) << after;
  EXPECT_THAT(after, AllOf(HasSubstr("level=warn msg=\"nobody read the log: lines were dropped\" "
                                     "lines="),
                           ::testing::EndsWith("\nafter\nlater\n")));
  const int lines = std::stoi(after.substr(after.find(" lines=") + 7));
  EXPECT_EQ(lines, 100 + written + 1 - std::count(before.begin(), before.end(), '\n'));
}

TEST_F(LogWriterTest, ALineThatWasCutIsEndedBeforeTheNextOne) {
  LogWriter writer(write_end_.get(), std::chrono::milliseconds(0));
  const auto room = static_cast<std::size_t>(::fcntl(write_end_.get(), F_GETPIPE_SZ));
  writer.Write(std::string(2 * room, 'x') + "\n");
  EXPECT_EQ(Read(), std::string(room, 'x'));
  writer.Write("after\n");
  const std::string after = Read();
  EXPECT_THAT(after, AllOf(::testing::StartsWith("\nts="), HasSubstr("lines=1\nafter\n")));
}

TEST_F(LogWriterTest, AReaderThatIsOnlySlowMissesNothing) {
  LogWriter writer(write_end_.get(), std::chrono::minutes(1));
  const std::string line = std::string(9'999, 'x') + "\n";
  std::string text;
  std::thread reader([this, &text] {
    char buffer[1000];
    for (ssize_t got; (got = ::read(read_end_.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
  });
  for (int i = 0; i < 100; ++i) writer.Write(line);
  write_end_ = UniqueFd();
  reader.join();
  EXPECT_EQ(text.size(), 100 * line.size());
  EXPECT_THAT(text, Not(HasSubstr("dropped")));
}

}  // namespace
}  // namespace ringshift
