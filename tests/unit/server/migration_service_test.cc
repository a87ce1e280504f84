// The services beside each other while the store is slow. What each of them answers is tested with
// a real router.
#include "server/migration_service.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/route_metrics.h"
#include "server/routing_server.h"
#include "server/routing_service.h"
#include "server/table_handler.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::testing::HasSubstr;

// Far above what a loaded machine needs.
constexpr std::chrono::seconds kPatience{60};

// The calls of a server of which it knows that they are over, by the name that the client gave
// them.
class EndedCalls {
 public:
  static constexpr const char* kName = "call-name";  // metadata

  bool Contains(const std::string& name) {
    const absl::MutexLock lock(&mutex_);
    return names_.contains(name);
  }

  using Creators =
      std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;
  Creators MakeCreators() {
    Creators creators;
    creators.push_back(std::make_unique<Factory>(*this));
    return creators;
  }

 private:
  class Interceptor final : public grpc::experimental::Interceptor {
   public:
    explicit Interceptor(EndedCalls& ended) : ended_(ended) {}
    void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
      using Point = grpc::experimental::InterceptionHookPoints;
      if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) {
        const auto* metadata = methods->GetRecvInitialMetadata();
        if (const auto found = metadata->find(kName); found != metadata->end()) {
          name_ = std::string(found->second.data(), found->second.size());
        }
      }
      if (methods->QueryInterceptionHookPoint(Point::POST_RECV_CLOSE)) {
        const absl::MutexLock lock(&ended_.mutex_);
        ended_.names_.insert(name_);
      }
      methods->Proceed();
    }

   private:
    EndedCalls& ended_;
    std::string name_;
  };

  class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
   public:
    explicit Factory(EndedCalls& ended) : ended_(ended) {}
    grpc::experimental::Interceptor* CreateServerInterceptor(
        grpc::experimental::ServerRpcInfo*) override {
      return new Interceptor(ended_);
    }

   private:
    EndedCalls& ended_;
  };

  absl::Mutex mutex_;
  std::set<std::string> names_;  // guarded by mutex_
};

class MigrationServiceTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override {
    Adopt();
    lifecycle_.StartServing();
    ListenAddress address{"127.0.0.1", 0};
    ASSERT_OK_AND_ASSIGN(public_server_,
                         RoutingServer::Start(address, {}, routing_service_, [this] {
                           return std::make_unique<TableHandler>(lifecycle_, directory_, &metrics_);
                         }));
    public_ = grpc::CreateChannel(address.ToString(), grpc::InsecureChannelCredentials());
    admin_server_ = Serve(migration_service_, admin_ended_.MakeCreators(), admin_);
  }
  void TearDown() override {
    store_.Unblock();
    changes_.Stop(std::chrono::steady_clock::now() + kPatience);
    reads_.Stop(std::chrono::steady_clock::now() + kPatience);
    public_server_.reset();
    admin_server_->Shutdown();
    done_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; done_.Next(&tag, &ok);) {
    }
  }

  static std::unique_ptr<grpc::Server> Serve(grpc::Service& service, EndedCalls::Creators creators,
                                             std::shared_ptr<grpc::Channel>& channel) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    builder.experimental().SetInterceptorCreators(std::move(creators));
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                  grpc::InsecureChannelCredentials());
    return server;
  }

  // A SetMigration under way.
  struct Call {
    int ppm = 0;
    grpc::ClientContext context;
    v1::SetMigrationResponse response;
    grpc::Status status;
    bool done = false;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SetMigrationResponse>> reader;
  };

  Call& StartChange(int ppm) {
    Call& call = calls_.emplace_back();
    call.ppm = ppm;
    call.context.set_deadline(std::chrono::system_clock::now() + kPatience);
    call.context.AddMetadata(EndedCalls::kName, std::to_string(ppm));
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers("ams");
    request.set_v2_ppm(ppm);
    call.reader =
        v1::MigrationService::NewStub(admin_)->AsyncSetMigration(&call.context, request, &done_);
    call.reader->Finish(&call.response, &call.status, &call);
    return call;
  }

  // The next call to end; waits for it.
  const Call& NextDone() {
    void* tag = nullptr;
    bool ok = false;
    done_.Next(&tag, &ok);
    Call& call = *static_cast<Call*>(tag);
    call.done = true;
    return call;
  }

  // Null if none ends within that time.
  const Call* NextDoneWithin(std::chrono::milliseconds time) {
    void* tag = nullptr;
    bool ok = false;
    if (done_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + time) !=
        grpc::CompletionQueue::GOT_EVENT) {
      return nullptr;
    }
    Call& call = *static_cast<Call*>(tag);
    call.done = true;
    return &call;
  }

  // Starts one change more than the router holds while one, to 1 ppm, is being made, and returns
  // the one that was refused. The others, of which each has a share of its own, are all in the
  // router then.
  const Call& Fill() {
    store_.Block();
    StartChange(1);
    store_.WaitUntilBlocked();
    for (int i = 0; i <= static_cast<int>(WorkQueue::kMaxWaiting); ++i) StartChange(1000 + i);
    return NextDone();
  }

  static grpc::Status Route(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::RouteRequest request;
    request.set_data_center("ams");
    request.set_key("key");
    v1::RouteResponse response;
    return v1::RoutingService::NewStub(channel)->Route(&context, request, &response);
  }

  static grpc::Status Get(const std::shared_ptr<grpc::Channel>& channel,
                          v1::Migration* migration = nullptr) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::GetMigrationRequest request;
    request.set_data_center("ams");
    v1::GetMigrationResponse response;
    grpc::Status status =
        v1::MigrationService::NewStub(channel)->GetMigration(&context, request, &response);
    if (migration != nullptr) *migration = response.migration();
    return status;
  }

  Lifecycle lifecycle_;
  RouteMetrics metrics_;
  OutcomeCounts outcomes_{directory_};
  std::chrono::steady_clock::time_point time_;
  RateWindow rates_{metrics_, outcomes_, [this] { return time_; }};
  Forecaster forecaster_{metrics_, rates_, [](std::string_view) { return std::nullopt; }};
  WorkQueue changes_;
  WorkQueue reads_;
  RoutingService routing_service_{lifecycle_, directory_};
  MigrationService migration_service_{lifecycle_,  controller_, store_, rates_,
                                      forecaster_, changes_,    reads_};
  EndedCalls admin_ended_;
  std::shared_ptr<grpc::Channel> public_;
  std::shared_ptr<grpc::Channel> admin_;
  std::unique_ptr<RoutingServer> public_server_;
  std::unique_ptr<grpc::Server> admin_server_;
  grpc::CompletionQueue done_;
  std::deque<Call> calls_;
};

