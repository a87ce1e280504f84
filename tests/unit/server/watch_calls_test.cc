#include "server/watch_calls.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/watch_methods.h"
#include "tests/unit/server/small_topology.h"
#include "tests/unit/server/stream_server.h"

namespace ringshift {
namespace {

using ::ringshift::testing::kPatience;
using ::ringshift::testing::StreamServer;
using ::ringshift::testing::WaitUntil;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One watch, as a client sees it.
class Watch {
 public:
  Watch(v1::RoutingService::Stub& stub, std::vector<std::string> data_centers = {},
        const std::string& cursor = "") {
    testing::SetDeadline(context_);
    v1::WatchRoutingRequest request;
    for (std::string& name : data_centers) request.add_data_centers(std::move(name));
    request.set_cursor(cursor);
    reader_ = stub.WatchRouting(&context_, request);
  }
  ~Watch() {
    context_.TryCancel();
    if (!is_over_) reader_->Finish();
  }

  // An empty response when the call is over.
  v1::WatchRoutingResponse Next() {
    v1::WatchRoutingResponse response;
    if (!reader_->Read(&response)) response.Clear();
    return response;
  }
  grpc::Status Finish() {
    is_over_ = true;
    return reader_->Finish();
  }
  // How a call that gets nothing ends.
  grpc::Status End() {
    EXPECT_THAT(Next().cursor(), IsEmpty());
    return Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchRoutingResponse>> reader_;
  bool is_over_ = false;
};

class WatchCallsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMaxCalls = 300;

  ~WatchCallsTest() override {
    if (server_ == nullptr) return;
    watches_.End();
    server_->Shutdown();
  }

  void Start() {
    Migration migration;
    migration.data_center = "ams";
    migration.salt = "ams";
    migration.decision_algorithm = std::string(kDecisionAlgorithm);
    directory_.Publish(
        RoutingTable::Create(testing::Built(testing::SmallDataCenter("ams")), migration).value());
    lifecycle_.StartServing();
    Listen();
  }
  void Listen() {
    server_ = std::make_unique<StreamServer>(service_, lifecycle_, directory_,
                                             std::vector<QueueCalls*>{&watches_});
    stub_ = server_->NewStub();
  }

  // Puts `ams` into the feed, with this salt.
  void Update(const std::string& salt) {
    v1::WatchRoutingResponse response;
    v1::RoutingState& state = *response.add_data_centers();
    state.set_data_center("ams");
    state.set_salt(salt);
    feed_.Update({{"ams", std::make_shared<const std::string>(response.SerializeAsString())}});
    watches_.Notify();
  }

  static std::vector<std::string> Salts(const v1::WatchRoutingResponse& response) {
    std::vector<std::string> salts;
    for (const v1::RoutingState& state : response.data_centers()) salts.push_back(state.salt());
    return salts;
  }

