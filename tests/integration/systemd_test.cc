// deploy/systemd: what systemd thinks of the unit, and what its command line does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/process.h"
#include "tests/integration/router_process.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

std::string Deployed(const std::string& name) {
  std::ifstream file(std::string(RINGSHIFT_SOURCE_DIR) + "/deploy/systemd/" + name);
  std::ostringstream contents;
  contents << file.rdbuf();
  EXPECT_FALSE(contents.str().empty()) << name;
  return contents.str();
}

// Replaces every occurrence; a test failure if there is none.
std::string Replace(std::string text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(SystemdTest, SystemdFindsNothingWrongWithTheUnit) {
  if (testing::Run({"systemd-analyze", "--version"}).exit_code == 127) {
    GTEST_SKIP() << "systemd-analyze is not installed";
  }
  TempDir dir;
  const std::string unit = dir.Write(
      "ringshiftd.service",
      Replace(Deployed("ringshiftd.service"), "/usr/bin/ringshiftd", Binary("ringshiftd")));
  const Completed verified = testing::Run({"systemd-analyze", "verify", "--man=no", unit});
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_THAT(verified.err, Not(HasSubstr("ringshiftd.service")));

  // That it would have found something.
  const std::string wrong = dir.Write(
      "ringshiftd.service",
      Replace(Deployed("ringshiftd.service"), "/usr/bin/ringshiftd", Binary("not-there")));
  EXPECT_THAT(testing::Run({"systemd-analyze", "verify", "--man=no", wrong}).err,
              HasSubstr("ringshiftd.service"));
}

TEST(SystemdTest, TheUnitStartsARouterWithItsStoreAndNeverMakesOne) {
  TempDir dir;
  dir.Write("topology.yaml", SmallTopology());
  std::string flags = Deployed("ringshiftd.conf");
  flags = Replace(flags, "/etc/ringshift", dir.path());
  flags = Replace(flags, "/var/lib/ringshift", dir.path());
  for (const char* port : {":7400", ":7401", ":9464"}) flags = Replace(flags, port, ":0");
  const std::string configuration = dir.Write("ringshiftd.conf", flags);

  const std::string unit = Deployed("ringshiftd.service");
  const std::size_t begin = unit.find("\nExecStart=") + std::string_view("\nExecStart=").size();
  std::istringstream line(unit.substr(begin, unit.find('\n', begin) - begin));
  std::vector<std::string> command;
  for (std::string word; line >> word;) command.push_back(word);
  ASSERT_THAT(command, ::testing::ElementsAre("/usr/bin/ringshiftd",
                                              "--config=/etc/ringshift/ringshiftd.conf",
                                              "--store-must-exist"));
  command[0] = Binary("ringshiftd");
  command[1] = "--config=" + configuration;

  const Completed refused = testing::Run(command);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("state.db"), HasSubstr("--store-must-exist")));
  EXPECT_FALSE(std::filesystem::exists(dir.File("state.db")));

  const auto start_and_stop = [](const std::vector<std::string>& command_line) {
    Process router(command_line);
    EXPECT_TRUE(router.WaitForStderr("msg=\"ready\"")) << router.Stderr();
    router.Signal(SIGTERM);
    EXPECT_THAT(router.WaitForExit(), Optional(0));
  };
  start_and_stop({command[0], command[1]});  // the first start, by hand
  EXPECT_TRUE(std::filesystem::exists(dir.File("state.db")));
  start_and_stop(command);
}

}  // namespace
}  // namespace ringshift::testing
