#include "client/ringctl/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ScratchFile;
using ::testing::HasSubstr;

TEST(OutputTest, WritesEverythingInOrder) {
  const ScratchFile file;
  Output output(file.fd());
  std::string expected;
  for (int i = 0; i < 200'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    output.Write(line);
    expected += line;
  }
  EXPECT_EQ(output.Finish(), ExitCode::kOk);
  EXPECT_EQ(file.Contents(), expected);
}

TEST(OutputTest, HoldsLittleBackUntilAFlush) {
  const ScratchFile file;
  Output output(file.fd());
  output.Write("answer\n");
  EXPECT_EQ(file.Contents(), "");
  output.Flush();
  EXPECT_EQ(file.Contents(), "answer\n");
}

TEST(OutputTest, AFullDeviceIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  Output output(full);
  output.Write("x");
  EXPECT_TRUE(output.ok());
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(output.Finish(), ExitCode::kInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("ringctl: cannot write the output: No space left on device: "));
  EXPECT_FALSE(output.ok());
  ::close(full);
}

TEST(FailTest, SaysWhatAndWhatToDoOnOneLine) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Fail(ExitCode::kRefused, "bad\nthing \033[31m", "mend it"), ExitCode::kRefused);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "ringctl: bad\\nthing \\x1b[31m: mend it\n");
}

}  // namespace
}  // namespace ringshift