  Lifecycle lifecycle_;
  RoutingDirectory directory_;
  RoutingService service_{lifecycle_, directory_};
  ChangeFeed feed_{"1"};
  std::atomic<int> minutes_{0};
  WatchCalls watches_{
      feed_,
      WatchRoutingMethod(service_, lifecycle_, directory_),
      {kMaxCalls, std::chrono::seconds(60),
       [this] { return std::chrono::steady_clock::time_point(std::chrono::minutes(minutes_)); }}};
  std::unique_ptr<StreamServer> server_;
  std::unique_ptr<v1::RoutingService::Stub> stub_;
};

TEST_F(WatchCallsTest, AClientGetsWhatIsAndThenWhatChanges) {
  Start();
  Update("1");
  Watch watch(*stub_);
  const v1::WatchRoutingResponse first = watch.Next();
  EXPECT_TRUE(first.is_snapshot());
  EXPECT_THAT(Salts(first), ElementsAre("1"));
  Update("2");
  const v1::WatchRoutingResponse second = watch.Next();
  EXPECT_FALSE(second.is_snapshot());
  EXPECT_THAT(Salts(second), ElementsAre("2"));
  // Another one goes on where this one is.
  Watch same(*stub_, {}, second.cursor());
  const v1::WatchRoutingResponse third = same.Next();
  EXPECT_FALSE(third.is_snapshot());
  EXPECT_THAT(Salts(third), IsEmpty());
  EXPECT_EQ(third.cursor(), second.cursor());
}

TEST_F(WatchCallsTest, AllOfManyClientsHearOfAChange) {
  Start();
  Update("1");
  std::vector<std::unique_ptr<Watch>> watches;
  for (std::size_t i = 0; i < kMaxCalls; ++i) {
    watches.push_back(std::make_unique<Watch>(*stub_));
    EXPECT_THAT(Salts(watches.back()->Next()), ElementsAre("1"));
  }
  for (const char* salt : {"2", "3"}) {
    Update(salt);
    for (const auto& watch : watches) EXPECT_THAT(Salts(watch->Next()), ElementsAre(salt));
  }
}

TEST_F(WatchCallsTest, AClientThatDoesNotReadMissesWhatIsBetweenAndNotTheLast) {
  Start();
  const std::string large(WatchCalls::kMaxMessageBytes, 'x');
  Update("1" + large);
  Watch slow(*stub_);
  EXPECT_EQ(Salts(slow.Next()).front()[0], '1');
  // The first of these fill its windows.
  constexpr int kUpdates = 60;
  for (int i = 2; i <= kUpdates; ++i) {
    Update(std::to_string(i) + large);
    // Others get it meanwhile.
    Watch other(*server_->NewStub());
    ASSERT_TRUE(Salts(other.Next()).front().starts_with(std::to_string(i) + "x"));
  }
  int messages = 0;
  for (;;) {
    const std::vector<std::string> salts = Salts(slow.Next());
    ASSERT_EQ(salts.size(), 1u);
    ++messages;
    if (salts.front().starts_with(std::to_string(kUpdates) + "x")) break;
  }
  EXPECT_LT(messages, kUpdates / 2);
}

TEST_F(WatchCallsTest, AClientThatTakesNothingForAMinuteIsCancelled) {
  Start();
  Update("1" + std::string(std::size_t{40} << 20, 'x'));  // more than any window
  Watch stalled(*stub_);
  WaitUntil([&] { return watches_.count() == 1; });
  minutes_ = 2;
  Update("2");
  WaitUntil([&] { return watches_.count() == 0; });
  EXPECT_EQ(stalled.End().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(WatchCallsTest, ClientsBeyondTheLimitAreRefusedUntilOneLeaves) {
  Start();
  Update("1");
  std::vector<std::unique_ptr<Watch>> watches;
  for (std::size_t i = 0; i < kMaxCalls; ++i) {
    watches.push_back(std::make_unique<Watch>(*stub_));
    watches.back()->Next();
  }
  Watch refused(*stub_);
  const grpc::Status status = refused.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("300 clients watch"));
  watches.pop_back();
  WaitUntil([&] { return watches_.count() < kMaxCalls; });
  EXPECT_THAT(Salts(Watch(*stub_).Next()), ElementsAre("1"));
}

TEST_F(WatchCallsTest, TheEndOfTheRouterEndsEveryWatchAndThoseToCome) {
  Start();
  Update("1");
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 200; ++i) {
    watches.push_back(std::make_unique<Watch>(*stub_));
    watches.back()->Next();
  }
  watches_.End();
  watches.push_back(std::make_unique<Watch>(*stub_));
  for (const auto& watch : watches) {
    const grpc::Status status = watch->End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("stopping"));
  }
}

TEST_F(WatchCallsTest, ARouterThatIsNotReadyRefusesToBeWatched) {
  Listen();
  const grpc::Status status = Watch(*stub_).End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("starting"));
}

TEST_F(WatchCallsTest, DataCentersThatAreNotServedAreNotFound) {
  Start();
  const grpc::Status status = Watch(*stub_, {"ams", "nope"}).End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("nope"), HasSubstr("ams")));
  const grpc::Status unnamed = Watch(*stub_, {""}).End();
  EXPECT_EQ(unnamed.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(unnamed.error_message(), HasSubstr("data_center is empty"));
  EXPECT_EQ(watches_.count(), 0u);
}

TEST_F(WatchCallsTest, AClientThatWatchesOneDataCenterHearsOfNoOther) {
  Start();
  Update("1");
  Watch watch(*stub_, {"ams"});
  EXPECT_THAT(Salts(watch.Next()), ElementsAre("1"));
  v1::WatchRoutingResponse other;
  other.add_data_centers()->set_salt("other");
  feed_.Update({{"fra", std::make_shared<const std::string>(other.SerializeAsString())}});
  watches_.Notify();
  EXPECT_THAT(watch.Next().removed(), ElementsAre("ams"));
}

}  // namespace
}  // namespace ringshift
