// The queues of a RoutingServer, with a handler that does as the test says.
#include "server/routing_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/testing/health_client.h"
#include "tests/testing/message_handler.h"
#include "tests/testing/raw_routing_client.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::CheckHealth;
using ::ringshift::testing::Health;
using ::ringshift::testing::HealthCall;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Optional;

// Far above what a loaded machine needs.
constexpr std::chrono::seconds kPatience{60};

// What all handlers of a server share.
class Script {
 public:
  // Batches do not end until Release.
  void Hold() {
    const absl::MutexLock lock(&mutex_);
    is_held_ = true;
  }
  void Release() {
    const absl::MutexLock lock(&mutex_);
    is_held_ = false;
  }
  bool IsHeld() const {
    const absl::MutexLock lock(&mutex_);
    return is_held_;
  }

  void CountStarted() {
    const absl::MutexLock lock(&mutex_);
    ++started_;
  }
  void CountRefused(absl::StatusCode code) {
    const absl::MutexLock lock(&mutex_);
    ++refused_[code];
  }
  void WaitUntilStarted(int batches) const {
    const absl::MutexLock lock(&mutex_);
    const auto reached = [&] { return started_ >= batches; };
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&reached), absl::FromChrono(kPatience)));
  }
  int started() const {
    const absl::MutexLock lock(&mutex_);
    return started_;
  }
  std::map<absl::StatusCode, int> refused() const {
    const absl::MutexLock lock(&mutex_);
    return refused_;
  }

 private:
  mutable absl::Mutex mutex_;
  bool is_held_ = false;
  int started_ = 0;
  std::map<absl::StatusCode, int> refused_;
};

// The owner of a key is the key.
class ScriptedHandler final : public testing::MessageHandler {
 public:
  explicit ScriptedHandler(Script& script) : script_(script) {}

  void CountRefused(absl::StatusCode code) override { script_.CountRefused(code); }

 private:
  absl::Status AnswerRoute(const v1::RouteRequest& request, v1::RouteResponse& response) override {
    if (request.key().empty()) return absl::InvalidArgumentError("no key");
    response.mutable_owner()->set_name(request.key());
    return absl::OkStatus();
  }
  void BeginBatch(const v1::RouteBatchRequest&) override { script_.CountStarted(); }
  std::optional<absl::Status> AnswerBatch(const v1::RouteBatchRequest& request,
                                          v1::RouteBatchResponse& response) override {
    if (script_.IsHeld()) return std::nullopt;
    for (const std::string& key : request.keys()) response.add_nodes()->set_name(key);
    return absl::OkStatus();
  }

  Script& script_;
};

