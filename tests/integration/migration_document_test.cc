// docs/migration.md from start to end: its commands, and what they print, are those of the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::Ge;
using ::testing::SizeIs;

// A command of the page, and what it prints there.
struct Step {
  std::string command;
  std::string printed;  // "" where the page does not show it
};

std::vector<Step> StepsOf(const std::string& page) {
  constexpr std::string_view kCommand = "\n```sh\n";
  constexpr std::string_view kPrinted = "```text\n";
  constexpr std::string_view kEnd = "\n```\n";
  std::vector<Step> steps;
  for (std::size_t at = page.find(kCommand); at != std::string::npos;
       at = page.find(kCommand, at)) {
    at += kCommand.size();
    const std::size_t end = page.find(kEnd, at) + 1;
    Step step{page.substr(at, end - at), ""};
    at = end + kEnd.size() - 1;
    if (page.compare(at, kPrinted.size(), kPrinted) == 0) {
      at += kPrinted.size();
      step.printed = page.substr(at, page.find(kEnd, at) + 1 - at);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

bool IsTime(const std::string& word) {
  return (word.size() == 10 && word[4] == '-' && word[7] == '-') ||
         (word.size() == 9 && word[2] == ':' && word.back() == 'Z');
}

// What is the same whenever and by whomever it is run: words, without times, who made a change and
// from where, what was measured in the last minute.
std::string WhatStays(const std::string& printed) {
  std::string stays;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" a second") != std::string::npos) continue;
    if (line.find(" where caches ask ") != std::string::npos) continue;
    std::istringstream words(line);
    int after_bar = -1;  // words behind the bar of a share
    for (std::string word; words >> word;) {
      if (after_bar >= 0) ++after_bar;
      if (word.front() == '[') after_bar = 0;
      const bool is_measured = after_bar == 2;
      const bool is_who = word.find('@') != std::string::npos || word.starts_with("(ipv4:");
      if (!is_measured && !is_who && !IsTime(word)) stays += word + " ";
    }
    stays += "\n";
  }
  return stays;
}

TEST(MigrationDocumentTest, ItsMigrationGoesAsItSays) {
  const std::vector<Step> steps = StepsOf(ReadFile(RINGSHIFT_SOURCE_DIR "/docs/migration.md"));
  ASSERT_THAT(steps, SizeIs(Ge(12)));
  const TempDir dir;
  RouterProcess router(RINGSHIFT_SOURCE_DIR "/deploy/sample-topology.yaml", dir.File("state.db"));
  router.WaitUntilReady();
  for (const Step& step : steps) {
    const Completed done = testing::Run(
        {"/bin/bash", "-c",
         "set -e -o pipefail; cd \"$0\"; export RINGCTL_PUBLIC_SERVER=" + router.public_address() +
             " RINGCTL_ADMIN_SERVER=" + router.admin_address() +
             " PATH=" RINGSHIFT_BIN_DIR ":$PATH\n" + step.command,
         dir.path()});
    ASSERT_EQ(done.exit_code, 0) << step.command << done.out << done.err;
    EXPECT_EQ(WhatStays(done.out), WhatStays(step.printed)) << step.command;
  }
}

}  // namespace
}  // namespace ringshift::testing
