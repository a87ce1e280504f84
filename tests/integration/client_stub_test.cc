// ringshift::Client against routers that misbehave as told.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "client/grpc_client.h"
#include "ringshift/client.h"
#include "tests/testing/http2_tap.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/stub_router.h"

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Http2Tap;
using testing::IsOk;
using ::testing::Not;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::StubRouter;
using StubRouters = std::vector<std::unique_ptr<StubRouter>>;

constexpr absl::StatusCode kCancelled = absl::StatusCode::kCancelled;
constexpr absl::StatusCode kDeadlineExceeded = absl::StatusCode::kDeadlineExceeded;
constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
constexpr absl::StatusCode kResourceExhausted = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;

// Far above what a loaded machine needs.
constexpr std::chrono::seconds kPatience{60};

const RouteQuery kQuery = {"ams", "key"};

// As in server/routing_queue.cc.
const grpc::Status kTooManyCalls(
    grpc::StatusCode::RESOURCE_EXHAUSTED,
    "the router has too many calls in hand; wait a little, or ask another one");
const grpc::Status kTooManyBatches(
    grpc::StatusCode::RESOURCE_EXHAUSTED,
    "the router has too many batches in hand; wait a little, or ask another one");

std::unique_ptr<Client> NewClient(const std::vector<std::string>& routers) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create({routers, kPatience});
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

// "r0", "r1", ...
StubRouters NewRouters(int count) {
  StubRouters routers;
  for (int i = 0; i < count; ++i) {
    routers.push_back(std::make_unique<StubRouter>("r" + std::to_string(i)));
  }
  return routers;
}

std::vector<std::string> Addresses(const StubRouters& routers) {
  std::vector<std::string> addresses;
  for (const auto& router : routers) addresses.push_back(router->address());
  return addresses;
}

// Takes connections, says that it serves to each Watch, and ends it.
class FickleHealth {
 public:
  FickleHealth() : service_(*this) {
    grpc::EnableDefaultHealthCheckService(false);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~FickleHealth() { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }
  int watches() const { return watches_; }

 private:
  class Watch final : public grpc::ServerGenericBidiReactor {
   public:
    Watch() {
      const std::string serving = "\x08\x01";
      const grpc::Slice slice(serving);
      answer_ = grpc::ByteBuffer(&slice, 1);
      StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer answer_;
  };
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(FickleHealth& health) : health_(health) {}
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
      ++health_.watches_;
      return new Watch;
    }

   private:
    FickleHealth& health_;
  };

  std::atomic<int> watches_{0};
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Answers every call with the same bytes.
class SameBytes {
 public:
  explicit SameBytes(const std::string& bytes) : service_(bytes) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~SameBytes() { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }

 private:
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(const std::string& bytes) : bytes_(bytes) {}
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
      return new Call(bytes_);
    }

   private:
    const std::string bytes_;
  };
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Call(const std::string& bytes) {
      const grpc::Slice slice(bytes);
      answer_ = grpc::ByteBuffer(&slice, 1);
      StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer answer_;
  };

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// How many of `count` calls each router answered, by its name. A failure is a test failure.
std::map<std::string, int> Owners(Client& client, int count) {
  std::map<std::string, int> owners;
  for (int i = 0; i < count; ++i) {
    const absl::StatusOr<RouteReply> reply = client.Route(kQuery);
    EXPECT_THAT(reply, IsOk());
    if (reply.ok()) ++owners[reply->owner.name];
  }
  return owners;
}

// Calls until exactly `count` routers take part.
void WaitUntilServing(Client& client, std::size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (Owners(client, 12).size() != count) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

// A port that takes connections and never says anything.
class BlackHole {
 public:
  BlackHole() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }
  ~BlackHole() { ::close(fd_); }
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;

  const std::string& address() const { return address_; }

 private:
  const int fd_;
  std::string address_;
};

// An address where nobody listens.
std::string NobodysAddress() { return BlackHole().address(); }

