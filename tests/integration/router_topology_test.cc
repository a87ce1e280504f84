// TopologyService and StatusService of a real router, and what its gRPC ports put up with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "ring/pool_rings.h"
#include "routing/data_center.h"
#include "routing/pool_balance.h"
#include "routing/topology_loader.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/health_client.h"
#include "tests/testing/raw_connection.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// What clients take by default.
constexpr std::size_t kMaxReplyBytes = std::size_t{4} << 20;

v1::GetTopologyRequest Page(const std::string& data_center, int size = 0,
                            const std::string& token = "") {
  v1::GetTopologyRequest request;
  request.set_data_center(data_center);
  request.set_page_size(size);
  request.set_page_token(token);
  return request;
}

class TopologyTest : public ::testing::Test {
 protected:
  TopologyTest() { router_.WaitUntilReady(); }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  RouterClient client_{router_};
};

TEST_F(TopologyTest, DataCentersAreListedByNameWithTheirFacts) {
  ASSERT_THAT(client_.SetShare("ams", 125'000), IsOk());
  const auto listed = client_.ListDataCenters();
  ASSERT_THAT(listed, IsOk());
  ASSERT_EQ(listed->data_centers_size(), 3);
  EXPECT_EQ(listed->next_page_token(), "");
  const v1::DataCenterSummary& ams = listed->data_centers(0);
  EXPECT_EQ(ams.name(), "ams");
  EXPECT_EQ(ams.tier(), "canary");
  EXPECT_EQ(ams.nodes(), 10);
  EXPECT_EQ(ams.total_weight(), 100);
  EXPECT_EQ(ams.pools(), 3);
  EXPECT_EQ(ams.requested_v2_ppm(), 125'000);
  EXPECT_EQ(ams.effective_v2_ppm(), 125'000);
  EXPECT_EQ(ams.effective_reason(), "");
  EXPECT_EQ(ams.checksum(), client_.TableChecksum("ams"));
  EXPECT_FALSE(ams.is_held());
  ASSERT_EQ(ams.rings_size(), 2);
  EXPECT_EQ(ams.rings(0).ring_version(), v1::RING_VERSION_V1);
  EXPECT_EQ(ams.rings(0).layout(), v1::RING_LAYOUT_WIDE);
  EXPECT_EQ(ams.rings(0).points(), 16'000);
  EXPECT_GE(ams.rings(0).memory_bytes(), 8 * 16'000);
  EXPECT_EQ(ams.rings(1).ring_version(), v1::RING_VERSION_V2);
  EXPECT_EQ(ams.rings(1).layout(), v1::RING_LAYOUT_DENSE);
  EXPECT_EQ(ams.rings(1).points(), 1600);
  EXPECT_EQ(ams.rings(1).points_per_weight(), 16);
  EXPECT_GT(ams.rings(1).cv(), ams.rings(0).cv());
  EXPECT_EQ(listed->data_centers(1).name(), "fra");
  EXPECT_EQ(listed->data_centers(2).name(), "new");
  EXPECT_EQ(listed->data_centers(2).rings_size(), 1);
}

TEST_F(TopologyTest, DataCentersComeInPages) {
  v1::ListDataCentersRequest request;
  request.set_page_size(2);
  const auto first = client_.ListDataCenters(request);
  ASSERT_THAT(first, IsOk());
  ASSERT_EQ(first->data_centers_size(), 2);
  request.set_page_token(first->next_page_token());
  const auto second = client_.ListDataCenters(request);
  ASSERT_THAT(second, IsOk());
  ASSERT_EQ(second->data_centers_size(), 1);
  EXPECT_EQ(second->data_centers(0).name(), "new");
  EXPECT_EQ(second->next_page_token(), "");
  request.set_page_token("nonsense");
  EXPECT_THAT(client_.ListDataCenters(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")));
  request.set_page_size(-1);
  EXPECT_THAT(client_.ListDataCenters(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_size")));
}

TEST_F(TopologyTest, TheTopologyOfADataCenterIsWhatTheFileSays) {
  const auto topology = client_.GetTopology(Page("ams"));
  ASSERT_THAT(topology, IsOk());
  EXPECT_EQ(topology->data_center().name(), "ams");
  EXPECT_EQ(topology->pools_size(), 3);
  EXPECT_EQ(topology->pools(2).name(), "nowhere");
  EXPECT_EQ(topology->pools(2).nodes(), 0);
  ASSERT_EQ(topology->nodes_size(), 10);
  EXPECT_EQ(topology->nodes(3).name(), "cache-3");
  EXPECT_EQ(topology->nodes(3).address(), "10.0.0.3:443");
  EXPECT_THAT(topology->nodes(3).features(), ElementsAre("fedramp"));
  EXPECT_THAT(client_.GetTopology(Page("asm")),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
  EXPECT_THAT(client_.GetTopology(Page("")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center")));
}

TEST_F(TopologyTest, AChangeBetweenTwoPagesIsAborted) {
  const auto first = client_.GetTopology(Page("ams", 6));
  ASSERT_THAT(first, IsOk());
  ASSERT_EQ(first->nodes_size(), 6);
  EXPECT_THAT(client_.GetTopology(Page("ams", 6, first->next_page_token())), IsOk());
  // A share is no part of it.
  ASSERT_THAT(client_.SetShare("ams", 1000), IsOk());
  EXPECT_THAT(client_.GetTopology(Page("ams", 6, first->next_page_token())), IsOk());
  std::string changed = SmallTopology();
  changed.replace(changed.find("cache-5"), 7, "other-5");
  dir_.Write("topology.yaml", changed);
  ASSERT_THAT(client_.Reload(), IsOk());
  EXPECT_THAT(client_.GetTopology(Page("ams", 6, first->next_page_token())),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("has changed")));
}

TEST_F(TopologyTest, RingStatsAreTheMeasuredBalanceOfEveryPool) {
  const auto stats = client_.GetRingStats("ams");
  ASSERT_THAT(stats, IsOk());
  EXPECT_EQ(stats->data_center(), "ams");
  EXPECT_EQ(stats->nodes(), 10);
  ASSERT_EQ(stats->rings_size(), 2);
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(SmallTopology(), "small"));
  ASSERT_OK_AND_ASSIGN(const auto ams, DataCenter::Build(*loaded.topology.Find("ams")));
  for (int i = 0; i < 2; ++i) {
    const Ring& ring = i == 0 ? *ams->v1()->ring : *ams->v2()->ring;
    ASSERT_EQ(stats->rings(i).pools_size(), 3);
    for (int p = 0; p < 3; ++p) {
      const DataCenter::Pool& pool = ams->pools()[static_cast<std::size_t>(p)];
      const PoolBalance expected = MeasurePoolBalance(ring, ams->node_set(), pool.name, pool.nodes);
      const v1::PoolBalance& balance = stats->rings(i).pools(p);
      EXPECT_EQ(balance.pool(), expected.pool);
      EXPECT_EQ(balance.nodes(), static_cast<int>(expected.nodes));
      EXPECT_EQ(balance.cv(), expected.cv);
      EXPECT_EQ(balance.max_ratio(), expected.max_ratio);
      EXPECT_EQ(balance.min_node(), expected.min_node);
      EXPECT_EQ(balance.nodes_by_load_size(), static_cast<int>(kLoadClasses.size()));
      const PoolWalk walk = MeasurePoolWalks(ring, std::array{&pool.nodes})[0];
      EXPECT_EQ(balance.points(), static_cast<std::int64_t>(walk.points));
      EXPECT_EQ(balance.mean_walk(), walk.mean);
      EXPECT_EQ(balance.longest_walk(), static_cast<std::int64_t>(walk.longest));
      EXPECT_EQ(balance.own_ring_memory_bytes(), 0);
      EXPECT_FALSE(balance.lacks_own_ring());
    }
  }
  EXPECT_THAT(client_.GetRingStats("asm"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("asm")));
}

TEST_F(TopologyTest, TheStatusSaysHowTheRouterIs) {
  const v1::GetStatusResponse status = client_.Status();
  EXPECT_NE(status.version(), "");
  EXPECT_EQ(status.phase(), v1::ROUTER_PHASE_SERVING);
  EXPECT_GT(status.start_time().seconds(), 1'700'000'000);
  EXPECT_EQ(status.store().name(), "sqlite:" + dir_.File("state.db"));
  EXPECT_TRUE(status.store().is_up());
  EXPECT_TRUE(status.store().was_created());
  EXPECT_EQ(status.data_centers(), 3);
  const auto listed = client_.ListDataCenters();
  ASSERT_THAT(listed, IsOk());
  std::int64_t bytes = 0;
  for (const auto& data_center : listed->data_centers()) {
    for (const auto& ring : data_center.rings()) bytes += ring.memory_bytes();
  }
  EXPECT_EQ(status.ring_memory_bytes(), bytes);
  EXPECT_EQ(status.reload().file(), dir_.File("topology.yaml"));
  EXPECT_EQ(status.reload().checksum().size(), 16u);
  EXPECT_EQ(status.reload().last_error_code(), 0);
  EXPECT_EQ(status.reload().last_trigger(), v1::RELOAD_TRIGGER_START);
  EXPECT_EQ(status.reload().generation(), 1);
  EXPECT_TRUE(status.reload().has_last_success_time());
}

TEST_F(TopologyTest, EveryServiceHasAHealth) {
  for (const char* service : {"", "ringshift.v1.MigrationService", "ringshift.v1.TopologyService",
                              "ringshift.v1.StatusService"}) {
    EXPECT_THAT(CheckHealth(router_.AdminChannel(), service), Optional(Health::kServing))
        << service;
  }
}

TEST_F(TopologyTest, ARequestThatIsTooLargeIsRefusedAndTheServerGoesOn) {
  v1::RouteRequest route;
  route.set_data_center("ams");
  route.set_key(std::string(std::size_t{5} << 20, 'k'));
  EXPECT_EQ(client_.Route(route).status().code(), absl::StatusCode::kResourceExhausted);
  v1::AcceptTopologyRequest accept;
  accept.set_checksum(std::string(std::size_t{5} << 20, 'c'));
  EXPECT_EQ(client_.Accept(accept).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(client_.ListDataCenters(), IsOk());
  EXPECT_NE(client_.TableChecksum("ams"), 0u);
}

// HTTP/2 by hand.
std::string Frame(char type, char flags, const std::string& payload) {
  std::string frame = {0, 0, static_cast<char>(payload.size()), type, flags, 0, 0, 0, 0};
  return frame + payload;
}

TEST_F(TopologyTest, AClientThatPingsAllTheTimeIsSentAwayAndTheOthersStay) {
  const auto quiet = router_.PublicChannel();
  ASSERT_THAT(CheckHealth(quiet, ""), Optional(Health::kServing));
  const std::string& address = router_.public_address();
  RawConnection pinger(std::stoi(address.substr(address.rfind(':') + 1)));
  ASSERT_TRUE(pinger.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, "")));
  std::string pings;
  for (int i = 0; i < 5; ++i) pings += Frame(6, 0, "12345678");
  ASSERT_TRUE(pinger.Send(pings));
  // GOAWAY with ENHANCE_YOUR_CALM.
  EXPECT_THAT(pinger.ReceiveAll(), HasSubstr("too_many_pings"));
  EXPECT_EQ(quiet->GetState(false), GRPC_CHANNEL_READY);
  EXPECT_THAT(CheckHealth(quiet, ""), Optional(Health::kServing));
}

TEST(LargeTopologyTest, RepliesStayBelowWhatClientsTakeWhateverTheFleet) {
  constexpr int kNodes = 5'000;  // 6 MB of names and features: more than a reply may have
  std::string yaml = "data_centers:\n  - name: ams\n    nodes:\n";
  const std::string long_name(200, 'n');
  std::string features;
  for (int f = 0; f < 16; ++f)
    features += (f == 0 ? "" : ", ") + std::string(60, 'f') + std::to_string(f);
  for (int i = 0; i < kNodes; ++i) {
    yaml += "      - {name: " + long_name + std::to_string(10'000 + i) + ", address: \"10.0." +
            std::to_string(i / 250) + "." + std::to_string(i % 250) + ":443\", features: [" +
            features + "]}\n";
  }
  TempDir dir;
  RouterProcess router(dir.Write("topology.yaml", yaml), dir.File("state.db"));
  router.WaitUntilReady();
  const RouterClient client(router);
  int nodes = 0;
  std::string last;
  std::string token;
  do {
    const auto page = client.GetTopology(Page("ams", 0, token));
    ASSERT_THAT(page, IsOk());
    EXPECT_LT(page->ByteSizeLong(), kMaxReplyBytes);
    ASSERT_GT(page->nodes_size(), 0);
    EXPECT_LT(last, page->nodes(0).name());
    last = page->nodes(page->nodes_size() - 1).name();
    nodes += page->nodes_size();
    token = page->next_page_token();
  } while (!token.empty());
  EXPECT_EQ(nodes, kNodes);
  for (const std::size_t size :
       {client.GetRingStats("ams")->ByteSizeLong(), client.ListDataCenters()->ByteSizeLong(),
        client.Status().ByteSizeLong(), client.Reload()->ByteSizeLong()}) {
    EXPECT_LT(size, kMaxReplyBytes);
  }
}

}  // namespace
}  // namespace ringshift::testing
