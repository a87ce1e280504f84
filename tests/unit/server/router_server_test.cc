#include "server/router_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "ringshift/v1/status.grpc.pb.h"
#include "ringshift/v1/topology.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/testing/health_client.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::CheckHealth;
using ::ringshift::testing::Health;
using ::ringshift::testing::HealthCall;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr char kPublicService[] = "ringshift.v1.RoutingService";
constexpr const char* kAdminServices[] = {"", "ringshift.v1.MigrationService",
                                          "ringshift.v1.TopologyService",
                                          "ringshift.v1.StatusService"};

class RouterServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.topology_path = dir_.Write("topology.yaml", R"(
data_centers:
  - {name: ams, nodes: [{name: a, address: "10.0.0.1:443", weight: 10}]}
  - {name: fra, nodes: [{name: b, address: "10.0.0.2:443", weight: 10}]}
)");
    options_.sqlite_path = dir_.File("state.db");
    options_.public_address = {"127.0.0.1", 0};
    options_.admin_address = {"127.0.0.1", 0};
    options_.http_address = {"127.0.0.1", 0};
  }

  // Starts it; the channels and the HTTP client go to its ports.
  void Start() {
    ::testing::internal::CaptureStderr();
    absl::StatusOr<std::unique_ptr<RouterServer>> router =
        RouterServer::Start(options_, lifecycle_);
    const std::string log = ::testing::internal::GetCapturedStderr();
    ASSERT_THAT(router, IsOk());
    router_ = *std::move(router);
    const std::string line = log.substr(log.find("msg=\"listening\""));
    const auto connect = [](const std::string& address) {
      return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    };
    public_ = connect(testing::LogValue(line, "public"));
    admin_ = connect(testing::LogValue(line, "admin"));
    std::string http = testing::LogValue(line, "http");
    http_ = std::make_unique<httplib::Client>("http://" + http.substr(0, http.find('\n')));
  }

  grpc::Status Route(const std::string& data_center) {
    grpc::ClientContext context;
    v1::RouteRequest request;
    request.set_data_center(data_center);
    request.set_key("key");
    v1::RouteResponse response;
    return v1::RoutingService::NewStub(public_)->Route(&context, request, &response);
  }

  TempDir dir_;
  RouterOptions options_;
  Lifecycle lifecycle_;
  std::unique_ptr<RouterServer> router_;
  std::shared_ptr<grpc::Channel> public_;
  std::shared_ptr<grpc::Channel> admin_;
  std::unique_ptr<httplib::Client> http_;
};