TEST(ClientStubTest, CallsAreSpreadEvenly) {
  const StubRouters routers = NewRouters(3);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 3);
  std::map<std::string, int> owners = Owners(*client, 300);
  EXPECT_EQ(owners["r0"], 100);
  EXPECT_EQ(owners["r1"], 100);
  EXPECT_EQ(owners["r2"], 100);
}

TEST(ClientStubTest, AllCallsOfAClientShareAConnectionThatIsTheClientsOwn) {
  StubRouter router("r");
  const auto one = NewClient({router.address()});
  Owners(*one, 50);
  EXPECT_THAT(router.peers(), SizeIs(1));
  const auto other = NewClient({router.address()});
  Owners(*other, 50);
  EXPECT_THAT(router.peers(), SizeIs(2));
}

TEST(ClientStubTest, ARouterThatDoesNotServeIsLeftAloneUntilItDoes) {
  const StubRouters routers = NewRouters(2);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 2);
  routers[0]->SetServing(false);
  WaitUntilServing(*client, 1);
  routers[0]->Forget();
  Owners(*client, 100);
  EXPECT_EQ(routers[0]->calls(), 0);
  routers[0]->SetServing(true);
  WaitUntilServing(*client, 2);
  EXPECT_THAT(Owners(*client, 100)["r0"], 50);
}

TEST(ClientStubTest, WhereNoRouterServesThoseThatAreConnectedSayWhy) {
  StubRouter router("r");
  router.SetServing(false);
  const auto client = NewClient({router.address(), NobodysAddress()});
  EXPECT_THAT(client->Route(kQuery), IsOk());  // it drains, perhaps
  router.SetStatus({grpc::StatusCode::UNAVAILABLE, "the rings are being built"});
  EXPECT_THAT(client->Route(kQuery),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr(router.address()), HasSubstr("the rings are being built"))));
}

TEST(ClientStubTest, WhereNoRouterCanBeReachedTheErrorNamesThemAndDoesNotWait) {
  const std::string a = NobodysAddress();
  const std::string b = NobodysAddress();
  const auto client = NewClient({a, b});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(client->Route(kQuery),
              StatusIs(kUnavailable, AllOf(HasSubstr("no router can be reached"), HasSubstr(a),
                                           HasSubstr(b), HasSubstr("refused"))));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience / 2);
}

TEST(ClientStubTest, ARouterThatEndsEveryWatchIsAskedLessAndLess) {
  const FickleHealth router;
  const auto start = std::chrono::steady_clock::now();
  const auto client = NewClient({router.address()});
  constexpr int kWatches = 9;
  while (router.watches() < kWatches) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // Pauses that did not grow would be at most 20 ms each. Those that do have bounds of 5 s in sum.
  EXPECT_GT(std::chrono::steady_clock::now() - start,
            (kWatches - 1) * std::chrono::milliseconds(20));
}

TEST(ClientStubTest, ARouterThatStartsLaterIsFound) {
  std::string address = NobodysAddress();
  const auto client = NewClient({address});
  EXPECT_THAT(client->Route(kQuery), StatusIs(kUnavailable, HasSubstr(address)));
  StubRouter router("r", address);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!client->Route(kQuery).ok()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST(ClientStubTest, ACallThatTheRouterDoesNotAnswerMissesItsDeadline) {
  StubRouter router("r");
  const auto client = NewClient({router.address()});
  Owners(*client, 1);
  router.Hold();
  EXPECT_THAT(client->Route({"ams", "key", "", 1, std::chrono::milliseconds(20)}),
              StatusIs(kDeadlineExceeded,
                       AllOf(HasSubstr(router.address()), HasSubstr("no answer within 20 ms"))));
  EXPECT_THAT(client->RouteBatch({"ams", {"key"}, "", std::chrono::milliseconds(20)}),
              StatusIs(kDeadlineExceeded, HasSubstr("no answer within 20 ms")));
}

TEST(ClientStubTest, TheTimeoutOfTheOptionsHoldsForCallsWithoutOne) {
  StubRouter router("r");
  router.Hold();
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Create({{router.address()}, std::chrono::milliseconds(30)}));
  EXPECT_THAT(client->Route(kQuery), StatusIs(kDeadlineExceeded, HasSubstr("within 30 ms")));
}

