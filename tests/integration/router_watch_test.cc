// What follows a real router: watches of routing and of migrations, and reports of outcomes.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

// One watch of either method.
template <typename Response>
class Watch {
 public:
  template <typename Stub, typename Request>
  Watch(Stub& stub, const Request& request) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    if constexpr (std::is_same_v<Response, v1::WatchRoutingResponse>) {
      reader_ = stub.WatchRouting(&context_, request);
    } else {
      reader_ = stub.WatchMigrations(&context_, request);
    }
  }
  ~Watch() {
    context_.TryCancel();
    if (!is_over_) reader_->Finish();
  }

  // A test failure if the call is over.
  Response Next() {
    Response response;
    EXPECT_TRUE(reader_->Read(&response)) << Finish().error_message();
    return response;
  }
  // How the call ends, whatever still comes before.
  grpc::Status Finish() {
    Response rest;
    while (reader_->Read(&rest)) {
    }
    is_over_ = true;
    return reader_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<Response>> reader_;
  bool is_over_ = false;
};
using RoutingWatch = Watch<v1::WatchRoutingResponse>;
using MigrationWatch = Watch<v1::WatchMigrationsResponse>;

std::vector<std::string> NamesOf(const v1::WatchRoutingResponse& response) {
  std::vector<std::string> names;
  for (const v1::RoutingState& state : response.data_centers()) {
    names.push_back(state.data_center());
  }
  return names;
}
std::vector<std::string> NamesOf(const v1::WatchMigrationsResponse& response) {
  std::vector<std::string> names;
  for (const v1::Migration& migration : response.migrations()) {
    names.push_back(migration.data_center());
  }
  return names;
}

class RouterWatchTest : public ::testing::Test {
 protected:
  // A router, and what calls it.
  struct Fixture {
    Fixture(const std::string& topology, const std::string& store,
            const std::vector<std::string>& flags = {})
        : router(topology, store, flags) {
      router.WaitUntilReady();
      client = std::make_unique<RouterClient>(router);
      routing = v1::RoutingService::NewStub(router.PublicChannel());
      migrations = v1::MigrationService::NewStub(router.AdminChannel());
    }
    RouterProcess router;
    std::unique_ptr<RouterClient> client;
    std::unique_ptr<v1::RoutingService::Stub> routing;
    std::unique_ptr<v1::MigrationService::Stub> migrations;
  };

  std::unique_ptr<Fixture> Start(const std::vector<std::string>& flags = {}) const {
    return std::make_unique<Fixture>(topology_, store_, flags);
  }

  TempDir dir_;
  std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  std::string store_ = dir_.File("state.db");
};

TEST_F(RouterWatchTest, WatchersSeeAChangeOfShareWithinASecond) {
  const auto router = Start();
  RoutingWatch first(*router->routing, v1::WatchRoutingRequest());
  RoutingWatch second(*router->routing, v1::WatchRoutingRequest());
  MigrationWatch third(*router->migrations, v1::WatchMigrationsRequest());
  EXPECT_THAT(NamesOf(first.Next()), UnorderedElementsAre("ams", "fra", "new"));
  EXPECT_THAT(NamesOf(second.Next()), UnorderedElementsAre("ams", "fra", "new"));
  EXPECT_THAT(NamesOf(third.Next()), UnorderedElementsAre("ams", "fra", "new"));

  // The quickest of some, since the machine may be busy.
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int ppm = 1; ppm <= 5; ++ppm) {
    ASSERT_THAT(router->client->SetShare("ams", ppm).status(), IsOk());
    const auto begin = std::chrono::steady_clock::now();
    for (RoutingWatch* watch : {&first, &second}) {
      const v1::WatchRoutingResponse response = watch->Next();
      ASSERT_THAT(NamesOf(response), ElementsAre("ams"));
      EXPECT_EQ(response.data_centers(0).table().v2_ppm(), ppm);
    }
    const v1::WatchMigrationsResponse response = third.Next();
    quickest = std::min(quickest, std::chrono::steady_clock::now() - begin);
    ASSERT_THAT(NamesOf(response), ElementsAre("ams"));
    EXPECT_EQ(response.migrations(0).v2_ppm(), ppm);
    EXPECT_EQ(response.migrations(0).effective_v2_ppm(), ppm);
  }
  EXPECT_LT(quickest, std::chrono::seconds(1));
}

TEST_F(RouterWatchTest, AWatchThatBeginsBehindAChangeBeginsWithIt) {
  const auto router = Start();
  v1::WatchRoutingRequest request;
  request.add_data_centers("ams");
  for (int ppm = 1; ppm <= 10; ++ppm) {
    ASSERT_THAT(router->client->SetShare("ams", ppm).status(), IsOk());
    RoutingWatch routing(*router->routing, request);
    MigrationWatch migrations(*router->migrations, v1::WatchMigrationsRequest());
    EXPECT_EQ(routing.Next().data_centers(0).table().v2_ppm(), ppm);
    const v1::WatchMigrationsResponse first = migrations.Next();
    for (const v1::Migration& migration : first.migrations()) {
      if (migration.data_center() == "ams") {
        EXPECT_EQ(migration.effective_v2_ppm(), ppm);
      }
    }
  }
}