TEST_F(MigrationServiceTest, AMigrationHasTheRatesOfTheLastMinute) {
  metrics_.Serve(Table("ams")->data_center());
  rates_.Sample();
  const std::shared_ptr<const DataCenterRouteMetrics> counters = metrics_.NewReader()->Find("ams");
  counters->CountRoutes(0, kDefaultPool, RingVersion::kV1, 30);
  counters->CountRoutes(0, kDefaultPool, RingVersion::kV2, 10);
  counters->CountErrors(absl::StatusCode::kUnavailable, 5);
  int count = 10;
  for (const Outcome outcome : {Outcome::kHit, Outcome::kPreviousOwnerHit, Outcome::kOrigin,
                                Outcome::kConnectError, Outcome::kError}) {
    outcomes_.Add("ams", RingVersion::kV2, outcome, static_cast<std::uint64_t>(count));
    count += 10;
  }
  time_ += std::chrono::seconds(10);
  rates_.Sample();
  v1::Migration ams;
  ASSERT_TRUE(Get(admin_, &ams).ok());
  EXPECT_DOUBLE_EQ(ams.requests_per_second(), 4);
  EXPECT_EQ(ams.measured_v2_ppm(), 250'000);
  EXPECT_DOUBLE_EQ(ams.errors_per_second(), 0.5);
  EXPECT_FALSE(ams.has_v1_outcomes());
  EXPECT_EQ(ams.v2_outcomes().hit(), 1);
  EXPECT_EQ(ams.v2_outcomes().previous_owner_hit(), 2);
  EXPECT_EQ(ams.v2_outcomes().origin(), 3);
  EXPECT_EQ(ams.v2_outcomes().connect_error(), 4);
  EXPECT_EQ(ams.v2_outcomes().error(), 5);
}

TEST_F(MigrationServiceTest, NothingWaitsForChangesThatWaitForTheStore) {
  const Call& refused = Fill();
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("64 calls are waiting"));
  EXPECT_TRUE(Route(public_).ok());
  EXPECT_TRUE(Get(admin_).ok());

  store_.Unblock();
  for (std::size_t i = 1; i < calls_.size(); ++i) {
    const Call& call = NextDone();
    ASSERT_TRUE(call.status.ok()) << call.status.error_message();
    EXPECT_EQ(call.response.changes(0).migration().v2_ppm(), call.ppm);
  }
}