TEST(ClientStubTest, ABlackHoleCostsNoMoreThanTheDeadline) {
  const BlackHole hole;
  const auto client = NewClient({hole.address()});
  EXPECT_THAT(
      client->Route({"ams", "key", "", 1, std::chrono::milliseconds(20)}),
      StatusIs(kDeadlineExceeded, AllOf(HasSubstr("no router is connected within 20 ms"),
                                        HasSubstr(hole.address()), HasSubstr("being connected"))));
}

TEST(ClientStubTest, ABlackHoleKeepsNoCallFromTheOtherRouters) {
  const BlackHole hole;
  StubRouter router("r");
  const auto client = NewClient({hole.address(), router.address()});
  EXPECT_EQ(Owners(*client, 20)["r"], 20);
}

TEST(ClientStubTest, UnavailableIsSentToAnotherRouter) {
  const StubRouters routers = NewRouters(2);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 2);
  routers[0]->Forget();
  routers[0]->SetStatus({grpc::StatusCode::UNAVAILABLE, "stopping"});
  EXPECT_EQ(Owners(*client, 40)["r1"], 40);
  EXPECT_EQ(routers[0]->calls(), 20);
}

TEST(ClientStubTest, ARouterThatHasTooMuchToDoSendsCallsToAnotherOne) {
  const StubRouters routers = NewRouters(2);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 2);
  routers[0]->Forget();
  for (const grpc::Status& status : {kTooManyCalls, kTooManyBatches}) {
    routers[0]->SetStatus(status);
    EXPECT_EQ(Owners(*client, 40)["r1"], 40);
  }
  EXPECT_EQ(routers[0]->calls(), 40);
}

TEST(ClientStubTest, WhereAllRoutersHaveTooMuchToDoEachIsAskedOnce) {
  for (int count = 1; count <= 3; ++count) {
    const StubRouters routers = NewRouters(count);
    const auto client = NewClient(Addresses(routers));
    WaitUntilServing(*client, routers.size());
    for (const auto& router : routers) {
      router->Forget();
      router->SetStatus(kTooManyCalls);
    }
    EXPECT_THAT(client->Route(kQuery), StatusIs(kResourceExhausted, HasSubstr("too many calls")));
    for (const auto& router : routers) EXPECT_EQ(router->calls(), 1) << count;
  }
}

TEST(ClientStubTest, NothingElseIsSentAgain) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::INVALID_ARGUMENT,
        grpc::StatusCode::NOT_FOUND, grpc::StatusCode::INTERNAL,
        grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::UNIMPLEMENTED}) {
    const StubRouters routers = NewRouters(2);
    for (const auto& router : routers) router->SetStatus({code, "because"});
    const auto client = NewClient(Addresses(routers));
    EXPECT_THAT(client->Route(kQuery),
                StatusIs(static_cast<absl::StatusCode>(code), HasSubstr("router 127.0.0.1:")));
    EXPECT_EQ(routers[0]->calls() + routers[1]->calls(), 1) << code;
  }
}

TEST(ClientStubTest, ABatchThatNoRouterTakesIsNotSentAgain) {
  const StubRouters routers = NewRouters(2);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 2);
  const BatchQuery query = {"ams", std::vector<std::string>(300, std::string(16'384, 'k'))};
  EXPECT_THAT(client->RouteBatch(query),
              StatusIs(kResourceExhausted,
                       AllOf(HasSubstr("larger than max"), Not(HasSubstr("(attempt")))));
}

TEST(ClientStubTest, ACallThatTheRouterCutsOffIsSentAgainAndIsNotCalledCancelled) {
  StubRouter router("r");
  router.SetStatus({grpc::StatusCode::CANCELLED, ""});
  const auto client = NewClient({router.address()});
  EXPECT_THAT(client->Route(kQuery),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("the router ended the call"), HasSubstr("(attempt 3)"))));
  EXPECT_EQ(router.calls(), 3);
}

