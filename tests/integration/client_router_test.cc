// ringshift::Client against real routers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ringshift/client.h"
#include "ringshift/fake_client.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Optional;

const RouteQuery kQuery = {"ams", "key"};

// Some routers, each with a store of its own, and a client of all of them.
class ClientRouterTest : public ::testing::Test {
 protected:
  // `flags` are those of the first one.
  void Start(int routers, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < static_cast<std::size_t>(routers); ++i) {
      routers_.push_back(std::make_unique<RouterProcess>(
          topology_, Store(i), i == 0 ? flags : std::vector<std::string>()));
    }
    for (auto& router : routers_) {
      router->WaitUntilReady();
      addresses.push_back(router->public_address());
    }
    ASSERT_OK_AND_ASSIGN(client_, Client::Create({addresses, kPatience}));
  }

  // On the address that it had.
  void Restart(std::size_t i) {
    const std::string address = routers_[i]->public_address();
    routers_[i].reset();
    routers_[i] = std::make_unique<RouterProcess>(
        topology_, Store(i), std::vector<std::string>{"--public-address=" + address});
    routers_[i]->WaitUntilReady();
  }

  // Keys that a router has answered since its start.
  int Routes(std::size_t i) const {
    const std::optional<int> routes = Metric(
        i, "ringshift_routes_total{data_center=\"ams\",pool=\"default\",ring_version=\"v1\"}");
    EXPECT_NE(routes, std::nullopt);
    return routes.value_or(0);
  }

  // Calls that it has refused because it had too much to do.
  int Refused(std::size_t i) const {
    return Metric(i,
                  "ringshift_route_errors_total{data_center=\"other\",code=\"RESOURCE_EXHAUSTED\"}")
        .value_or(0);
  }

  // None if the router does not have it.
  std::optional<int> Metric(std::size_t i, const std::string& name) const {
    const std::string metrics = routers_[i]->Get("/metrics");
    const std::string line = "\n" + name + " ";
    const std::size_t at = metrics.find(line);
    if (at == std::string::npos) return std::nullopt;
    return std::stoi(metrics.substr(at + line.size()));
  }

  // Calls until router `i` takes part. A call that fails is a test failure.
  void WaitUntilItTakesPart(std::size_t i) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (const int before = Routes(i); Routes(i) == before && !HasFailure();) {
      for (int k = 0; k < 10; ++k) ASSERT_THAT(client_->Route(kQuery), IsOk());
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    }
  }

  std::string Store(std::size_t i) const { return dir_.File("state" + std::to_string(i) + ".db"); }

  const TempDir dir_;
  const std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  std::vector<std::unique_ptr<RouterProcess>> routers_;
  std::unique_ptr<Client> client_;
};

