// ExplainRoute over gRPC, from a real router.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "migration/decision.h"
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

using ::testing::AllOf;
using ::testing::HasSubstr;

v1::ExplainRouteRequest Request(const std::string& data_center, const std::string& key,
                                const std::string& pool = "", int replicas = 0) {
  v1::ExplainRouteRequest request;
  request.set_data_center(data_center);
  request.set_key(key);
  request.set_pool(pool);
  request.set_replicas(replicas);
  return request;
}

class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() { router_.WaitUntilReady(); }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  RouterClient client_{router_};
};

TEST_F(ExplainTest, ItsAnswerIsThatOfRoute) {
  ASSERT_THAT(client_.SetShare("ams", 400'000), IsOk());
  int v2 = 0;
  for (int i = 0; i < 1000; ++i) {
    for (const std::string pool : {"", "fedramp"}) {
      const auto request = Request(i % 5 == 4 ? "new" : "ams", "/img/" + std::to_string(i),
                                   i % 5 == 4 ? "" : pool, i % 4 == 3 ? 16 : i % 4);
      v1::RouteRequest route;
      ASSERT_TRUE(route.ParseFromString(request.SerializeAsString()));  // the fields are the same
      const auto answer = client_.Route(route);
      const auto explained = client_.Explain(request);
      ASSERT_THAT(answer, IsOk());
      ASSERT_THAT(explained, IsOk());
      EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(explained->answer(), *answer))
          << explained->DebugString();
      // The explanation leads to the answer.
      const bool is_v2 = explained->bucket() < explained->effective_v2_ppm();
      EXPECT_EQ(answer->ring_version(), is_v2 ? v1::RING_VERSION_V2 : v1::RING_VERSION_V1);
      v2 += is_v2 ? 1 : 0;
      for (const v1::RingExplanation& ring : explained->rings()) {
        if (ring.ring_version() != answer->ring_version()) continue;
        EXPECT_EQ(ring.owner().name(), answer->owner().name());
        ASSERT_EQ(ring.replicas_size(), answer->replicas_size());
        for (int r = 0; r < ring.replicas_size(); ++r) {
          EXPECT_EQ(ring.replicas(r).name(), answer->replicas(r).name());
        }
      }
    }
  }
  EXPECT_GT(v2, 500);
  EXPECT_LT(v2, 1500);
}

TEST_F(ExplainTest, EveryStepIsThatOfTheLibrary) {
  ASSERT_THAT(client_.SetShare("ams", 400'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(SmallTopology(), "small"));
  ASSERT_OK_AND_ASSIGN(const auto ams, DataCenter::Build(*loaded.topology.Find("ams")));
  const Decision decision("ams");
  const std::string key = "/img/1.jpg";
  const auto explained = client_.Explain(Request("ams", key, "fedramp", 2));
  ASSERT_THAT(explained, IsOk());
  EXPECT_EQ(explained->pool(), "fedramp");
  EXPECT_EQ(explained->position(), Crc32(key));
  EXPECT_EQ(explained->salt(), "ams");
  EXPECT_EQ(explained->decision_algorithm(), "xxh3-ppm-1");
  EXPECT_EQ(explained->decision_hash(), decision.Hash(key));
  EXPECT_EQ(explained->bucket(), static_cast<int>(decision.Bucket(key)));
  EXPECT_EQ(explained->requested_v2_ppm(), 400'000);
  EXPECT_EQ(explained->effective_v2_ppm(), 400'000);
  EXPECT_EQ(explained->effective_reason(), "");
  ASSERT_EQ(explained->rings_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const v1::RingExplanation& proto = explained->rings(i);
    const Ring& ring = i == 0 ? *ams->v1()->ring : *ams->v2()->ring;
    EXPECT_EQ(proto.ring_version(), i == 0 ? v1::RING_VERSION_V1 : v1::RING_VERSION_V2);
    EXPECT_EQ(proto.algorithm(), i == 0 ? "ketama-crc32-v1" : "ketama-crc32-v2");
    EXPECT_EQ(proto.points_per_weight(), i == 0 ? 160 : 16);
    const std::size_t index = ring.FindPoint(Crc32(key));
    EXPECT_EQ(proto.point_index(), static_cast<std::int64_t>(index));
    EXPECT_EQ(proto.point_hash(), ring.point(index).hash);
    EXPECT_EQ(proto.point_node().name(), ams->node(ring.point(index).node).name);
    EXPECT_EQ(proto.point_node().address(), ams->node(ring.point(index).node).address);
    EXPECT_EQ(proto.checksum(), ring.checksum());
    EXPECT_EQ(proto.wraps(), ring.point(index).hash < Crc32(key));
    EXPECT_EQ(proto.replicas_size(), 1);
    EXPECT_EQ(proto.passed_count(), proto.passed_size());
    for (const v1::PassedNode& passed : proto.passed()) {
      EXPECT_EQ(passed.reason(), v1::PASS_REASON_NOT_IN_POOL);
      EXPECT_THAT(passed.node().name(),
                  ::testing::Not(::testing::AnyOf("cache-0", "cache-3", "cache-6", "cache-9")));
    }
  }
}

TEST_F(ExplainTest, WithoutARingV1TheEffectiveShareHasAReason) {
  ASSERT_THAT(client_.Rename("fra", "new"), IsOk());  // its share is 0
  const auto explained = client_.Explain(Request("new", "key"));
  ASSERT_THAT(explained, IsOk());
  EXPECT_EQ(explained->requested_v2_ppm(), 0);
  EXPECT_EQ(explained->effective_v2_ppm(), 1'000'000);
  EXPECT_THAT(explained->effective_reason(), HasSubstr("v1"));
  ASSERT_EQ(explained->rings_size(), 1);
  EXPECT_EQ(explained->rings(0).ring_version(), v1::RING_VERSION_V2);
}

TEST_F(ExplainTest, ItRefusesWhatRouteRefuses) {
  for (const v1::ExplainRouteRequest& request :
       {Request("", "key"), Request("ams", ""), Request("asm", "key"),
        Request("ams", std::string(kMaxKeyBytes + 1, 'k')), Request("ams", "key", "nope"),
        Request("ams", "key", "nowhere"), Request("ams", "key", "", 17)}) {
    v1::RouteRequest route;
    ASSERT_TRUE(route.ParseFromString(request.SerializeAsString()));
    const absl::Status refusal = client_.Route(route).status();
    EXPECT_THAT(client_.Explain(request), StatusIs(refusal.code(), std::string(refusal.message())));
    EXPECT_FALSE(refusal.ok());
  }
}

}  // namespace
}  // namespace ringshift::testing
