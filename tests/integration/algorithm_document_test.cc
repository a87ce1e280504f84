// docs/algorithm.md as a reader follows it: its commands print what it says and draw its pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::SizeIs;

// Rings of 204.8 million points, also on a loaded machine.
constexpr std::chrono::seconds kLargePatience{300};

// Both in the order of the page. The first of `commands` is a function for the others.
struct Page {
  std::vector<std::string> commands;
  std::vector<std::string> printed;
};

Page ReadPage() {
  const std::string page = ReadFile(RINGSHIFT_SOURCE_DIR "/docs/algorithm.md");
  return {Blocks(page, "sh"), Blocks(page, "text")};
}

class AlgorithmDocumentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(page_.commands, SizeIs(8));
    ASSERT_THAT(page_.printed, SizeIs(7));
  }

  // Runs command `index`, and looks for the lines of the page in what it prints, in their order.
  void Follow(std::size_t index) {
    const Completed done =
        testing::Run({"bash", "-c",
                      "set -e -o pipefail\ncd \"$0\"; PATH=" RINGSHIFT_BIN_DIR ":$PATH\n" +
                          page_.commands[0] + page_.commands[index],
                      dir_.path()},
                     "", kLargePatience);
    ASSERT_EQ(done.exit_code, 0) << page_.commands[index] << done.err;
    std::istringstream lines(page_.printed[index - 1]);
    std::size_t from = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line == "...") continue;
      const std::size_t at = done.out.find(line + "\n", from);
      ASSERT_NE(at, std::string::npos) << line << "\nis not, or not there, in\n" << done.out;
      from = at;
    }
  }

  void ExpectPicture(const std::string& name) const {
    const std::string drawn = ReadFile(dir_.File(name));
    EXPECT_FALSE(drawn.empty());
    EXPECT_TRUE(drawn == ReadFile(RINGSHIFT_SOURCE_DIR "/docs/algorithm/" + name))
        << "docs/algorithm/" << name << " is not what the page's command draws";
  }

  const Page page_ = ReadPage();
  const TempDir dir_;
};

TEST_F(AlgorithmDocumentTest, AHundredNodesAreAsEvenAsThePageSays) {
  ASSERT_NO_FATAL_FAILURE(Follow(1));
  ExpectPicture("n100.svg");
  ASSERT_NO_FATAL_FAILURE(Follow(2));
  ASSERT_NO_FATAL_FAILURE(Follow(3));
}

TEST_F(AlgorithmDocumentTest, ManyPointsBuyWhatThePageSays) {
#ifndef NDEBUG
  GTEST_SKIP() << "its rings of 204.8 million points are for an optimised build";
#endif
  ASSERT_NO_FATAL_FAILURE(Follow(4));
  ExpectPicture("n2048.svg");
  ASSERT_NO_FATAL_FAILURE(Follow(7));
}

TEST_F(AlgorithmDocumentTest, TiesDoWhatThePageSays) {
#ifndef NDEBUG
  GTEST_SKIP() << "its rings of 204.8 million points are for an optimised build";
#endif
  ASSERT_NO_FATAL_FAILURE(Follow(5));
  ExpectPicture("ties.svg");
  ASSERT_NO_FATAL_FAILURE(Follow(6));
}

}  // namespace
}  // namespace ringshift::testing