class RoutingServerTest : public ::testing::Test {
 protected:
  ~RoutingServerTest() override {
    script_.Release();
    server_.reset();
    done_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; done_.Next(&tag, &ok);) {
    }
  }

  void Start(const RoutingServer::Options& options) {
    ListenAddress address{"127.0.0.1", 0};
    ASSERT_OK_AND_ASSIGN(server_, RoutingServer::Start(address, options, service_, [this] {
                           return std::make_unique<ScriptedHandler>(script_);
                         }));
    address_ = address.ToString();
  }

  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }

  // Calls that wait for the connection: once in a process, the first lock of gRPC's that another
  // thread holds reads a file that need not be there, and gRPC 1.51 takes the errno of that for its
  // connect's, if that is under way.
  static void WaitForConnection(grpc::ClientContext& context,
                                std::chrono::milliseconds timeout = kPatience) {
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + timeout);
  }

  static grpc::Status Route(v1::RoutingService::Stub& stub, const std::string& key) {
    grpc::ClientContext context;
    WaitForConnection(context);
    v1::RouteRequest request;
    request.set_key(key);
    v1::RouteResponse response;
    const grpc::Status status = stub.Route(&context, request, &response);
    EXPECT_EQ(response.owner().name(), status.ok() ? key : "");
    return status;
  }
  grpc::Status Route(const std::string& key) {
    return Route(*v1::RoutingService::NewStub(NewChannel()), key);
  }

  // A call under way.
  struct Call {
    grpc::ClientContext context;
    v1::RouteBatchResponse batch_response;
    v1::RouteResponse route_response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RouteBatchResponse>> batch;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RouteResponse>> route;
  };

  Call& StartBatch(const std::string& key, std::chrono::milliseconds timeout = kPatience) {
    Call& call = calls_.emplace_back();
    WaitForConnection(call.context, timeout);
    v1::RouteBatchRequest request;
    request.add_keys(key);
    call.batch =
        v1::RoutingService::NewStub(channel())->AsyncRouteBatch(&call.context, request, &done_);
    call.batch->Finish(&call.batch_response, &call.status, &call);
    return call;
  }
  Call& StartRoute(v1::RoutingService::Stub& stub, const std::string& key) {
    Call& call = calls_.emplace_back();
    call.context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::RouteRequest request;
    request.set_key(key);
    call.route = stub.AsyncRoute(&call.context, request, &done_);
    call.route->Finish(&call.route_response, &call.status, &call);
    return call;
  }
  // The next call to end; waits for it.
  Call& NextDone() {
    void* tag = nullptr;
    bool ok = false;
    done_.Next(&tag, &ok);
    return *static_cast<Call*>(tag);
  }

  int Port() const { return ListenAddress::Parse(address_)->port; }

  // The channel of StartBatch.
  std::shared_ptr<grpc::Channel> channel() {
    if (channel_ == nullptr) channel_ = NewChannel();
    return channel_;
  }

  // A unary call with these bytes.
  grpc::Status CallRaw(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel());
    grpc::ClientContext context;
    WaitForConnection(context);
    const grpc::Slice slice(bytes);
    grpc::CompletionQueue queue;
    const auto reader =
        stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
    reader->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    reader->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  }

  Lifecycle lifecycle_;
  RoutingDirectory directory_;
  RoutingService service_{lifecycle_, directory_};
  Script script_;
  std::string address_;
  std::unique_ptr<RoutingServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::CompletionQueue done_;
  std::deque<Call> calls_;
};

TEST_F(RoutingServerTest, EachCallHasItsOwnAnswer) {
  RoutingServer::Options options;
  options.queues = 3;
  Start(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto stub = v1::RoutingService::NewStub(NewChannel());
      for (int i = 0; i < 500; ++i) {
        const bool is_refused = i % 10 == 9;
        const grpc::Status status =
            Route(*stub, is_refused ? "" : std::to_string(t) + "/" + std::to_string(i));
        ASSERT_EQ(status.error_code(),
                  is_refused ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::OK)
            << "call " << i << ": " << status.error_message();
      }
    });
  }
  for (int i = 0; i < 500; ++i) StartBatch("batch " + std::to_string(i));
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(NextDone().status.ok());
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 500; ++i) {
    const v1::RouteBatchResponse& response = calls_[static_cast<std::size_t>(i)].batch_response;
    ASSERT_EQ(response.nodes_size(), 1);
    EXPECT_EQ(response.nodes(0).name(), "batch " + std::to_string(i));
  }
}

TEST_F(RoutingServerTest, NothingWaitsForABatchThatTakesLong) {
  Start({});
  server_->SetHealth(true);
  script_.Hold();
  const Call& batch = StartBatch("long");
  script_.WaitUntilStarted(1);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Route("key " + std::to_string(i)).ok());
  EXPECT_THAT(CheckHealth(NewChannel(), ""), Optional(Health::kServing));
  script_.Release();
  EXPECT_EQ(&NextDone(), &batch);
  EXPECT_TRUE(batch.status.ok()) << batch.status.error_message();
}

