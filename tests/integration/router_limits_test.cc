// A real router that has more to do than it can.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/health_client.h"

namespace ringshift::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Optional;

using Clock = std::chrono::steady_clock;

// Keeps `outstanding` calls of Route under way over each of `connections`, as if there were no
// limit, until it is destroyed. Batches among them, one in fifty.
class Flood {
 public:
  Flood(const RouterProcess& router, int connections, int outstanding) {
    batch_.set_data_center("ams");
    for (int i = 0; i < 1000; ++i) batch_.add_keys("key " + std::to_string(i));
    route_.set_data_center("ams");
    route_.set_key("key");
    for (std::size_t c = 0; c < static_cast<std::size_t>(connections); ++c) {
      stubs_.push_back(v1::RoutingService::NewStub(router.PublicChannel()));
      for (int i = 0; i < outstanding; ++i) Start(c);
    }
    thread_ = std::thread([this] { Run(); });
  }
  ~Flood() {
    is_over_ = true;
    thread_.join();
  }

  // Waits until this many have ended with `code`.
  void WaitFor(grpc::StatusCode code, int count) {
    const auto deadline = Clock::now() + kPatience;
    while (ended_[code] < count && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_GE(ended_[code], count);
  }

  int Ended(grpc::StatusCode code) const { return ended_[code]; }
  int EndedOtherwise() const {
    int count = 0;
    for (std::size_t code = 0; code < std::size(ended_); ++code) {
      if (code != grpc::StatusCode::OK && code != grpc::StatusCode::RESOURCE_EXHAUSTED) {
        count += ended_[code];
      }
    }
    return count;
  }

 private:
  struct Call {
    std::size_t connection = 0;
    grpc::ClientContext context;
    grpc::Status status;
    v1::RouteResponse route_response;
    v1::RouteBatchResponse batch_response;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RouteResponse>> route;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RouteBatchResponse>> batch;
  };

  void Start(std::size_t connection) {
    auto* const call = new Call;
    call->connection = connection;
    ++open_;
    if (++started_ % 50 == 0) {
      call->batch = stubs_[connection]->AsyncRouteBatch(&call->context, batch_, &queue_);
      call->batch->Finish(&call->batch_response, &call->status, call);
    } else {
      call->route = stubs_[connection]->AsyncRoute(&call->context, route_, &queue_);
      call->route->Finish(&call->route_response, &call->status, call);
    }
  }

  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (open_ > 0 && queue_.Next(&tag, &ok)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      --open_;
      ++ended_[call->status.error_code()];
      if (!is_over_) Start(call->connection);
    }
  }

  v1::RouteBatchRequest batch_;
  v1::RouteRequest route_;
  std::vector<std::unique_ptr<v1::RoutingService::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  std::int64_t started_ = 0;
  int open_ = 0;
  std::atomic<int> ended_[17] = {};
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

class RouterLimitsTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags) {
    router_ = std::make_unique<RouterProcess>(dir_.Write("topology.yaml", SmallTopology()),
                                              dir_.File("state.db"), flags);
    router_->WaitUntilReady();
  }

  TempDir dir_;
  std::unique_ptr<RouterProcess> router_;
};

TEST_F(RouterLimitsTest, WhatIsTooMuchIsRefusedAndCountedAndTheRestIsAnswered) {
  Start({"--max-concurrent-calls=100"});
  int answered = 0;
  int refused = 0;
  {
    Flood flood(*router_, /*connections=*/4, /*outstanding=*/200);
    flood.WaitFor(grpc::StatusCode::RESOURCE_EXHAUSTED, 1000);
    flood.WaitFor(grpc::StatusCode::OK, 1000);
    EXPECT_EQ(flood.EndedOtherwise(), 0);
    answered = flood.Ended(grpc::StatusCode::OK);
    refused = flood.Ended(grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  const std::string text = router_->Get("/metrics");
  const std::string series =
      "\nringshift_route_errors_total{data_center=\"other\",code=\"RESOURCE_EXHAUSTED\"} ";
  ASSERT_THAT(text, HasSubstr(series));
  EXPECT_GE(std::stod(text.substr(text.find(series) + series.size())), refused);
  EXPECT_GE(answered, 1000);
  // Afterwards it has room again.
  const RouterClient client(*router_);
  EXPECT_EQ(client.Owners("ams", 100).size(), 100u);
}

TEST_F(RouterLimitsTest, WhoWatchesAnOverloadedRouterHasAnswers) {
  Start({});
  const Flood flood(*router_, /*connections=*/8, /*outstanding=*/900);
  HealthCall watch(router_->PublicChannel(), "Watch", "");
  EXPECT_THAT(watch.Next(), Optional(Health::kServing));
  const RouterClient client(*router_);
  const std::shared_ptr<grpc::Channel> channel = router_->PublicChannel();
  const std::shared_ptr<grpc::Channel> admin = router_->AdminChannel();
  std::map<std::string, std::vector<double>> seconds;
  const auto measure = [&](const std::string& what, const auto& act) {
    const auto start = Clock::now();
    act();
    seconds[what].push_back(std::chrono::duration<double>(Clock::now() - start).count());
  };
  for (int i = 0; i < 20; ++i) {
    measure("status", [&] { EXPECT_EQ(client.Status().data_centers(), 3); });
    measure("metrics", [&] { router_->Get("/metrics"); });
    measure("readyz", [&] { EXPECT_EQ(router_->Get("/readyz"), "ready\n"); });
    measure("health", [&] { EXPECT_THAT(CheckHealth(channel, ""), Optional(Health::kServing)); });
    measure("admin health",
            [&] { EXPECT_THAT(CheckHealth(admin, ""), Optional(Health::kServing)); });
    measure("set", [&] { EXPECT_TRUE(client.SetShare("ams", 1000 * i).ok()); });
  }
  for (auto& [what, times] : seconds) {
    std::sort(times.begin(), times.end());
    RecordProperty("median of " + what, std::to_string(times[times.size() / 2]));
    // Far above what it takes, and far below what waiting in the flood's line would.
    EXPECT_LE(times[times.size() / 2], 2) << what;
    EXPECT_LE(times.back(), 10) << what;
  }
}

TEST_F(RouterLimitsTest, AnOverloadedRouterEndsInTime) {
  Start({});
  auto flood = std::make_unique<Flood>(*router_, /*connections=*/4, /*outstanding=*/500);
  flood->WaitFor(grpc::StatusCode::OK, 1000);
  router_->process().Signal(SIGTERM);
  EXPECT_THAT(router_->process().WaitForExit(std::chrono::seconds(60)), Optional(0))
      << router_->process().Stderr();
}

}  // namespace
}  // namespace ringshift::testing