TEST_F(MigrationServiceTest, AChangeThatIsCancelledBeforeItsTurnIsNotMade) {
  Fill();
  Call& cancelled = calls_[1].done ? calls_[2] : calls_[1];
  cancelled.context.TryCancel();
  EXPECT_EQ(&NextDone(), &cancelled);
  EXPECT_EQ(cancelled.status.error_code(), grpc::StatusCode::CANCELLED);
  // A change that finds the queue full has it look for those that nobody waits for any more.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int refused = 0;
  for (int ppm = 5000; !admin_ended_.Contains(std::to_string(cancelled.ppm)); ++ppm) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    const Call& more = StartChange(ppm);
    while (!more.done && !admin_ended_.Contains(std::to_string(cancelled.ppm))) {
      if (const Call* done = NextDoneWithin(std::chrono::milliseconds(10))) {
        EXPECT_EQ(done->status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
        ++refused;
      }
    }
  }

  store_.Unblock();
  for (std::size_t i = 2 + static_cast<std::size_t>(refused); i < calls_.size(); ++i) {
    const Call& call = NextDone();
    if (call.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) continue;
    ASSERT_TRUE(call.status.ok()) << call.status.error_message();
    EXPECT_NE(call.response.changes(0).previous_v2_ppm(), cancelled.ppm);
  }
  EXPECT_NE(Table("ams")->share().ppm(), cancelled.ppm);
}

TEST_F(MigrationServiceTest, ARollbackWhileTheQueueIsFullIsMadeAndSaysThatItIsNotInTheStoreYet) {
  Fill();
  v1::RollbackMigrationRequest request;
  request.mutable_selector()->add_data_centers("ams");
  grpc::ClientContext context;
  v1::RollbackMigrationResponse response;
  const grpc::Status status =
      v1::MigrationService::NewStub(admin_)->RollbackMigration(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.durability(), v1::DURABILITY_APPLIED_NOT_DURABLE);
  EXPECT_EQ(response.store_error(),
            "the router has the rollback, and its store has not got it yet, because 64 changes "
            "wait for the store; it is tried again");
  EXPECT_TRUE(Table("ams")->migration().is_frozen);

  store_.Unblock();
  for (std::size_t i = 1; i < calls_.size(); ++i) NextDone();
  EXPECT_FALSE(controller_.HasUnsavedRollbacks());
}

TEST_F(MigrationServiceTest, TheEndOfTheRouterDoesNotWaitForTheStore) {
  Fill();
  EXPECT_FALSE(changes_.Stop(std::chrono::steady_clock::now()));
  admin_server_->Shutdown();
  for (std::size_t i = 1; i < calls_.size(); ++i) {
    const Call& call = NextDone();
    EXPECT_EQ(call.status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(call.status.error_message(), HasSubstr("the router is stopping"));
  }
}

TEST_F(MigrationServiceTest, ARollbackThatHasToBuildV1FirstIsDurableAndNotInForce) {
  const auto rollback = [this](const std::string& name) {
    v1::RollbackMigrationRequest request;
    request.mutable_selector()->add_data_centers(name);
    request.mutable_selector()->add_data_centers("sin");
    request.set_reason(std::string(2000, 'r'));
    grpc::ClientContext context;
    v1::RollbackMigrationResponse response;
    const grpc::Status status =
        v1::MigrationService::NewStub(admin_)->RollbackMigration(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_THAT(response.unknown(), ::testing::ElementsAre("sin"));
    EXPECT_EQ(response.changes(0).migration().reason().size(), 1024u);
    return response.durability();
  };
  ASSERT_THAT(Adopt(testing::SmallDataCenter("fra")), testing::IsOk());
  ASSERT_THAT(Set("ams", 1'000'000), testing::IsOk());
  ASSERT_THAT(controller_.Retire(testing::OrderFor("ams"), RingVersion::kV1, {}), testing::IsOk());
  EXPECT_EQ(rollback("ams"), v1::DURABILITY_NOT_IN_FORCE);
  EXPECT_EQ(rollback("fra"), v1::DURABILITY_DURABLE);
}

}  // namespace
}  // namespace ringshift
