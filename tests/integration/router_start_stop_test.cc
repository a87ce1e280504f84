// How a real router starts, refuses to start, and stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/health_client.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

class StartStopTest : public ::testing::Test {
 protected:
  // A command line on free ports, with the store `store`.
  std::vector<std::string> CommandLine(const std::string& store) const {
    return {Binary("ringshiftd"),          "--topology=" + topology_,
            "--store=sqlite:" + store,     "--public-address=127.0.0.1:0",
            "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"};
  }

  // The reason of the one line that a router without a chance says last.
  static std::string ReasonNotToStart(const std::vector<std::string>& command_line) {
    const Completed completed = testing::Run(command_line);
    EXPECT_EQ(completed.exit_code, 1) << completed.err;
    EXPECT_EQ(completed.out, "");
    std::string reason;
    int lines = 0;
    for (std::size_t at = 0, end; (end = completed.err.find('\n', at)) != std::string::npos;
         at = end + 1) {
      const std::string line = completed.err.substr(at, end - at);
      EXPECT_TRUE(line.starts_with("ts=")) << line;
      if (line.find("level=error") == std::string::npos) continue;
      ++lines;
      EXPECT_EQ(LogValue(line, "msg"), "cannot start");
      reason = LogValue(line, "error");
    }
    EXPECT_EQ(lines, 1) << completed.err;
    return reason;
  }

  TempDir dir_;
  std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  std::string store_ = dir_.File("state.db");
};

TEST_F(StartStopTest, ASecondRouterIsRefusedOnEachPort) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  const struct {
    std::string flag;
    std::string address;
  } kPorts[] = {{"--public-address", router.public_address()},
                {"--admin-address", router.admin_address()},
                {"--http-address", router.http_address()}};
  for (const auto& [flag, address] : kPorts) {
    std::vector<std::string> command_line = CommandLine(dir_.File("second.db"));
    std::erase_if(command_line, [&flag = flag](const std::string& argument) {
      return argument.starts_with(flag);
    });
    command_line.push_back(flag + "=" + address);
    EXPECT_THAT(ReasonNotToStart(command_line),
                AllOf(HasSubstr(flag), HasSubstr(address), HasSubstr("in use")));
    // The same port on every interface is the same port.
    command_line.back() = flag + "=0.0.0.0:" + address.substr(address.find(':') + 1);
    EXPECT_THAT(ReasonNotToStart(command_line), AllOf(HasSubstr(flag), HasSubstr("in use")));
  }
  EXPECT_THAT(CheckHealth(router.PublicChannel(), ""), Optional(Health::kServing));
}

TEST_F(StartStopTest, ASecondRouterIsRefusedOnTheStore) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  EXPECT_THAT(ReasonNotToStart(CommandLine(store_)),
              AllOf(HasSubstr(store_), HasSubstr("another")));
  EXPECT_THAT(CheckHealth(router.PublicChannel(), ""), Optional(Health::kServing));
}

TEST_F(StartStopTest, AFileThatIsNoStoreIsRefusedAndLeftAlone) {
  const std::string notes(5000, 'n');
  const std::string path = dir_.Write("notes.txt", notes);
  EXPECT_THAT(ReasonNotToStart(CommandLine(path)), HasSubstr(path));
  EXPECT_EQ(testing::Run({"cat", path}).out, notes);
}

TEST_F(StartStopTest, AStoreInAMissingFolderIsRefused) {
  EXPECT_THAT(ReasonNotToStart(CommandLine(dir_.File("missing/state.db"))), HasSubstr("missing"));
}

TEST_F(StartStopTest, ABadTopologyIsRefusedWithItsPlace) {
  topology_ = dir_.Write("bad.yaml", "data_centers:\n  - name: ams\n    nodse: []\n");
  EXPECT_THAT(ReasonNotToStart(CommandLine(store_)),
              AllOf(HasSubstr("bad.yaml:3:"), HasSubstr("nodse")));
  topology_ = dir_.File("none.yaml");
  EXPECT_THAT(ReasonNotToStart(CommandLine(store_)), HasSubstr("none.yaml"));
}

