#include "client/ringctl/build_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace ringshift {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// What appears on a terminal of `columns` while a line tells of work that is 42 % done, from its
// start until `expected` is seen and the work ends.
std::string OnTerminal(unsigned short columns, std::string_view expected) {
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    {
      BuildProgress progress("building v1 of ams, 204,800,000 points");
      progress.Report(0.42);
      char key = 0;
      if (::read(STDIN_FILENO, &key, 1) != 1) ::_exit(1);
    }
    ::_exit(0);
  }
  std::string shown;
  std::array<char, 256> buffer{};
  bool is_told_to_end = false;
  for (ssize_t count; (count = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
    shown.append(buffer.data(), static_cast<std::size_t>(count));
    if (!is_told_to_end && shown.find(expected) != std::string::npos) {
      is_told_to_end = ::write(terminal, "\n", 1) == 1;
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(terminal);
  return shown;
}

TEST(BuildProgressTest, OnATerminalALineSaysHowFarTheWorkIsAndGoesAway) {
  const std::string shown =
      OnTerminal(80, "\r\033[Kringctl: building v1 of ams, 204,800,000 points: 1 s, 42%");
  EXPECT_THAT(shown, EndsWith("\r\033[K"));
}

TEST(BuildProgressTest, TheLineIsCutToTheWidthOfTheTerminal) {
  EXPECT_THAT(OnTerminal(30, "\r\033[Kringctl: building v1 of ams,"),
              ::testing::AllOf(Not(HasSubstr("204,8")), EndsWith("\r\033[K")));
}

TEST(BuildProgressTest, NothingIsWrittenWhereStderrIsNoTerminal) {
  ::testing::internal::CaptureStderr();
  {
    BuildProgress progress("building");
    progress.Report(0.5);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ringshift