TEST_F(RouterServerTest, UntilRingsAndStateAreThereItSaysSoAndAnswersNothing) {
  Start();
  for (const char* service : {"", kPublicService}) {
    EXPECT_THAT(CheckHealth(public_, service), Optional(Health::kNotServing)) << service;
  }
  for (const char* service : kAdminServices) {
    EXPECT_THAT(CheckHealth(admin_, service), Optional(Health::kNotServing)) << service;
  }
  EXPECT_EQ(http_->Get("/readyz")->status, 503);
  EXPECT_EQ(http_->Get("/healthz")->status, 200);
  EXPECT_EQ(http_->Get("/metrics")->status, 503);

  EXPECT_EQ(Route("ams").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(Route("ams").error_message(), HasSubstr("the router is starting"));
  grpc::ClientContext context;
  v1::ListMigrationsResponse response;
  const grpc::Status listed =
      v1::MigrationService::NewStub(admin_)->ListMigrations(&context, {}, &response);
  EXPECT_EQ(listed.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(listed.error_message(), HasSubstr("the router is starting"));
  v1::ReloadTopologyResponse reloaded;
  grpc::ClientContext reload_context;
  EXPECT_EQ(v1::TopologyService::NewStub(admin_)
                ->ReloadTopology(&reload_context, {}, &reloaded)
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);
  // The status is for such times.
  v1::GetStatusResponse status;
  grpc::ClientContext status_context;
  ASSERT_TRUE(v1::StatusService::NewStub(admin_)->GetStatus(&status_context, {}, &status).ok());
  EXPECT_EQ(status.phase(), v1::ROUTER_PHASE_STARTING);
  EXPECT_EQ(status.reload().checksum(), "");
  EXPECT_EQ(status.data_centers(), 0);
}

TEST_F(RouterServerTest, ReadyItServesOnAllPorts) {
  Start();
  ASSERT_THAT(router_->BuildAndServe(), IsOk());
  for (const char* service : {"", kPublicService}) {
    EXPECT_THAT(CheckHealth(public_, service), Optional(Health::kServing)) << service;
  }
  for (const char* service : kAdminServices) {
    EXPECT_THAT(CheckHealth(admin_, service), Optional(Health::kServing)) << service;
  }
  EXPECT_EQ(CheckHealth(public_, kAdminServices[1]), std::nullopt);  // it is not on this port
  EXPECT_EQ(http_->Get("/readyz")->status, 200);
  EXPECT_TRUE(Route("ams").ok());
}

TEST_F(RouterServerTest, AnIdleRouterStopsLongBeforeItsGraceIsOver) {
  Start();
  ASSERT_THAT(router_->BuildAndServe(), IsOk());
  ASSERT_TRUE(Route("ams").ok());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(router_->Stop(std::chrono::minutes(10)));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
}

TEST_F(RouterServerTest, WhoWatchesItsHealthDoesNotHoldUpItsStop) {
  Start();
  ASSERT_THAT(router_->BuildAndServe(), IsOk());
  HealthCall public_watch(public_, "Watch", "");
  HealthCall admin_watch(admin_, "Watch", "");
  EXPECT_THAT(public_watch.Next(), Optional(Health::kServing));
  EXPECT_THAT(admin_watch.Next(), Optional(Health::kServing));
  EXPECT_TRUE(router_->Stop(std::chrono::minutes(10)));
  for (HealthCall* watch : {&public_watch, &admin_watch}) {
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(watch->Finish().error_message(), "the router is stopping");
  }
}

TEST_F(RouterServerTest, OnlyTheDataCentersAskedForAreServed) {
  options_.data_centers = {"fra"};
  Start();
  ASSERT_THAT(router_->BuildAndServe(), IsOk());
  EXPECT_TRUE(Route("fra").ok());
  EXPECT_EQ(Route("ams").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(Route("ams").error_message(), AllOf(HasSubstr("ams"), HasSubstr("fra")));
}

TEST_F(RouterServerTest, ADataCenterThatTheTopologyLacksIsRefused) {
  options_.data_centers = {"fra", "asm"};
  EXPECT_THAT(RouterServer::Start(options_, lifecycle_),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("--data-centers"), HasSubstr("asm"), HasSubstr("ams"))));
}

TEST_F(RouterServerTest, ABadTopologyLeavesNoNewStoreBehind) {
  dir_.Write("topology.yaml", "data_centers: 7\n");
  EXPECT_THAT(RouterServer::Start(options_, lifecycle_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("topology.yaml:1:")));
  EXPECT_FALSE(std::filesystem::exists(options_.sqlite_path));
}

TEST_F(RouterServerTest, AStoreThatMustExistIsNotMade) {
  options_.store_must_exist = true;
  EXPECT_THAT(RouterServer::Start(options_, lifecycle_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(options_.sqlite_path)));
  EXPECT_FALSE(std::filesystem::exists(options_.sqlite_path));
}

TEST(LifecycleTest, ItOnlyMovesForward) {
  Lifecycle lifecycle;
  EXPECT_THAT(lifecycle.CheckAnswering(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("starting")));
  EXPECT_FALSE(lifecycle.StartDraining());
  EXPECT_EQ(lifecycle.phase(), Phase::kStarting);
  EXPECT_TRUE(lifecycle.StartServing());
  EXPECT_THAT(lifecycle.CheckAnswering(), IsOk());
  EXPECT_TRUE(lifecycle.StartDraining());
  EXPECT_FALSE(lifecycle.StartDraining());
  EXPECT_FALSE(lifecycle.StartServing());
  lifecycle.WaitUntilDraining();
  EXPECT_THAT(lifecycle.CheckAnswering(), IsOk());
  EXPECT_EQ(lifecycle.phase(), Phase::kDraining);
}

}  // namespace
}  // namespace ringshift