TEST(ClientStubTest, RoutersThatFailEveryCallGetATenthMoreAndNotThrice) {
  for (const grpc::Status& status :
       {grpc::Status(grpc::StatusCode::UNAVAILABLE, "no"), kTooManyCalls}) {
    const StubRouters routers = NewRouters(2);
    for (const auto& router : routers) router->SetStatus(status);
    const auto client = NewClient(Addresses(routers));
    constexpr int kCalls = 3'000;
    constexpr int kBatch = 100;
    for (int i = 0; i < kCalls / kBatch; ++i) {
      absl::BlockingCounter left(kBatch);
      for (int k = 0; k < kBatch; ++k) {
        client->RouteAsync(kQuery, [&](const absl::StatusOr<RouteReply>& reply) {
          EXPECT_THAT(reply, StatusIs(static_cast<absl::StatusCode>(status.error_code()),
                                      HasSubstr(status.error_message())));
          left.DecrementCount();
        });
      }
      left.Wait();
    }
    const int again = routers[0]->calls() + routers[1]->calls() - kCalls;
    EXPECT_GE(again, kCalls / RetryBudget::kCallsPerRetry);
    EXPECT_LE(again, kCalls / RetryBudget::kCallsPerRetry + RetryBudget::kMaxRetries);
  }
}

TEST(ClientStubTest, ARouterThatTakesCallsAndAnswersNoneCostsAFewUntilItAnswersAgain) {
  const StubRouters routers = NewRouters(2);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 2);
  routers[0]->Hold();
  const RouteQuery query = {"ams", "key", "", 1, std::chrono::seconds(1)};
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> lost{0};
  absl::BlockingCounter left(10);
  for (int i = 0; i < 10; ++i) {
    client->RouteAsync(query, [&](const absl::StatusOr<RouteReply>& reply) {
      if (!reply.ok()) ++lost;
      left.DecrementCount();
    });
  }
  left.Wait();
  EXPECT_EQ(lost, 5);
  for (int i = 0; i < 100; ++i) {
    if (!client->Route(query).ok()) ++lost;
  }
  // Besides those five, one after 1 s, one after 2 s more, and so on.
  const auto seconds =
      static_cast<unsigned>((std::chrono::steady_clock::now() - start) / std::chrono::seconds(1));
  EXPECT_LE(lost, 5 + std::bit_width(seconds + 1) - 1);
  routers[0]->Release();
  WaitUntilServing(*client, 2);
}

TEST(ClientStubTest, ARouterThatDiesTakesNoCallWithIt) {
  StubRouters routers = NewRouters(2);
  const auto client = NewClient(Addresses(routers));
  WaitUntilServing(*client, 2);
  routers[0]->Forget();
  routers[0]->Hold();
  constexpr int kCalls = 100;
  absl::BlockingCounter left(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    client->RouteAsync(kQuery, [&](const absl::StatusOr<RouteReply>& reply) {
      EXPECT_THAT(reply, IsOk());
      left.DecrementCount();
    });
  }
  routers[0]->WaitForCalls(kCalls / 2);
  routers[0]->SetStatus({grpc::StatusCode::UNAVAILABLE, "dead"});
  routers[0].reset();
  left.Wait();
}

TEST(ClientStubTest, AConnectionThatTheRouterEndsForItsAgeCostsNoCall) {
  StubRouter router("r", "127.0.0.1:0", [](grpc::ServerBuilder& builder) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 100);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 100);
  });
  const auto client = NewClient({router.address()});
  while (router.peers().size() < 4) ASSERT_THAT(client->Route(kQuery), IsOk());
}

