// How a real router starts, refuses to start, and stops.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/health_client.h"
#include "tests/testing/locked_store.h"
#include "tests/testing/raw_routing_client.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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
    // The next start must not take a store that nobody used for one that remembers.
    EXPECT_FALSE(std::filesystem::exists(dir_.File("second.db"))) << flag;
    // The same port on every interface is the same port.
    command_line.back() = flag + "=0.0.0.0:" + address.substr(address.find(':') + 1);
    EXPECT_THAT(ReasonNotToStart(command_line), AllOf(HasSubstr(flag), HasSubstr("in use")));
  }
  EXPECT_THAT(CheckHealth(router.PublicChannel(), ""), Optional(Health::kServing));
}

TEST_F(StartStopTest, OnePortForTwoOfItsOwnListenersIsRefused) {
  std::vector<std::string> command_line = CommandLine(store_);
  command_line[3] = "--public-address=127.0.0.1:65001";
  for (const char* admin : {"127.0.0.1:65001", "0.0.0.0:65001"}) {
    command_line[4] = std::string("--admin-address=") + admin;
    EXPECT_THAT(ReasonNotToStart(command_line),
                AllOf(HasSubstr("--public-address"), HasSubstr("--admin-address"),
                      HasSubstr("127.0.0.1:65001"), HasSubstr(admin)));
    EXPECT_FALSE(std::filesystem::exists(store_));
  }
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

TEST_F(StartStopTest, ATopologyThatIsAPipeIsRefusedWithAStoreOrWithout) {
  const std::string good = topology_;
  topology_ = dir_.File("pipe");
  ASSERT_EQ(::mkfifo(topology_.c_str(), 0600), 0);  // that nobody writes to
  EXPECT_THAT(ReasonNotToStart(CommandLine(store_)),
              AllOf(HasSubstr(topology_), HasSubstr("not a regular file")));
  EXPECT_FALSE(std::filesystem::exists(store_));
  { RouterProcess(good, store_).WaitUntilReady(); }
  // With a store it serves what it served, and says why not the pipe.
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  EXPECT_TRUE(router.process().WaitForStderr("not a regular file"));
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
  for (HealthCall* each : {&watch, &watch_service, &watch_admin, &watch_unknown}) {
    EXPECT_EQ(each->Next(), std::nullopt);
    EXPECT_EQ(each->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(each->Finish().error_message(), "the router is stopping");
  }
  EXPECT_THAT(router.process().WaitForExit(std::chrono::seconds(30)), Optional(0))
      << router.process().Stderr();
}

TEST_F(StartStopTest, AHangupSignalWhileTheRouterStopsSaysThatNothingIsReloaded) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  RawRoutingClient client(router.public_port());
  client.Route("ams", "key");  // keeps it from ending at once
  router.process().Signal(SIGTERM);
  std::optional<int> exit_code;
  while (!exit_code) {
    router.process().Signal(SIGHUP);
    exit_code = router.process().WaitForExit(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(*exit_code, 0);
  EXPECT_THAT(router.process().Stderr(),
              AllOf(HasSubstr("the router stops, and does not reload the topology"),
                    Not(HasSubstr("once the router is ready"))));
}

TEST_F(StartStopTest, ASecondTermSignalDoesNotWaitForAnything) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  RawRoutingClient client(router.public_port());
  client.Route("ams", "key");  // keeps it from ending at once
  router.process().Signal(SIGTERM);
  ASSERT_TRUE(router.process().WaitForStderr("msg=\"stopping\""));
  // Until it is not taken for an echo of the first.
  std::optional<int> exit_code;
  while (!exit_code) {
    router.process().Signal(SIGTERM);
    exit_code = router.process().WaitForExit(std::chrono::milliseconds(300));
  }
  EXPECT_EQ(*exit_code, 128 + SIGTERM);
  EXPECT_THAT(router.process().Stderr(), HasSubstr("without waiting"));
}

// As timeout(1) does, which signals a process and then its group.
TEST_F(StartStopTest, TwoTermSignalsAtOnceAreOneWish) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  router.process().Signal(SIGTERM);
  router.process().Signal(SIGTERM);
  EXPECT_THAT(router.process().WaitForExit(), Optional(0));
  EXPECT_THAT(router.process().Stderr(), HasSubstr("msg=\"stopped\""));
}

TEST_F(StartStopTest, CallsAreAnsweredWhileTheRouterDrainsAndNoneIsCancelled) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  HealthCall watch(router.PublicChannel(), "Watch", "");
  ASSERT_THAT(watch.Next(), Optional(Health::kServing));

  constexpr std::size_t kClients = 4;
  std::atomic<std::size_t> started = 0;
  std::atomic<bool> not_serving = false;
  std::atomic<int> answered_after_not_serving = 0;
  std::vector<grpc::Status> last(kClients);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      const auto stub = v1::RoutingService::NewStub(router.PublicChannel());
      v1::RouteRequest request;
      request.set_data_center("ams");
      request.set_key("/img/" + std::to_string(i));
      for (bool first = true; last[i].ok(); first = false) {
        grpc::ClientContext context;
        v1::RouteResponse response;
        last[i] = stub->Route(&context, request, &response);
        if (first) ++started;
        if (last[i].ok() && not_serving) ++answered_after_not_serving;
      }
    });
  }
  while (started < kClients) std::this_thread::yield();
  router.process().Signal(SIGTERM);
  EXPECT_THAT(watch.Next(), Optional(Health::kNotServing));
  not_serving = true;
  for (std::thread& client : clients) client.join();
  for (const grpc::Status& status : last) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("the router is stopping"));
  }
  EXPECT_GT(answered_after_not_serving, 0);
  EXPECT_THAT(router.process().WaitForExit(), Optional(0));
}