// Calls all the time, from several threads, until one fails, which is a test failure.
class Load {
 public:
  explicit Load(Client& client) {
    for (int t = 0; t < 3; ++t) {
      threads_.emplace_back([this, &client] {
        while (!stop_) {
          const absl::StatusOr<RouteReply> reply = client.Route(kQuery);
          ++calls_;
          if (reply.ok()) continue;
          stop_ = true;
          ADD_FAILURE() << "after " << calls_ << " calls: " << reply.status();
        }
      });
    }
  }
  ~Load() { Stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Until that many more are made.
  void Run(int calls) const {
    for (const int before = calls_; calls_ < before + calls && !stop_;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};
  std::vector<std::thread> threads_;
};

RoutedNode FromProto(const v1::RoutedNode& node) { return {node.name(), node.address()}; }

MATCHER_P(IsNode, node, "") { return arg.name == node.name && arg.address == node.address; }

TEST_F(ClientRouterTest, AnswersAreThoseOfTheProtocol) {
  Start(1);
  const RouterClient direct(*routers_[0]);
  for (const int ppm : {900'000, 500'000}) ASSERT_THAT(direct.SetShare("ams", ppm), IsOk());
  int ring_two = 0;
  int named = 0;
  for (const std::string pool : {"", "fedramp"}) {
    for (int i = 0; i < 200; ++i) {
      const int replicas = i % 7;
      v1::RouteRequest request;
      request.set_data_center("ams");
      request.set_key("/img/" + std::to_string(i));
      request.set_pool(pool);
      request.set_replicas(replicas);
      ASSERT_OK_AND_ASSIGN(const v1::RouteResponse expected, direct.Route(request));
      ASSERT_OK_AND_ASSIGN(const RouteReply reply,
                           client_->Route({"ams", request.key(), pool, replicas}));
      EXPECT_THAT(reply.owner, IsNode(FromProto(expected.owner())));
      ASSERT_EQ(reply.replicas.size(), static_cast<std::size_t>(expected.replicas_size()));
      for (int k = 0; k < expected.replicas_size(); ++k) {
        EXPECT_THAT(reply.replicas[static_cast<std::size_t>(k)],
                    IsNode(FromProto(expected.replicas(k))));
      }
      EXPECT_EQ(reply.ring_version, expected.ring_version());
      EXPECT_EQ(reply.table.checksum, expected.table().checksum());
      EXPECT_EQ(reply.table.migration_revision, expected.table().migration_revision());
      EXPECT_EQ(reply.table.v2_ppm, 500'000);
      EXPECT_EQ(reply.is_short, expected.is_short());
      ASSERT_EQ(reply.previous_owner.has_value(), expected.has_previous_owner());
      if (reply.previous_owner) {
        ++named;
        EXPECT_THAT(*reply.previous_owner, IsNode(FromProto(expected.previous_owner())));
      }
      if (reply.ring_version == 2) ++ring_two;
    }
  }
  EXPECT_THAT(ring_two, Gt(100));
  EXPECT_THAT(named, Gt(50));
}

TEST_F(ClientRouterTest, ABatchHasTheOwnersOfItsKeys) {
  Start(1);
  for (const int ppm : {900'000, 500'000}) {
    ASSERT_THAT(RouterClient(*routers_[0]).SetShare("ams", ppm), IsOk());
  }
  int named = 0;
  for (const std::string pool : {"", "fedramp"}) {
    BatchQuery query = {"ams", {}, pool};
    for (int i = 0; i < 1'000; ++i) query.keys.push_back("/img/" + std::to_string(i));
    ASSERT_OK_AND_ASSIGN(const BatchReply batch, client_->RouteBatch(query));
    ASSERT_EQ(batch.size(), query.keys.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(const RouteReply reply, client_->Route({"ams", query.keys[i], pool}));
      EXPECT_THAT(batch.owner(i), IsNode(reply.owner));
      EXPECT_EQ(batch.ring_versions[i], reply.ring_version);
      ASSERT_EQ(batch.previous_owner(i) != nullptr, reply.previous_owner.has_value());
      if (reply.previous_owner) {
        ++named;
        EXPECT_THAT(*batch.previous_owner(i), IsNode(*reply.previous_owner));
      }
      EXPECT_EQ(batch.table.checksum, reply.table.checksum);
    }
  }
  EXPECT_THAT(named, Gt(500));
  EXPECT_THAT(client_->RouteBatch({"ams", {"a", ""}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1")));
  EXPECT_THAT(client_->RouteBatch({"ams", {}}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                         HasSubstr(routers_[0]->public_address())));
}

TEST_F(ClientRouterTest, ErrorsAreThoseOfTheRouterWithItsAddress) {
  Start(1);
  const std::string address = routers_[0]->public_address();
  EXPECT_THAT(client_->Route({"nowhere", "key"}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("router " + address + ": "), HasSubstr("nowhere"))));
  EXPECT_THAT(client_->Route({"ams", ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(address)));
  EXPECT_THAT(client_->Route({"ams", "key", "", 17}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("17")));
}

// What `client` says to queries at and past every limit.
std::vector<absl::StatusCode> Judge(Client& client) {
  const std::string longest(16'384, 'k');
  const RouteQuery routes[] = {
      {"ams", "key"},         {"", "key"},           {"ams", ""},           {"ams", longest},
      {"ams", longest + "k"}, {"ams", "key", "", 0}, {"ams", "key", "", 1}, {"ams", "key", "", 16},
      {"ams", "key", "", 17}, {"ams", "key", "", -1}};
  const BatchQuery batches[] = {{"ams", {"key"}},
                                {"", {"key"}},
                                {"ams", {}},
                                {"ams", {"key", ""}},
                                {"ams", {"key", longest}},
                                {"ams", {"key", longest + "k"}},
                                {"ams", std::vector<std::string>(10'000, "k")},
                                {"ams", std::vector<std::string>(10'001, "k")},
                                {"ams", std::vector<std::string>(255, longest)},
                                {"ams", std::vector<std::string>(256, longest)},
                                {"", std::vector<std::string>(256, longest)}};
  std::vector<absl::StatusCode> codes;
  for (const RouteQuery& query : routes) codes.push_back(client.Route(query).status().code());
  for (const BatchQuery& query : batches) {
    codes.push_back(client.RouteBatch(query).status().code());
  }
  return codes;
}

TEST_F(ClientRouterTest, AFakeRefusesWhatARouterRefuses) {
  Start(1);
  FakeClient fake;
  EXPECT_THAT(Judge(fake), ElementsAreArray(Judge(*client_)));
}

TEST_F(ClientRouterTest, CallsThatARouterRefusesForLoadAreAnsweredByAnotherOne) {
  Start(2, {"--max-concurrent-calls=1"});
  WaitUntilItTakesPart(0);
  WaitUntilItTakesPart(1);
  // Its own, so that the other router gets none of its batches.
  ASSERT_OK_AND_ASSIGN(const auto batches,
                       Client::Create({{routers_[0]->public_address()}, kPatience}));
  const BatchQuery batch = {"ams", std::vector<std::string>(10'000, "key")};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (int refused_batches = 0; Refused(0) == refused_batches;) {
    std::atomic<bool> stop{false};
    std::thread load([&] {
      while (!stop) {
        if (!batches->RouteBatch(batch).ok()) ++refused_batches;
      }
    });
    for (int i = 0; i < 20; ++i) EXPECT_THAT(client_->Route(kQuery), IsOk());
    stop = true;
    load.join();
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

TEST_F(ClientRouterTest, ARouterThatIsKilledCostsNoCallAndTakesPartAgainWhenItIsBack) {
  Start(2);
  Load load(*client_);
  load.Run(200);
  routers_[0]->process().Signal(SIGKILL);
  EXPECT_THAT(routers_[0]->process().WaitForExit(), Optional(128 + SIGKILL));
  load.Run(500);
  Restart(0);
  WaitUntilItTakesPart(0);
  load.Stop();
  routers_[1]->process().Signal(SIGKILL);
  EXPECT_THAT(routers_[1]->process().WaitForExit(), Optional(128 + SIGKILL));
  for (int i = 0; i < 100; ++i) ASSERT_THAT(client_->Route(kQuery), IsOk());
}

TEST_F(ClientRouterTest, RoutersThatAreRestartedInTurnCostNoCall) {
  Start(2);
  Load load(*client_);
  for (const std::size_t i : {0U, 1U}) {
    load.Run(200);
    routers_[i]->process().Signal(SIGTERM);
    EXPECT_THAT(routers_[i]->process().WaitForExit(), Optional(0));
    load.Run(200);
    Restart(i);
    WaitUntilItTakesPart(i);
  }
}

TEST_F(ClientRouterTest, TheOnlyRouterIsFoundAgainAfterItsRestart) {
  Start(1);
  EXPECT_THAT(client_->Route(kQuery), IsOk());
  routers_[0]->process().Signal(SIGKILL);
  EXPECT_THAT(routers_[0]->process().WaitForExit(), Optional(128 + SIGKILL));
  EXPECT_THAT(client_->Route(kQuery),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(routers_[0]->public_address())));
  Restart(0);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!client_->Route(kQuery).ok()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
}

}  // namespace
}  // namespace ringshift::testing
