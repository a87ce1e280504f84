// A real router and its store: one that is missing or damaged at the start, and one that fails
// while the router runs. Nothing may ever read as share 0 because it was lost.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/document.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

class RouterStoreTest : public ::testing::Test {
 protected:
  RouterStoreTest() { std::filesystem::create_directory(store_folder_); }

  void Start(const std::vector<std::string>& more_flags = {}) {
    router_.emplace(topology_, store_, more_flags);
    router_->WaitUntilReady();
    migrations_ = v1::MigrationService::NewStub(router_->AdminChannel());
    routing_ = v1::RoutingService::NewStub(router_->PublicChannel());
  }

  void Stop() {
    router_->process().Signal(SIGTERM);
    ASSERT_THAT(router_->process().WaitForExit(), Optional(0));
  }

  // What a router says that does not start with this store; it must leave the store's folder alone.
  std::string Refusal(const std::vector<std::string>& more_flags = {}) {
    const std::vector<std::string> files = FilesIn(store_folder_);
    const std::string before = ReadFile(store_);
    std::vector<std::string> argv = {Binary("ringshiftd"),          "--topology=" + topology_,
                                     "--store=sqlite:" + store_,    "--public-address=127.0.0.1:0",
                                     "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"};
    argv.insert(argv.end(), more_flags.begin(), more_flags.end());
    const Completed refused = testing::Run(argv);
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("msg=\"cannot start\""), HasSubstr(store_)));
    EXPECT_EQ(ReadFile(store_), before);
    EXPECT_EQ(FilesIn(store_folder_), files);
    return refused.err;
  }

  grpc::Status Set(const std::string& data_center, int ppm) {
    grpc::ClientContext context;
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers(data_center);
    request.set_v2_ppm(ppm);
    v1::SetMigrationResponse response;
    return migrations_->SetMigration(&context, request, &response);
  }

  // The share that Route answers with; -1 if it does not answer.
  int RoutedShare(const std::string& data_center) {
    grpc::ClientContext context;
    v1::RouteRequest request;
    request.set_data_center(data_center);
    request.set_key("key");
    v1::RouteResponse response;
    const grpc::Status status = routing_->Route(&context, request, &response);
    return status.ok() ? response.table().v2_ppm() : -1;
  }

  // Whether /metrics comes to have this line.
  bool WaitForMetric(const std::string& line) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (router_->Get("/metrics").find("\n" + line + "\n") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  TempDir dir_;
  const std::string store_folder_ = dir_.File("store");
  const std::string store_ = store_folder_ + "/state.db";
  const std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  std::optional<RouterProcess> router_;
  std::unique_ptr<v1::MigrationService::Stub> migrations_;
  std::unique_ptr<v1::RoutingService::Stub> routing_;
};

TEST_F(RouterStoreTest, AStoreThatMustExistIsNotMade) {
  EXPECT_THAT(Refusal({"--store-must-exist"}), HasSubstr("does not exist"));
  EXPECT_THAT(FilesIn(store_folder_), IsEmpty());
}

