// A real router that has more to do than it can.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

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
#include <utility>
#include <vector>

#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/health_client.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
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
    while (ended_[code] < count && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
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
  void Start(const std::vector<std::string>& flags, const std::vector<std::string>& wrapper = {}) {
    router_ = std::make_unique<RouterProcess>(dir_.Write("topology.yaml", SmallTopology()),
                                              dir_.File("state.db"), flags, wrapper);
    router_->WaitUntilReady();
  }

  TempDir dir_;
  std::unique_ptr<RouterProcess> router_;
};

TEST_F(RouterLimitsTest, WhatIsTooMuchIsRefusedAndCountedAndTheRestIsAnswered) {
  // Clients have the cores first: else the router answers as fast as this test asks.
  Start({"--max-concurrent-calls=100"}, {"nice", "-n", "19"});
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

// Connections that say nothing.
class Connections {
 public:
  ~Connections() {
    for (const int fd : fds_) ::close(fd);
  }
  int Add(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds_.push_back(fd);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

 private:
  std::vector<int> fds_;
};

// A Route call of a client that waits for nothing, as frames of HTTP/2.
std::string CallFrames(std::uint32_t stream) {
  const auto frame = [stream](char type, char flags, const std::string& payload) {
    std::string bytes;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
    bytes += type;
    bytes += flags;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
    return bytes + payload;
  };
  std::string headers;
  const std::vector<std::pair<std::string, std::string>> fields = {
      {":method", "POST"},      {":scheme", "http"},
      {":authority", "router"}, {":path", "/ringshift.v1.RoutingService/Route"},
      {"te", "trailers"},       {"content-type", "application/grpc"}};
  for (const auto& [name, value] : fields) {
    headers += '\0';  // as it is, and not for the table
    headers += static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
  }
  v1::RouteRequest request;
  request.set_data_center("ams");
  request.set_key("key");
  const std::string message = request.SerializeAsString();
  const std::string prefix = {0, 0, 0, 0, static_cast<char>(message.size())};
  return frame(1, 4, headers) + frame(0, 1, prefix + message);
}

// What a client keeps in its way must not become memory of the router: gRPC takes some 12 KiB for a
// call that it has read.
TEST_F(RouterLimitsTest, CallsThatWaitWaitWhereTheyCostLittle) {
  Start({});
  std::string bytes =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(3, '\0') + "\4" + std::string(5, '\0');
  for (std::uint32_t i = 0; i < 1000; ++i) bytes += CallFrames(1 + 2 * i);
  Connections connections;
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i) {
    const int fd = connections.Add(router_->public_port());
    clients.emplace_back([fd, &bytes] {
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t sent = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += static_cast<std::size_t>(sent);
      }
      // All answers together have some hundred bytes a call.
      char buffer[65536];
      for (std::size_t read = 0; read < 50'000;) {
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        read += static_cast<std::size_t>(got);
      }
    });
  }
  for (std::thread& client : clients) client.join();
#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed
  EXPECT_LT(MemoryOf(router_->process().pid(), "VmHWM"), 400'000);
#endif
}

// A router that may have so many open files: as it starts, and as it may give itself.
std::vector<std::string> WithFiles(int soft, int hard) {
  return {"/bin/sh", "-c",
          "ulimit -Sn " + std::to_string(soft) + "; ulimit -Hn " + std::to_string(hard) +
              "; exec \"$@\"",
          "sh"};
}

TEST_F(RouterLimitsTest, TheLimitOfFilesThatTheRouterMayRaiseIsRaised) {
  Start({}, WithFiles(64, 1024));
  Connections connections;
  for (int i = 0; i < 200; ++i) connections.Add(router_->public_port());
  v1::RouteRequest request;
  request.set_data_center("ams");
  request.set_key("key");
  EXPECT_TRUE(RouterClient(*router_).Route(request).ok());
}

TEST_F(RouterLimitsTest, ARouterThatCannotAcceptConnectionsAnyMoreEnds) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "without files the sanitizer takes good objects for bad ones";
#endif
  Start({}, WithFiles(64, 64));
  Connections connections;
  for (int i = 0; i < 100; ++i) connections.Add(router_->public_port());
  EXPECT_EQ(router_->process().WaitForExit(), 1);
  EXPECT_THAT(router_->process().Stderr(),
              AllOf(HasSubstr("level=error msg=\"a port accepts no connection any more; the router "
                              "stops, and has to be started again\" error=\"Failed accept4: Too "
                              "many open files\""),
                    HasSubstr("msg=\"stopped\"")));
}

}  // namespace
}  // namespace ringshift::testing