// What a process opens first would otherwise take the place of stderr, and be written to.
TEST_F(StartStopTest, ALogThatIsClosedIsNotWrittenIntoTheStore) {
  std::vector<std::string> command_line = {"/bin/sh", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"};
  for (const std::string& argument : CommandLine(store_)) command_line.push_back(argument);
  testing::Process router(command_line);
  const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
  const std::string log = "/proc/" + std::to_string(router.pid()) + "/fd/2";
  std::error_code error;
  const auto is_open = [&] { return std::filesystem::file_size(store_, error) > 0 && !error; };
  while (!is_open() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_TRUE(is_open());
  EXPECT_EQ(std::filesystem::read_symlink(log, error), "/dev/null");
}

TEST_F(StartStopTest, ChangesThatWaitForTheStoreHoldUpNeitherRequestsNorTheEnd) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  const LockedStore locked(store_);
  const auto stub = v1::MigrationService::NewStub(router.AdminChannel());
  struct Change {
    grpc::ClientContext context;
    v1::SetMigrationResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SetMigrationResponse>> reader;
  };
  grpc::CompletionQueue done;
  std::deque<Change> changes;
  v1::SetMigrationRequest request;
  request.mutable_selector()->add_data_centers("ams");
  request.set_v2_ppm(1);
  const auto next_code = [&done] {
    void* tag = nullptr;
    bool ok = false;
    done.Next(&tag, &ok);
    return static_cast<Change*>(tag)->status.error_code();
  };
  for (int i = 0; i < 60; ++i) {
    Change& change = changes.emplace_back();
    change.reader = stub->AsyncSetMigration(&change.context, request, &done);
    change.reader->Finish(&change.response, &change.status, &change);
  }
  const auto routing = v1::RoutingService::NewStub(router.PublicChannel());
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    v1::RouteRequest route;
    route.set_data_center("ams");
    route.set_key("key " + std::to_string(i));
    v1::RouteResponse response;
    EXPECT_TRUE(routing->Route(&context, route, &response).ok());
  }

  router.process().Signal(SIGTERM);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(next_code(), grpc::StatusCode::UNAVAILABLE);
  // The store takes two seconds to give up on each change that is tried, so most are not tried.
  EXPECT_THAT(router.process().WaitForExit(std::chrono::seconds(60)), Optional(0))
      << router.process().Stderr();
  const std::string log = router.process().Stderr();
  int tried = 0;
  for (std::size_t at = 0; (at = log.find("migration not changed", at)) != std::string::npos;
       ++at) {
    ++tried;
  }
  EXPECT_LT(tried, 10) << log;
}

TEST_F(StartStopTest, AClientThatHangsUpDoesNotEndTheRouter) {
  RouterProcess router(topology_, store_);
  router.WaitUntilReady();
  router.process().Signal(SIGPIPE);
  EXPECT_THAT(CheckHealth(router.PublicChannel(), ""), Optional(Health::kServing));
}

}  // namespace
}  // namespace ringshift::testing