TEST_F(RoutingServerTest, CallsBeyondTheLimitAreRefusedAtOnce) {
  RoutingServer::Options options;
  options.max_concurrent_calls = 1;
  Start(options);
  script_.Hold();
  const Call& batch = StartBatch("first");
  script_.WaitUntilStarted(1);

  const grpc::Status route = Route("key");
  EXPECT_EQ(route.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(route.error_message(), HasSubstr("too many calls"));
  const Call& second = StartBatch("second");
  EXPECT_EQ(&NextDone(), &second);
  EXPECT_EQ(second.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(script_.refused()[absl::StatusCode::kResourceExhausted], 2);
  EXPECT_EQ(script_.started(), 1);

  script_.Release();
  EXPECT_EQ(&NextDone(), &batch);
  EXPECT_TRUE(batch.status.ok());
  // The client has the answer a moment before the router knows that it was sent.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!Route("key").ok()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
}

// A client of HTTP/2 may forbid the server to send, and such calls have no deadline.
TEST_F(RoutingServerTest, AnswersThatNobodyTakesKeepNoOtherCallOut) {
  RoutingServer::Options options;
  options.max_concurrent_calls = 10;
  Start(options);
  testing::RawRoutingClient deaf(Port());
  for (int i = 0; i < 200; ++i) deaf.Route("ams", "key");
  EXPECT_TRUE(Route("key").ok());
  StartBatch("batch");
  EXPECT_TRUE(NextDone().status.ok());
  EXPECT_EQ(script_.refused()[absl::StatusCode::kResourceExhausted], 0);
}

TEST_F(RoutingServerTest, OfAnswersThatNobodyTakesTheOldestAreGivenUp) {
  Start({});
  testing::RawRoutingClient first(Port());
  first.Route("ams", "key");
  // So many calls that their state alone is more than may wait.
  constexpr int kCalls = 1000;  // of a connection
  std::deque<testing::RawRoutingClient> others;
  for (int i = 0; i < 5; ++i) {
    testing::RawRoutingClient& client = others.emplace_back(Port());
    for (int j = 0; j < kCalls; ++j) client.Route("ams", "key");
  }
  first.WaitForReset();
  EXPECT_GE(script_.refused()[absl::StatusCode::kCancelled], 1);
  EXPECT_LT(script_.refused()[absl::StatusCode::kCancelled], 3 * kCalls);
  EXPECT_TRUE(Route("key").ok());
}

TEST_F(RoutingServerTest, BatchesThatWaitMayHaveSoManyBytes) {
  constexpr int kLarge = 20;  // of 4 MiB, where 64 MiB may wait
  Start({});
  script_.Hold();
  StartBatch("first");
  script_.WaitUntilStarted(1);
  for (int i = 0; i < kLarge; ++i) StartBatch(std::string((4 << 20) - 100, 'k'));
  const int refused = kLarge - 16 + 1;  // the first one is there too
  for (int i = 0; i < refused - 1; ++i) {
    const Call& call = NextDone();
    EXPECT_EQ(call.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(call.status.error_message(), HasSubstr("too many batches"));
  }
  EXPECT_TRUE(Route("key").ok());
  script_.Release();
  for (int i = 0; i < kLarge + 1 - (refused - 1); ++i) EXPECT_TRUE(NextDone().status.ok());
}

TEST_F(RoutingServerTest, ABatchWhoseDeadlineIsOverIsNotBegun) {
  Start({});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // The router may think that the deadline is a little later than the client does.
  for (int begun = 0; script_.refused()[absl::StatusCode::kDeadlineExceeded] == 0;) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    script_.Hold();
    StartBatch("first");
    script_.WaitUntilStarted(begun + 1);
    const Call& late = StartBatch("late", std::chrono::milliseconds(50));
    EXPECT_EQ(&NextDone(), &late);
    EXPECT_EQ(late.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(Route("key").ok());
    script_.Release();
    EXPECT_TRUE(NextDone().status.ok());
    StartBatch("last");
    EXPECT_TRUE(NextDone().status.ok());
    begun = script_.started();
  }
}

TEST_F(RoutingServerTest, ABacklogIsAnsweredOrRefusedAndNothingOfItIsLost) {
  RoutingServer::Options options;
  options.queues = 2;
  options.max_concurrent_calls = 20;
  Start(options);
  constexpr int kCalls = 20'000;
  constexpr int kOutstanding = 900;
  const auto stub = v1::RoutingService::NewStub(channel());
  for (int i = 0; i < kOutstanding; ++i) StartRoute(*stub, "key");
  std::map<grpc::StatusCode, int> codes;
  for (int i = 0; i < kCalls; ++i) {
    ++codes[NextDone().status.error_code()];
    if (i < kCalls - kOutstanding) StartRoute(*stub, "key");
  }
  EXPECT_EQ(codes[grpc::StatusCode::OK] + codes[grpc::StatusCode::RESOURCE_EXHAUSTED], kCalls);
  EXPECT_GT(codes[grpc::StatusCode::OK], kCalls / 10);
  EXPECT_GT(codes[grpc::StatusCode::RESOURCE_EXHAUSTED], 0);
  EXPECT_EQ(script_.refused()[absl::StatusCode::kResourceExhausted],
            codes[grpc::StatusCode::RESOURCE_EXHAUSTED]);
  // Every permit has come back.
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(Route("key").ok());
}

TEST_F(RoutingServerTest, ABacklogBelowTheLimitIsAnswered) {
  Start({});
  constexpr int kOutstanding = 900;
  const auto stub = v1::RoutingService::NewStub(channel());
  for (int i = 0; i < 5 * kOutstanding; ++i) {
    if (i >= kOutstanding) {
      EXPECT_TRUE(NextDone().status.ok());
    }
    StartRoute(*stub, "key");
    if (i % 100 == 0) StartBatch("batch");
  }
  for (int i = 0; i < kOutstanding + 5 * kOutstanding / 100; ++i) {
    EXPECT_TRUE(NextDone().status.ok());
  }
}

TEST_F(RoutingServerTest, WhatTheHandlerRefusesIsRefusedAndTheNextCallIsAnswered) {
  Start({});
  for (const std::string name : {"Route", "RouteBatch"}) {
    const grpc::Status status = CallRaw("/ringshift.v1.RoutingService/" + name, "\xFF\xFF\xFF");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "no request");
  }
  EXPECT_TRUE(script_.refused().empty());  // that is the handler's to count
  EXPECT_TRUE(Route("key").ok());
  StartBatch("batch");
  EXPECT_TRUE(NextDone().status.ok());
}

// 611 kB of them can be 600 MiB of zeros.
TEST_F(RoutingServerTest, CompressedRequestsAreRefusedAndNotUnpacked) {
  Start({});
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    WaitForConnection(context);
    context.set_compression_algorithm(algorithm);
    v1::RouteRequest request;
    request.set_data_center("ams");
    request.set_key(std::string(10'000, 'k'));
    v1::RouteResponse response;
    const grpc::Status status =
        v1::RoutingService::NewStub(NewChannel())->Route(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("is disabled"));
  }
  EXPECT_TRUE(Route("key").ok());
}

TEST_F(RoutingServerTest, AMethodThatIsNotThereIsUnimplemented) {
  Start({});
  for (const char* method : {"/ringshift.v1.RoutingService/Rout", "/ringshift.v2.Other/Route", "/",
                             "/grpc.health.v1.Health/List"}) {
    EXPECT_EQ(CallRaw(method, "").error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
}

TEST_F(RoutingServerTest, HealthIsThatOfTheServerAndOfItsService) {
  Start({});
  const std::string service = v1::RoutingService::service_full_name();
  EXPECT_THAT(CheckHealth(channel(), ""), Optional(Health::kNotServing));
  HealthCall all(channel(), "Watch", "");
  HealthCall one(channel(), "Watch", service);
  HealthCall unknown(channel(), "Watch", "nope");
  EXPECT_THAT(all.Next(), Optional(Health::kNotServing));
  EXPECT_THAT(one.Next(), Optional(Health::kNotServing));
  EXPECT_THAT(unknown.Next(), Optional(Health::kServiceUnknown));
  {
    HealthCall cancelled(channel(), "Watch", "");
    EXPECT_THAT(cancelled.Next(), Optional(Health::kNotServing));
  }
  for (int i = 0; i < 10; ++i) {
    server_->SetHealth(true);
    EXPECT_THAT(all.Next(), Optional(Health::kServing));
    EXPECT_THAT(one.Next(), Optional(Health::kServing));
    EXPECT_THAT(CheckHealth(channel(), service), Optional(Health::kServing));
    server_->SetHealth(false);
    EXPECT_THAT(all.Next(), Optional(Health::kNotServing));
    EXPECT_THAT(one.Next(), Optional(Health::kNotServing));
  }
  EXPECT_EQ(HealthCall(channel(), "Check", "nope").Finish().error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(CallRaw("/grpc.health.v1.Health/Check", "\x0A\x7F").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  server_->Shutdown(std::chrono::system_clock::now());
  EXPECT_EQ(all.Next(), std::nullopt);
  EXPECT_EQ(unknown.Next(), std::nullopt);
}

TEST_F(RoutingServerTest, TheEndWaitsForNobodyWhoWatchesHealth) {
  Start({});
  server_->SetHealth(true);
  HealthCall known(channel(), "Watch", "");
  HealthCall unknown(NewChannel(), "Watch", "nope");
  EXPECT_THAT(known.Next(), Optional(Health::kServing));
  EXPECT_THAT(unknown.Next(), Optional(Health::kServiceUnknown));
  server_->SetHealth(false);
  server_->Shutdown(std::chrono::system_clock::now() + kPatience);
  EXPECT_THAT(known.Next(), Optional(Health::kNotServing));
  for (HealthCall* watch : {&known, &unknown}) {
    EXPECT_EQ(watch->Next(), std::nullopt);
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(watch->Finish().error_message(), "the router is stopping");
  }
}

TEST_F(RoutingServerTest, ConnectionsAreReplacedAndNoCallFails) {
  RoutingServer::Options options;
  options.connection_age = {std::chrono::milliseconds(50), std::chrono::seconds(30)};
  Start(options);
  const auto stub = v1::RoutingService::NewStub(channel());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // Between two connections the channel has none.
  for (int replaced = 0; replaced < 5;) {
    const grpc::Status status = Route(*stub, "key");
    ASSERT_TRUE(status.ok()) << status.error_message();
    replaced += channel()->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_IDLE;
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

TEST_F(RoutingServerTest, ACallUnderWayIsAnsweredBeforeTheEnd) {
  Start({});
  script_.Hold();
  const Call& under_way = StartBatch("under way");
  StartBatch("waits");
  script_.WaitUntilStarted(1);
  std::thread end([this] { server_->Shutdown(std::chrono::system_clock::now() + kPatience); });
  script_.Release();
  EXPECT_TRUE(NextDone().status.ok());
  NextDone();  // it may have come too late
  EXPECT_TRUE(under_way.status.ok()) << under_way.status.error_message();
  end.join();
}

TEST_F(RoutingServerTest, TheEndWaitsForNoCallBeyondItsDeadline) {
  Start({});
  script_.Hold();
  for (int i = 0; i < 10; ++i) StartBatch("never");
  script_.WaitUntilStarted(1);
  server_->Shutdown(std::chrono::system_clock::now());
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(NextDone().status.ok());
  EXPECT_EQ(script_.started(), 1);
}

TEST_F(RoutingServerTest, AServerWithoutAPortEnds) {
  Start({});
  ListenAddress address = *ListenAddress::Parse(address_);
  RoutingService other(lifecycle_, directory_);
  EXPECT_THAT(RoutingServer::Start(address, {}, other,
                                   [this] { return std::make_unique<ScriptedHandler>(script_); })
                  .status(),
              testing::StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("in use")));
}

}  // namespace
}  // namespace ringshift
