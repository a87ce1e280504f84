// RouteHolders over gRPC, from a real router.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>

#include "ring/crc32.h"
#include "routing/data_center.h"
#include "routing/route.h"
#include "routing/topology_loader.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::HasSubstr;

v1::RouteHoldersRequest Request(const std::string& data_center, const std::string& key,
                                const std::string& pool = "", int next_nodes = 0) {
  v1::RouteHoldersRequest request;
  request.set_data_center(data_center);
  request.set_key(key);
  request.set_pool(pool);
  request.set_next_nodes(next_nodes);
  return request;
}

v1::RouteRequest RouteOf(const v1::RouteHoldersRequest& request) {
  v1::RouteRequest route;
  route.set_data_center(request.data_center());
  route.set_key(request.key());
  route.set_pool(request.pool());
  return route;
}

class HoldersTest : public ::testing::Test {
 protected:
  HoldersTest() { router_.WaitUntilReady(); }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  RouterClient client_{router_};
};

TEST_F(HoldersTest, TheyAreTheOwnersOfBothRingsAndTheNextNodesOfEach) {
  ASSERT_THAT(client_.SetShare("ams", 400'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(SmallTopology(), "small"));
  ASSERT_OK_AND_ASSIGN(const auto ams, DataCenter::Build(*loaded.topology.Find("ams")));
  for (int i = 0; i < 100; ++i) {
    const auto request = Request("ams", "/img/" + std::to_string(i), "fedramp", i % 3);
    ASSERT_OK_AND_ASSIGN(const v1::RouteHoldersResponse response, client_.Holders(request));
    ASSERT_OK_AND_ASSIGN(const v1::RouteResponse answer, client_.Route(RouteOf(request)));
    const std::size_t pool = ams->FindPool("fedramp").value();
    std::set<std::string> expected;
    for (const DataCenter::BuiltRing* ring : {ams->v1(), ams->v2()}) {
      std::vector<NodeIndex> walk(1 + static_cast<std::size_t>(i % 3 == 0 ? 2 : i % 3));
      walk.resize(ring->ring->FindNodes(Crc32(request.key()), ams->pools()[pool].nodes, walk));
      for (const NodeIndex node : walk) expected.insert(ams->node(node).name);
    }
    std::set<std::string> names;
    for (const v1::Holder& holder : response.holders()) {
      EXPECT_TRUE(names.insert(holder.node().name()).second) << holder.node().name();
      EXPECT_NE(holder.node().address(), "");
      EXPECT_NE(holder.reason(), v1::HOLDER_REASON_UNSPECIFIED);
    }
    EXPECT_EQ(names, expected);
    EXPECT_EQ(response.holders(0).node().name(), answer.owner().name());
    EXPECT_EQ(response.holders(0).reason(), v1::HOLDER_REASON_OWNER);
    EXPECT_EQ(response.table().checksum(), answer.table().checksum());
    EXPECT_EQ(response.table().v2_ppm(), 400'000);
  }
}

TEST_F(HoldersTest, ItRefusesWhatRouteRefusesAndNextNodesOutOfRange) {
  for (const v1::RouteHoldersRequest& request :
       {Request("", "key"), Request("ams", ""), Request("asm", "key"),
        Request("ams", "key", "nope"), Request("ams", "key", "nowhere")}) {
    const absl::Status refusal = client_.Route(RouteOf(request)).status();
    EXPECT_FALSE(refusal.ok());
    EXPECT_THAT(client_.Holders(request), StatusIs(refusal.code(), std::string(refusal.message())));
  }
  EXPECT_THAT(client_.Holders(Request("ams", "key", "", 17)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("next_nodes is 17; it must be 0 to 16")));
}

}  // namespace
}  // namespace ringshift::testing