TEST_F(RouterStoreTest, AStoreThatIsMadeIsSaidToBe) {
  Start();
  EXPECT_THAT(router_->process().Stderr(), HasSubstr("level=warn msg=\"the store is new"));
  EXPECT_THAT(router_->Get("/metrics"), AllOf(HasSubstr("\nringshift_store_created 1\n"),
                                              HasSubstr("\nringshift_store_up 1\n")));
  ASSERT_TRUE(Set("ams", 250'000).ok());
  Stop();
  Start({"--store-must-exist"});
  EXPECT_THAT(router_->Get("/metrics"), HasSubstr("\nringshift_store_created 0\n"));
  EXPECT_EQ(RoutedShare("ams"), 250'000);
}

TEST_F(RouterStoreTest, AStoreThatMakesNoSenseIsRefusedAndLeftAsItIs) {
  Start();
  ASSERT_TRUE(Set("ams", 250'000).ok());
  Stop();
  const std::string good = ReadFile(store_);
  ASSERT_GT(good.size(), 4096);
  std::string garbled = good;
  for (std::size_t i = 100; i < garbled.size(); ++i) garbled[i] = static_cast<char>(i * 7);
  std::string newer = good;
  newer[63] = 99;  // the last byte of user_version
  const struct {
    std::string what;
    std::string contents;
    std::string message;
  } cases[] = {
      {"empty", "", "is an empty file"},
      {"truncated", good.substr(0, good.size() / 2), "restore a backup"},
      {"cut within its header", good.substr(0, 50), "not"},
      {"garbled", garbled, "restore a backup"},
      {"foreign", "these are my notes, please keep them\n" + std::string(5000, 'x'), "not"},
      {"newer", newer, "newer"},
  };
  for (const auto& [what, contents, message] : cases) {
    SCOPED_TRACE(what);
    std::ofstream(store_, std::ios::binary | std::ios::trunc) << contents;
    EXPECT_THAT(Refusal(), HasSubstr(message));
  }
  std::ofstream(store_, std::ios::binary | std::ios::trunc) << good;
  Start();
  EXPECT_EQ(RoutedShare("ams"), 250'000);
}

TEST_F(RouterStoreTest, AStoreThatIsInUseIsRefused) {
  Start();
  EXPECT_THAT(testing::Run({Binary("ringshiftd"), "--topology=" + topology_,
                            "--store=sqlite:" + store_, "--public-address=127.0.0.1:0",
                            "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"})
                  .err,
              AllOf(HasSubstr("msg=\"cannot start\""), HasSubstr(store_)));
  EXPECT_TRUE(Set("ams", 1).ok());
}

// As on a full disk: files cannot grow any more. The router says so, routes on with what it knows,
// refuses changes, and goes on by itself once there is room.
TEST_F(RouterStoreTest, OnAFullDiskRoutingGoesOnAndChangesAreRefused) {
  ::signal(SIGXFSZ, SIG_IGN);  // the router inherits it
  Start();
  ASSERT_TRUE(Set("ams", 250'000).ok());
  const rlimit full{1, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(router_->process().pid(), RLIMIT_FSIZE, &full, nullptr), 0);
  const grpc::Status refused = Set("ams", 500'000);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr(store_));
  EXPECT_TRUE(WaitForMetric("ringshift_store_up 0"));
  EXPECT_TRUE(router_->process().WaitForStderr("level=error msg=\"the store is down"));
  EXPECT_EQ(RoutedShare("ams"), 250'000);
  EXPECT_EQ(router_->Get("/readyz"), "ready\n");

  const rlimit room{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(router_->process().pid(), RLIMIT_FSIZE, &room, nullptr), 0);
  EXPECT_TRUE(WaitForMetric("ringshift_store_up 1"));
  EXPECT_TRUE(router_->process().WaitForStderr("msg=\"the store is up again\""));
  EXPECT_TRUE(Set("ams", 500'000).ok());
  EXPECT_EQ(RoutedShare("ams"), 500'000);
}

TEST_F(RouterStoreTest, AStoreThatIsTakenAwayIsNoticedAndNothingIsWrittenBesideIt) {
  Start();
  ASSERT_TRUE(Set("ams", 250'000).ok());
  ASSERT_EQ(::rename(store_folder_.c_str(), dir_.File("elsewhere").c_str()), 0);
  EXPECT_TRUE(WaitForMetric("ringshift_store_up 0"));
  EXPECT_EQ(Set("ams", 500'000).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(RoutedShare("ams"), 250'000);
  EXPECT_FALSE(std::filesystem::exists(store_folder_));

  ASSERT_EQ(::rename(dir_.File("elsewhere").c_str(), store_folder_.c_str()), 0);
  EXPECT_TRUE(WaitForMetric("ringshift_store_up 1"));
  EXPECT_TRUE(Set("ams", 500'000).ok());
}

}  // namespace
}  // namespace ringshift::testing
