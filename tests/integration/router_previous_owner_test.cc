// Previous owners over gRPC, from a real router whose share goes up and down.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kKeys = 500;

class PreviousOwnerTest : public ::testing::Test {
 protected:
  PreviousOwnerTest() { router_.WaitUntilReady(); }

  static v1::RouteRequest Request(int i) {
    v1::RouteRequest request;
    request.set_data_center("ams");
    request.set_key("/img/" + std::to_string(i));
    if (i % 3 == 0) request.set_pool("fedramp");
    return request;
  }

  v1::RouteResponse Route(int i) {
    const auto response = client_->Route(Request(i));
    EXPECT_THAT(response, IsOk());
    return response.ok() ? *response : v1::RouteResponse();
  }

  std::vector<std::string> Owners() {
    std::vector<std::string> owners;
    for (int i = 0; i < kKeys; ++i) owners.push_back(Route(i).owner().name());
    return owners;
  }

  // Every key that moved has the owner that it had; the others have none.
  void ExpectPreviousOwners(const std::vector<std::string>& before) {
    int moved = 0;
    for (int i = 0; i < kKeys; ++i) {
      const v1::RouteResponse answer = Route(i);
      const std::string& owner = before[static_cast<std::size_t>(i)];
      if (answer.owner().name() == owner) {
        EXPECT_FALSE(answer.has_previous_owner()) << i;
        continue;
      }
      ++moved;
      EXPECT_EQ(answer.previous_owner().name(), owner);
      EXPECT_NE(answer.previous_owner().address(), "");
    }
    EXPECT_GT(moved, kKeys / 5);
  }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  std::unique_ptr<RouterClient> client_ = std::make_unique<RouterClient>(router_);
};

TEST_F(PreviousOwnerTest, ARouterThatStartedHasNone) {
  for (int i = 0; i < kKeys; ++i) EXPECT_FALSE(Route(i).has_previous_owner());
}

TEST_F(PreviousOwnerTest, AfterEveryChangeItIsTheOwnerBeforeForEveryKeyThatMoved) {
  const std::vector<std::string> on_v1 = Owners();
  ASSERT_THAT(client_->SetShare("ams", 400'000), IsOk());
  ExpectPreviousOwners(on_v1);
  const std::vector<std::string> at_400 = Owners();
  ASSERT_THAT(client_->SetShare("ams", 0), IsOk());
  ExpectPreviousOwners(at_400);
}

TEST_F(PreviousOwnerTest, ItIsKnownAfterARestart) {
  ASSERT_THAT(client_->SetShare("ams", 400'000), IsOk());
  const std::vector<std::string> at_400 = Owners();
  ASSERT_THAT(client_->SetShare("ams", 0), IsOk());
  router_.process().Signal(SIGKILL);
  router_.process().WaitForExit();
  RouterProcess again(dir_.File("topology.yaml"), dir_.File("state.db"));
  again.WaitUntilReady();
  client_ = std::make_unique<RouterClient>(again);
  ExpectPreviousOwners(at_400);
}

TEST_F(PreviousOwnerTest, BatchesExplanationsAndHoldersHaveTheSame) {
  ASSERT_THAT(client_->SetShare("ams", 400'000), IsOk());
  ASSERT_THAT(client_->SetShare("ams", 100'000), IsOk());
  const auto stub = v1::RoutingService::NewStub(router_.PublicChannel());
  v1::RouteBatchRequest request;
  request.set_data_center("ams");
  for (int i = 0; i < kKeys; ++i) request.add_keys("/img/" + std::to_string(i));
  grpc::ClientContext context;
  v1::RouteBatchResponse batch;
  ASSERT_TRUE(stub->RouteBatch(&context, request, &batch).ok());
  ASSERT_EQ(batch.previous_owner_places_size(), kKeys);
  int named = 0;
  for (int i = 0; i < kKeys; ++i) {
    v1::RouteRequest route = Request(i);
    route.clear_pool();
    ASSERT_OK_AND_ASSIGN(const v1::RouteResponse answer, client_->Route(route));
    const int place = batch.previous_owner_places(i);
    ASSERT_EQ(place != 0, answer.has_previous_owner());

    v1::ExplainRouteRequest explain;
    explain.set_data_center("ams");
    explain.set_key(route.key());
    ASSERT_OK_AND_ASSIGN(const v1::ExplainRouteResponse explained, client_->Explain(explain));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(explained.answer(), answer));
    EXPECT_EQ(explained.v2_warm_below_ppm(), 400'000);
    EXPECT_EQ(explained.v1_warm_from_ppm(), 0);
    if (place == 0) continue;
    ++named;
    const std::string& name = answer.previous_owner().name();
    EXPECT_EQ(batch.nodes(place - 1).name(), name);
    EXPECT_THAT(explained.previous_owner_reason(), HasSubstr("gives the key to " + name));

    v1::RouteHoldersRequest holders_of;
    holders_of.set_data_center("ams");
    holders_of.set_key(route.key());
    ASSERT_OK_AND_ASSIGN(const v1::RouteHoldersResponse holders, client_->Holders(holders_of));
    ASSERT_GT(holders.holders_size(), 1);
    EXPECT_EQ(holders.holders(1).node().name(), name);
    EXPECT_EQ(holders.holders(1).reason(), v1::HOLDER_REASON_PREVIOUS_OWNER);
  }
  EXPECT_GT(named, kKeys / 5);
}

}  // namespace
}  // namespace ringshift::testing
