#include "routing/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TopologyTest, FindGivesTheDataCenterOfThatNameOrNull) {
  Topology topology;
  topology.data_centers.push_back(MakeSpec(1));
  EXPECT_EQ(topology.Find("ams"), &topology.data_centers[0]);
  EXPECT_EQ(topology.Find("am"), nullptr);
}

TEST(MakeNodeSetTest, RingIdentityTakesThePlaceOfTheAddress) {
  DataCenterSpec spec = MakeSpec(2);
  spec.nodes[0].ring_identity = "10.9.9.9:443";
  ASSERT_OK_AND_ASSIGN(const auto nodes, MakeNodeSet(spec));
  EXPECT_EQ((*nodes)[0].identity.bytes(), std::string("10.0.0.2\0"
                                                      "443",
                                                      12));
  EXPECT_EQ((*nodes)[1].name, "n1");
  EXPECT_EQ((*nodes)[1].identity.bytes(), std::string("10.9.9.9\0"
                                                      "443",
                                                      12));
}

TEST(MakeNodeSetTest, ABadAddressIsRefusedWithItsNode) {
  DataCenterSpec spec = MakeSpec(2);
  spec.nodes[1].address = "10.0.0.2";
  EXPECT_THAT(MakeNodeSet(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr("node n2"), HasSubstr("10.0.0.2"))));
}

TEST(MakeNodeSetTest, TheStyleOfTheDataCenterSaysHowAddressesAreSplit) {
  DataCenterSpec spec = MakeSpec(1);
  spec.nodes[0].address = "cache-1";
  EXPECT_THAT(MakeNodeSet(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cache-1")));
  spec.identity_style = IdentityStyle::kNginx;
  ASSERT_OK_AND_ASSIGN(const auto nodes, MakeNodeSet(spec));
  EXPECT_EQ((*nodes)[0].identity.bytes(), std::string("cache-1\0", 8));
}

TEST(MakePoolMaskTest, APoolIsTheNodesWithAllOfItsFeatures) {
  DataCenterSpec spec = MakeSpec(4);
  spec.nodes[0].features = {"ssd"};
  spec.nodes[1].features = {"fedramp", "ssd"};
  spec.nodes[3].features = {"ssd", "other", "fedramp"};
  spec.pools = {{"both", {"ssd", "fedramp"}}};
  ASSERT_OK_AND_ASSIGN(const auto nodes, MakeNodeSet(spec));
  ASSERT_OK_AND_ASSIGN(const NodeMask mask, MakePoolMask(spec, *nodes, "both"));
  for (const auto& [name, is_in] : std::vector<std::pair<const char*, bool>>{
           {"n1", false}, {"n2", true}, {"n3", false}, {"n4", true}}) {
    EXPECT_EQ(mask.Contains(*nodes->Find(name)), is_in) << name;
  }
}

TEST(MakePoolMaskTest, DefaultIsEveryNodeUnderBothOfItsNames) {
  const DataCenterSpec spec = MakeSpec(70);
  ASSERT_OK_AND_ASSIGN(const auto nodes, MakeNodeSet(spec));
  for (const char* name : {"", "default"}) {
    ASSERT_OK_AND_ASSIGN(const NodeMask mask, MakePoolMask(spec, *nodes, name));
    EXPECT_EQ(mask.count(), 70u) << name;
  }
}

TEST(MakePoolMaskTest, AnUnknownPoolIsNotFoundWithTheKnownOnes) {
  DataCenterSpec spec = MakeSpec(1);
  spec.pools = {{"fedramp", {"fedramp"}}};
  ASSERT_OK_AND_ASSIGN(const auto nodes, MakeNodeSet(spec));
  EXPECT_THAT(MakePoolMask(spec, *nodes, "ssd"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("unknown pool \"ssd\"; known: default, fedramp")));
}

TEST(UnknownNameMessageTest, TenNamesAreShownAndTheRestCounted) {
  std::vector<std::string> known(10, "x");
  EXPECT_EQ(UnknownNameMessage("pool", "p", known),
            "unknown pool \"p\"; known: x, x, x, x, x, x, x, x, x, x");
  known.resize(12, "y");
  EXPECT_EQ(UnknownNameMessage("pool", "p", known),
            "unknown pool \"p\"; known: x, x, x, x, x, x, x, x, x, x and 2 more");
  EXPECT_EQ(UnknownNameMessage("pool", "p", {}), "unknown pool \"p\"; known: none");
}

TEST(UnknownNameMessageTest, TheNameAskedForIsEscapedAndCut) {
  EXPECT_THAT(UnknownNameMessage("pool", "a\n\"", {}), HasSubstr("\"a\\n\\\"\""));
  EXPECT_LT(UnknownNameMessage("pool", std::string(1'000'000, '\1'), {}).size(), 400u);
}

}  // namespace
}  // namespace ringshift