TEST_F(RouterWatchTest, AWatcherThatComesBackGetsOnlyWhatChangedMeanwhile) {
  const auto router = Start();
  v1::WatchRoutingRequest routing;
  v1::WatchMigrationsRequest migrations;
  routing.set_cursor(RoutingWatch(*router->routing, routing).Next().cursor());
  migrations.set_cursor(MigrationWatch(*router->migrations, migrations).Next().cursor());
  ASSERT_THAT(router->client->SetShare("fra", 7).status(), IsOk());
  // Another watch says when the change is there to be told.
  RoutingWatch other(*router->routing, v1::WatchRoutingRequest());
  for (bool is_there = false; !is_there;) {
    const v1::WatchRoutingResponse response = other.Next();
    for (const v1::RoutingState& state : response.data_centers()) {
      is_there = is_there || state.table().v2_ppm() == 7;
    }
  }
  const v1::WatchRoutingResponse response = RoutingWatch(*router->routing, routing).Next();
  EXPECT_FALSE(response.is_snapshot());
  EXPECT_THAT(NamesOf(response), ElementsAre("fra"));
  EXPECT_EQ(response.data_centers(0).table().v2_ppm(), 7);
  MigrationWatch watch(*router->migrations, migrations);
  v1::WatchMigrationsResponse changed = watch.Next();
  EXPECT_FALSE(changed.is_snapshot());
  if (changed.migrations().empty()) changed = watch.Next();
  EXPECT_THAT(NamesOf(changed), ElementsAre("fra"));
}

TEST_F(RouterWatchTest, AfterARestartACursorGetsASnapshot) {
  v1::WatchRoutingRequest routing;
  v1::WatchMigrationsRequest migrations;
  {
    const auto router = Start();
    routing.set_cursor(RoutingWatch(*router->routing, routing).Next().cursor());
    migrations.set_cursor(MigrationWatch(*router->migrations, migrations).Next().cursor());
  }
  const auto router = Start();
  const v1::WatchRoutingResponse response = RoutingWatch(*router->routing, routing).Next();
  EXPECT_TRUE(response.is_snapshot());
  EXPECT_THAT(NamesOf(response), UnorderedElementsAre("ams", "fra", "new"));
  EXPECT_TRUE(MigrationWatch(*router->migrations, migrations).Next().is_snapshot());
}

TEST_F(RouterWatchTest, AWatcherOfOneDataCenterHearsOfItsEnd) {
  const auto router = Start({"--max-reload-churn=100"});
  v1::WatchRoutingRequest request;
  request.add_data_centers("fra");
  RoutingWatch watch(*router->routing, request);
  EXPECT_THAT(NamesOf(watch.Next()), ElementsAre("fra"));
  ASSERT_THAT(router->client->SetShare("ams", 7).status(), IsOk());  // of no interest
  std::string topology = SmallTopology();
  const std::size_t fra = topology.find("  - name: fra");
  topology.erase(fra, topology.find("  - name: new") - fra);
  dir_.Write("topology.yaml", topology);
  ASSERT_THAT(router->client->Reload().status(), IsOk());
  const v1::WatchRoutingResponse response = watch.Next();
  EXPECT_THAT(response.removed(), ElementsAre("fra"));
  EXPECT_THAT(NamesOf(response), IsEmpty());
  const grpc::Status status = RoutingWatch(*router->routing, request).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("fra"), HasSubstr("ams")));
}

TEST_F(RouterWatchTest, MoreThanSixtyFourWatchersOfMigrationsAreRefused) {
  const auto router = Start();
  std::vector<std::unique_ptr<MigrationWatch>> watches;
  for (int i = 0; i < 64; ++i) {
    watches.push_back(
        std::make_unique<MigrationWatch>(*router->migrations, v1::WatchMigrationsRequest()));
    watches.back()->Next();
  }
  const grpc::Status status =
      MigrationWatch(*router->migrations, v1::WatchMigrationsRequest()).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("64 clients watch"));
}

