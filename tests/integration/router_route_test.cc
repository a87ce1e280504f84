// Route over gRPC, from a real router.
#include "routing/route.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "routing/topology_loader.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

v1::RouteRequest Request(const std::string& data_center, const std::string& key,
                         const std::string& pool = "", int replicas = 0) {
  v1::RouteRequest request;
  request.set_data_center(data_center);
  request.set_key(key);
  request.set_pool(pool);
  request.set_replicas(replicas);
  return request;
}

// Keys of all kinds: texts, bytes that are no text, one byte, the longest.
std::string MakeKey(int i) {
  if (i == 0) return std::string(kMaxKeyBytes, '\xFF');
  if (i == 1) return std::string(1, '\0');
  if (i % 3 == 0) return std::string("\xFF\x00\x80", 3) + std::to_string(i);
  return "https://img.example/" + std::to_string(i) + ".jpg";
}

class RouteTest : public ::testing::Test {
 protected:
  RouteTest() { router_.WaitUntilReady(); }

  grpc::Status Route(const v1::RouteRequest& request, v1::RouteResponse* response) {
    grpc::ClientContext context;
    return routing_->Route(&context, request, response);
  }

  // The answer; a test failure if there is none.
  v1::RouteResponse Answer(const v1::RouteRequest& request) {
    v1::RouteResponse response;
    const grpc::Status status = Route(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  absl::Status Refusal(const v1::RouteRequest& request) {
    v1::RouteResponse response;
    const grpc::Status status = Route(request, &response);
    return {static_cast<absl::StatusCode>(status.error_code()),
            absl::string_view(status.error_message())};
  }

  v1::Migration SetShare(const std::string& data_center, int ppm) {
    grpc::ClientContext context;
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers(data_center);
    request.set_v2_ppm(ppm);
    v1::SetMigrationResponse response;
    const grpc::Status status = migration_->SetMigration(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.changes(0).migration();
  }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  std::unique_ptr<v1::RoutingService::Stub> routing_ =
      v1::RoutingService::NewStub(router_.PublicChannel());
  std::unique_ptr<v1::MigrationService::Stub> migration_ =
      v1::MigrationService::NewStub(router_.AdminChannel());
};

TEST_F(RouteTest, TheWireGivesTheAnswersOfTheLibrary) {
  const v1::Migration state = SetShare("ams", 400'000);
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(SmallTopology(), "small"));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const DataCenter> data_center,
                       DataCenter::Build(*loaded.topology.Find("ams")));
  Migration migration;
  migration.data_center = "ams";
  migration.share = Share::FromPpm(400'000).value();
  migration.salt = state.salt();
  migration.decision_algorithm = state.decision_algorithm();
  migration.revision = state.revision();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const RoutingTable> table,
                       RoutingTable::Create(data_center, migration));

  std::map<v1::RingVersion, int> by_version;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = MakeKey(i);
    const std::string pool = i % 2 == 0 ? "" : "fedramp";
    const int replicas = i % 6;
    ASSERT_OK_AND_ASSIGN(const RouteAnswer expected,
                         ringshift::Route(*table, {key, pool, replicas}));
    const v1::RouteResponse actual = Answer(Request("ams", key, pool, replicas));

    std::vector<const v1::RoutedNode*> nodes = {&actual.owner()};
    for (const v1::RoutedNode& node : actual.replicas()) nodes.push_back(&node);
    ASSERT_EQ(nodes.size(), expected.nodes().size()) << i;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      EXPECT_EQ(nodes[n]->name(), data_center->node(expected.nodes()[n]).name) << i;
      EXPECT_EQ(nodes[n]->address(), data_center->node(expected.nodes()[n]).address) << i;
    }
    EXPECT_EQ(actual.ring_version(),
              expected.ring_version == RingVersion::kV1 ? v1::RING_VERSION_V1 : v1::RING_VERSION_V2)
        << i;
    EXPECT_EQ(actual.table().checksum(), table->checksum());
    EXPECT_EQ(actual.table().migration_revision(), state.revision());
    EXPECT_EQ(actual.is_short(), pool == "fedramp" && replicas > 4) << i;  // it has four nodes
    ++by_version[actual.ring_version()];
  }
  EXPECT_GT(by_version[v1::RING_VERSION_V1], 400);
  EXPECT_GT(by_version[v1::RING_VERSION_V2], 200);
}

TEST_F(RouteTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(Refusal(Request("asm", "key")),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("\"asm\""), HasSubstr("ams"),
                                                          HasSubstr("fra"), HasSubstr("new"))));
  EXPECT_THAT(
      Refusal(Request("ams", "key", "fedrmap")),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("\"fedrmap\""), HasSubstr("default"), HasSubstr("fedramp"))));
}