TEST_F(StartStopTest, UnusableFlagsExitWithTwoAndSayWhatToDo) {
  std::vector<std::string> command_line = CommandLine(store_);
  command_line.push_back("--percent=3");
  const Completed unknown = testing::Run(command_line);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("--percent"), HasSubstr("--help")));
  const Completed missing = testing::Run({Binary("ringshiftd")});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--topology"));
}

TEST_F(StartStopTest, HelpAndVersionGoToStdout) {
  const Completed help = testing::Run({Binary("ringshiftd"), "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Example"));
  EXPECT_EQ(help.err, "");
  const Completed version = testing::Run({Binary("ringshiftd"), "--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, HasSubstr("ringshiftd "));
}

TEST_F(StartStopTest, EveryLineOfTheLogIsStructured) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  router.process().Signal(SIGINT);
  ASSERT_THAT(router.process().WaitForExit(), Optional(0));
  const std::string log = router.process().Stderr();
  EXPECT_THAT(log, HasSubstr("the store is new"));
  EXPECT_THAT(log, HasSubstr("level=warn msg=\"topology\""));
  for (std::size_t at = 0, end; (end = log.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = log.substr(at, end - at);
    EXPECT_THAT(line, ::testing::MatchesRegex("ts=[0-9T:.-]+Z level=(info|warn|error) msg=\".*"));
  }
  EXPECT_EQ(router.process().Stdout(), "");
}

TEST_F(StartStopTest, ATermSignalEndsTheRouterWellThoughAClientWatchesItsHealth) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  HealthCall watch(router.PublicChannel(), "Watch", "");
  HealthCall watch_service(router.PublicChannel(), "Watch", "ringshift.v1.RoutingService");
  HealthCall watch_admin(router.AdminChannel(), "Watch", "ringshift.v1.MigrationService");
  HealthCall watch_unknown(router.PublicChannel(), "Watch", "nope");
  ASSERT_THAT(watch.Next(), Optional(Health::kServing));
  ASSERT_THAT(watch_service.Next(), Optional(Health::kServing));
  ASSERT_THAT(watch_admin.Next(), Optional(Health::kServing));
  ASSERT_THAT(watch_unknown.Next(), Optional(Health::kServiceUnknown));

  router.process().Signal(SIGTERM);
  EXPECT_THAT(watch.Next(), Optional(Health::kNotServing));
  EXPECT_THAT(watch_service.Next(), Optional(Health::kNotServing));
  EXPECT_THAT(watch_admin.Next(), Optional(Health::kNotServing));
  EXPECT_THAT(router.process().WaitForExit(std::chrono::seconds(30)), Optional(0))
      << router.process().Stderr();
  EXPECT_EQ(watch.Next(), std::nullopt);
  EXPECT_EQ(watch_unknown.Next(), std::nullopt);
}

TEST_F(StartStopTest, ASecondTermSignalDoesNotWaitForAnything) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  HealthCall watch(router.PublicChannel(), "Watch", "");
  ASSERT_THAT(watch.Next(), Optional(Health::kServing));
  router.process().Signal(SIGTERM);
  ASSERT_TRUE(router.process().WaitForStderr("msg=\"stopping\""));
  router.process().Signal(SIGTERM);
  EXPECT_THAT(router.process().WaitForExit(), Optional(128 + SIGTERM));
  EXPECT_THAT(router.process().Stderr(), HasSubstr("without waiting"));
}

TEST_F(StartStopTest, AClientThatHangsUpDoesNotEndTheRouter) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  router.process().Signal(SIGPIPE);
  EXPECT_THAT(CheckHealth(router.PublicChannel(), ""), Optional(Health::kServing));
}

}  // namespace
}  // namespace ringshift::testing