TEST_F(RouterWatchTest, IdleStreamsDoNotHoldUpTheEnd) {
  const auto router = Start({"--outcome-reporters=loopback"});
  std::vector<std::unique_ptr<RoutingWatch>> watches;
  for (int i = 0; i < 200; ++i) {
    watches.push_back(std::make_unique<RoutingWatch>(*router->routing, v1::WatchRoutingRequest()));
    watches.back()->Next();
  }
  MigrationWatch migrations(*router->migrations, v1::WatchMigrationsRequest());
  migrations.Next();
  grpc::ClientContext context;
  v1::ReportOutcomesResponse counted;
  const auto report = router->routing->ReportOutcomes(&context, &counted);
  ASSERT_TRUE(report->Write(v1::ReportOutcomesRequest()));
  EXPECT_THAT(router->router.Get("/metrics"),
              AllOf(HasSubstr("ringshift_watches{method=\"WatchRouting\"} 200\n"),
                    HasSubstr("ringshift_watches{method=\"WatchMigrations\"} 1\n")));

  const auto begin = std::chrono::steady_clock::now();
  router->router.process().Signal(SIGTERM);
  for (const auto& watch : watches) {
    const grpc::Status status = watch->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("stopping"));
  }
  EXPECT_THAT(migrations.Finish().error_message(), HasSubstr("stopping"));
  EXPECT_THAT(report->Finish().error_message(), HasSubstr("stopping"));
  EXPECT_THAT(router->router.process().WaitForExit(), Optional(0));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(6));
}

TEST_F(RouterWatchTest, ADataCenterOfAsManyNodesAsThereCanBeIsReceived) {
  std::string nodes;
  for (int i = 0; i < 65'536; ++i) {
    const std::string address = "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256);
    nodes += "      - {name: cache-" + std::to_string(i) + ".ams.example.net, address: \"" +
             address + ":443\", weight: 1}\n";
  }
  topology_ =
      dir_.Write("large.yaml", "data_centers:\n  - name: ams\n    nodes:\n" + nodes +
                                   "    rings:\n      v1: {points_per_weight: 1}\n"
                                   "      v2: {points_per_weight: 1}\n  - name: fra\n    nodes:\n"
                                   "      - {name: f, address: \"10.9.0.1:443\", weight: 1}\n");
  const auto router = Start();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 << 20);
  const auto stub = v1::RoutingService::NewStub(grpc::CreateCustomChannel(
      router->router.public_address(), grpc::InsecureChannelCredentials(), arguments));
  RoutingWatch watch(*stub, v1::WatchRoutingRequest());
  const v1::WatchRoutingResponse first = watch.Next();
  EXPECT_TRUE(first.is_snapshot());
  EXPECT_EQ(first.cursor(), "");
  ASSERT_THAT(NamesOf(first), ElementsAre("ams"));
  EXPECT_EQ(first.data_centers(0).nodes_size(), 65'536);
  EXPECT_GT(first.ByteSizeLong(), std::size_t{4} << 20);
  const v1::WatchRoutingResponse second = watch.Next();
  EXPECT_FALSE(second.is_snapshot());
  EXPECT_NE(second.cursor(), "");
  EXPECT_THAT(NamesOf(second), ElementsAre("fra"));
  // Why a client has to set that.
  const grpc::Status status = RoutingWatch(*router->routing, v1::WatchRoutingRequest()).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(RouterWatchTest, ReportsOfThoseWhoMayAreCountedAndShown) {
  const auto router = Start({"--outcome-reporters=127.0.0.0/8"});
  EXPECT_THAT(router->router.Get("/metrics"),
              HasSubstr("ringshift_reported_outcomes_total{data_center=\"fra\",ring_version=\"v1\","
                        "outcome=\"origin\"} 0\n"));
  grpc::ClientContext context;
  v1::ReportOutcomesResponse counted;
  const auto report = router->routing->ReportOutcomes(&context, &counted);
  v1::ReportOutcomesRequest request;
  for (const char* name : {"ams", "nope", "\"\n{"}) {
    v1::OutcomeCount& outcome = *request.add_outcomes();
    outcome.set_data_center(name);
    outcome.set_ring_version(v1::RING_VERSION_V1);
    outcome.set_node("cache-0");
    outcome.set_outcome(v1::OUTCOME_PREVIOUS_OWNER_HIT);
    outcome.set_count(5);
  }
  ASSERT_TRUE(report->Write(request));
  report->WritesDone();
  EXPECT_TRUE(report->Finish().ok());
  EXPECT_EQ(counted.count(), 15);
  EXPECT_THAT(
      router->router.Get("/metrics"),
      AllOf(HasSubstr("ringshift_reported_outcomes_total{data_center=\"ams\",ring_version=\"v1\","
                      "outcome=\"previous_owner_hit\"} 5\n"),
            HasSubstr("ringshift_reported_outcomes_total{data_center=\"other\",ring_version=\"v1\","
                      "outcome=\"previous_owner_hit\"} 10\n")));
}

TEST_F(RouterWatchTest, NobodyMayReportUnlessTheRouterIsTold) {
  const auto router = Start();
  grpc::ClientContext context;
  v1::ReportOutcomesResponse counted;
  const auto report = router->routing->ReportOutcomes(&context, &counted);
  const grpc::Status status = report->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("127.0.0.1"), HasSubstr("--outcome-reporters")));
}

}  // namespace
}  // namespace ringshift::testing