TEST(ClientStubTest, TheOwnersOfABatchAreThoseThatTheRouterNames) {
  StubRouter router("r");
  router.EditBatches([](v1::RouteBatchResponse& response) {
    response.add_nodes()->set_name("other");
    response.mutable_nodes(1)->set_address("other.example:443");
    response.set_node_indexes(1, 1);
    response.mutable_table()->set_v2_ppm(250'000);
  });
  const auto client = NewClient({router.address()});
  ASSERT_OK_AND_ASSIGN(const BatchReply reply, client->RouteBatch({"ams", {"a", "b", "c"}}));
  ASSERT_EQ(reply.size(), 3U);
  EXPECT_EQ(reply.owner(0).name, "r");
  EXPECT_EQ(reply.owner(1).address, "other.example:443");
  EXPECT_EQ(reply.owner(2).name, "r");
  EXPECT_THAT(reply.ring_versions, ElementsAre(2, 2, 2));
  EXPECT_EQ(reply.table.v2_ppm, 250'000);
}

TEST(ClientStubTest, ABatchWhoseAnswerIsBadIsAnErrorWithTheRoutersAddress) {
  StubRouter router("r");
  router.EditBatches([](v1::RouteBatchResponse& response) { response.set_node_indexes(0, 7); });
  const auto client = NewClient({router.address()});
  EXPECT_THAT(client->RouteBatch({"ams", {"a"}}),
              StatusIs(kInternal, AllOf(HasSubstr(router.address()), HasSubstr("node 7 of 1"))));
}

TEST(ClientStubTest, BytesThatAreNoAnswerAreCalledThat) {
  const SameBytes router("\x0a\x7f");  // a message of 127 bytes, of which none is there
  const auto client = NewClient({router.address()});
  EXPECT_THAT(client->Route(kQuery),
              StatusIs(kInternal, AllOf(HasSubstr(router.address()),
                                        HasSubstr("the bytes of the answer are no "
                                                  "ringshift.v1.RouteResponse"))));
  EXPECT_THAT(client->RouteBatch({"ams", {"key"}}),
              StatusIs(kInternal, HasSubstr("are no ringshift.v1.RouteBatchResponse")));
}

TEST(ClientStubTest, CallbacksRunInAnotherThreadAlsoWhenNobodyCanBeReached) {
  StubRouter router("r");
  for (const std::string& address : {router.address(), NobodysAddress()}) {
    const auto client = NewClient({address});
    client->Route(kQuery).status().IgnoreError();
    std::promise<std::thread::id> ran;
    client->RouteAsync(kQuery, [&](const auto&) { ran.set_value(std::this_thread::get_id()); });
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
  }
}

TEST(ClientStubTest, ACallbackMayStartTheNextCall) {
  StubRouter router("r");
  const auto client = NewClient({router.address()});
  std::promise<void> ended;
  int left = 100;
  Client::RouteCallback next = [&](const absl::StatusOr<RouteReply>& reply) {
    EXPECT_THAT(reply, IsOk());
    if (--left == 0) {
      ended.set_value();
    } else {
      client->RouteAsync(kQuery, next);
    }
  };
  client->RouteAsync(kQuery, next);
  ended.get_future().wait();
}

// The ends of `count` calls that are under way while the client is destroyed, each seen before that
// is over, and what their callbacks held, gone by then.
std::vector<absl::Status> EndsOfCallsUnderWay(std::unique_ptr<Client> client, int count,
                                              const std::function<void()>& wait_until_under_way) {
  std::mutex mutex;
  std::vector<absl::Status> ends;
  const auto held = std::make_shared<int>();
  for (int i = 0; i < count; ++i) {
    client->RouteAsync(kQuery, [&, held](const absl::StatusOr<RouteReply>& reply) {
      std::lock_guard lock(mutex);
      ends.push_back(reply.status());
    });
  }
  wait_until_under_way();
  client.reset();
  EXPECT_EQ(held.use_count(), 1);
  return ends;
}

TEST(ClientEndTest, CallsThatARouterHasAreCancelled) {
  StubRouter router("r");
  router.Hold();
  const std::vector<absl::Status> ends =
      EndsOfCallsUnderWay(NewClient({router.address()}), 20, [&] { router.WaitForCalls(20); });
  EXPECT_THAT(ends, SizeIs(20));
  EXPECT_THAT(ends, Each(StatusIs(kCancelled, HasSubstr("being destroyed"))));
}

TEST(ClientEndTest, CallsThatWaitForAConnectionAreCancelled) {
  const BlackHole hole;
  const std::vector<absl::Status> ends =
      EndsOfCallsUnderWay(NewClient({hole.address()}), 20, [] {});
  EXPECT_THAT(ends, SizeIs(20));
  EXPECT_THAT(ends, Each(StatusIs(kCancelled, HasSubstr("being destroyed"))));
}

TEST(ClientEndTest, CallsThatFailJustThenEndOnce) {
  StubRouter router("r");
  router.SetStatus({grpc::StatusCode::UNAVAILABLE, "no"});
  for (int i = 0; i < 20; ++i) {
    const std::vector<absl::Status> ends = EndsOfCallsUnderWay(
        NewClient({router.address()}), 20, [&] { router.WaitForCalls(10 * i); });
    EXPECT_THAT(ends, SizeIs(20));
    EXPECT_THAT(ends, Each(AnyOf(StatusIs(kCancelled, HasSubstr("being destroyed")),
                                 StatusIs(kUnavailable, HasSubstr("no")))));
  }
}

TEST(ClientEndTest, ASynchronousCallReturnsCancelled) {
  StubRouter router("r");
  router.Hold();
  std::unique_ptr<Client> client = NewClient({router.address()});
  std::future<absl::Status> end =
      std::async(std::launch::async, [&] { return client->Route(kQuery).status(); });
  router.WaitForCalls(1);
  client.reset();
  EXPECT_THAT(end.get(), StatusIs(kCancelled, HasSubstr("being destroyed")));
}

TEST(ClientEndTest, AClientThatNobodyAskedAnythingEnds) {
  const BlackHole hole;
  StubRouter router("r");
  for (int i = 0; i < 50; ++i) {
    NewClient({router.address(), hole.address(), NobodysAddress(), "no-such-host.invalid:1"});
  }
}

// As routers do, with an interval of their own: see server/router_server.cc.
void AllowPings(grpc::ServerBuilder& builder, std::chrono::milliseconds interval) {
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(interval.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
}

TEST(ClientKeepaliveTest, AnIdleClientPingsAndIsNotSentAway) {
  // In the proportion of what the client does and what routers allow: 11 s and 10 s.
  const StubRouter router("r", "127.0.0.1:0", [](grpc::ServerBuilder& builder) {
    AllowPings(builder, std::chrono::milliseconds(200));
  });
  Http2Tap tap(router.address());
  GrpcClient client({{tap.address()}}, {std::chrono::milliseconds(220), kPatience});
  EXPECT_THAT(client.Route(kQuery), IsOk());
  tap.WaitForPings(5);
  EXPECT_THAT(client.Route(kQuery), IsOk());
  EXPECT_EQ(tap.go_aways(), 0);
  EXPECT_EQ(tap.connections(), 1);
}

TEST(ClientKeepaliveTest, AClientThatPingedTooOftenWouldBeSentAway) {
  const StubRouter router("r", "127.0.0.1:0", [](grpc::ServerBuilder& builder) {
    AllowPings(builder, std::chrono::hours(1));
  });
  Http2Tap tap(router.address());
  GrpcClient client({{tap.address()}}, {std::chrono::milliseconds(20), kPatience});
  tap.WaitForGoAway();
}

TEST(ClientKeepaliveTest, AConnectionThatHasGoneDeadIsGivenUp) {
  StubRouter router("r");
  Http2Tap tap(router.address());
  GrpcClient client({{tap.address()}, kPatience},
                    {std::chrono::milliseconds(50), std::chrono::milliseconds(50)});
  EXPECT_THAT(client.Route(kQuery), IsOk());
  tap.Mute();
  // Nobody says that the connection is gone; only pings show it.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (tap.connections() < 2) {
    client.Route({"ams", "key", "", 1, std::chrono::milliseconds(20)}).status().IgnoreError();
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  EXPECT_THAT(client.Route(kQuery), IsOk());
}

}  // namespace
}  // namespace ringshift