TEST_F(RouteTest, AnUnknownNameOfAnyLengthIsRefusedAsUnknown) {
  EXPECT_THAT(Refusal(Request(std::string(100'000, 'x'), "key")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("xxx")));
  EXPECT_THAT(Refusal(Request("ams", "key", std::string(100'000, 'x'))),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("xxx")));
}

TEST_F(RouteTest, WhatIsOutOfRangeIsRefusedWithTheLimit) {
  EXPECT_THAT(Refusal(Request("", "key")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center is empty")));
  EXPECT_THAT(Refusal(Request("ams", "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key")));
  EXPECT_THAT(
      Refusal(Request("ams", std::string(kMaxKeyBytes + 1, 'k'))),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("16385"), HasSubstr("16384"))));
  EXPECT_THAT(
      Refusal(Request("ams", "key", "", 17)),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("17"), HasSubstr("16"))));
  EXPECT_THAT(
      Refusal(Request("ams", "key", "", -1)),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("-1"), HasSubstr("16"))));
}

TEST_F(RouteTest, ANameThatIsNoTextIsRefusedAndWritesNoLine) {
  v1::RouteRequest request;
  request.set_data_center("\xFF");
  request.set_key("k");
  EXPECT_THAT(Refusal(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes of the request")));
  router_.process().Signal(SIGTERM);
  EXPECT_THAT(router_.process().WaitForExit(), Optional(0));
  std::istringstream lines(router_.process().Stderr());
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, StartsWith("ts="));
}

TEST_F(RouteTest, APoolWithoutNodesIsUnavailable) {
  EXPECT_THAT(Refusal(Request("ams", "key", "nowhere")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nowhere")));
}

TEST_F(RouteTest, APoolIsNeverLeft) {
  const std::set<std::string> fedramp = {"cache-0", "cache-3", "cache-6", "cache-9"};
  for (int i = 0; i < 300; ++i) {
    const v1::RouteResponse response = Answer(Request("ams", MakeKey(i), "fedramp", 16));
    EXPECT_TRUE(fedramp.contains(response.owner().name())) << i;
    EXPECT_EQ(response.replicas_size(), 3);
    EXPECT_TRUE(response.is_short());
    for (const v1::RoutedNode& node : response.replicas()) {
      EXPECT_TRUE(fedramp.contains(node.name())) << i;
    }
  }
}

TEST_F(RouteTest, ADataCenterWithoutV1AnswersFromV2) {
  EXPECT_EQ(Answer(Request("new", "key")).ring_version(), v1::RING_VERSION_V2);
}

TEST_F(RouteTest, OneKeyHasOneAnswerFromEveryThread) {
  SetShare("ams", 500'000);
  const std::string first = Answer(Request("ams", "the key", "", 3)).SerializeAsString();
  std::vector<std::thread> threads;
  std::vector<int> differing(8);
  for (int& count : differing) {
    threads.emplace_back([this, &first, &count] {
      const auto stub = v1::RoutingService::NewStub(router_.PublicChannel());
      for (int i = 0; i < 1000; ++i) {
        grpc::ClientContext context;
        v1::RouteResponse response;
        const grpc::Status status =
            stub->Route(&context, Request("ams", "the key", "", 3), &response);
        count += !status.ok() || response.SerializeAsString() != first;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(differing, ::testing::Each(0));
}

// SmallTopology with the nodes of `ams` in the order that `shuffle` gives their lines.
std::string Shuffled(const std::function<void(std::vector<std::string>&)>& shuffle) {
  std::string yaml = SmallTopology();
  const std::size_t begin = yaml.find("      - {name: cache-0");
  const std::size_t end = yaml.find("    pools:");
  std::vector<std::string> lines;
  for (std::size_t at = begin; at < end;) {
    const std::size_t next = yaml.find('\n', at) + 1;
    lines.push_back(yaml.substr(at, next - at));
    at = next;
  }
  EXPECT_EQ(lines.size(), 10);
  shuffle(lines);
  std::string shuffled;
  for (const std::string& line : lines) shuffled += line;
  return yaml.replace(begin, end - begin, shuffled);
}

TEST(FleetTest, EveryRouterGivesTheSameAnswersWhateverTheOrderOfItsTopology) {
  const TempDir dir;
  const std::string topologies[] = {
      dir.Write("0.yaml", SmallTopology()),
      dir.Write("1.yaml", Shuffled([](auto& lines) { std::reverse(lines.begin(), lines.end()); })),
      dir.Write("2.yaml", Shuffled([](auto& lines) {
                  std::shuffle(lines.begin(), lines.end(), std::mt19937(7));
                }))};
  const auto start = [&](int i) {
    const std::string n = std::to_string(i);
    return std::make_unique<RouterProcess>(topologies[i], dir.File(n + ".db"));
  };
  const auto answers = [](RouterProcess& router) {
    router.WaitUntilReady();
    const auto routing = v1::RoutingService::NewStub(router.PublicChannel());
    std::vector<std::string> all;
    for (int i = 0; i < 1000; ++i) {
      grpc::ClientContext context;
      v1::RouteResponse response;
      const grpc::Status status = routing->Route(
          &context, Request("ams", MakeKey(i), i % 2 == 0 ? "" : "fedramp", 3), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      all.push_back(response.DebugString());
    }
    return all;
  };

  std::vector<std::unique_ptr<RouterProcess>> routers;
  std::vector<std::vector<std::string>> before;
  for (int i = 0; i < 3; ++i) {
    routers.push_back(start(i));
    routers.back()->WaitUntilReady();
    grpc::ClientContext context;
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers("ams");
    request.set_v2_ppm(375'000);
    v1::SetMigrationResponse response;
    const auto migration = v1::MigrationService::NewStub(routers.back()->AdminChannel());
    ASSERT_TRUE(migration->SetMigration(&context, request, &response).ok());
    before.push_back(answers(*routers.back()));
  }
  EXPECT_EQ(before[1], before[0]);
  EXPECT_EQ(before[2], before[0]);
  const auto by_v2 = std::count_if(before[0].begin(), before[0].end(), [](const auto& answer) {
    return answer.find("RING_VERSION_V2") != std::string::npos;
  });
  EXPECT_GT(by_v2, 300);
  EXPECT_LT(by_v2, 450);

  routers[1]->process().Signal(SIGKILL);
  ASSERT_TRUE(routers[1]->process().WaitForExit());
  routers[1] = start(1);
  EXPECT_EQ(answers(*routers[1]), before[0]);
}

}  // namespace
}  // namespace ringshift::testing
