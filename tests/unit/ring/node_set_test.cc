#include "ring/node_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Identity;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<RingNode> ManyNodes(std::size_t count) {
  std::vector<RingNode> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string address = "10." + std::to_string(i >> 16) + "." +
                                std::to_string((i >> 8) & 255) + "." + std::to_string(i & 255) +
                                ":443";
    nodes.push_back({address, Identity(address), 1});
  }
  return nodes;
}

TEST(NodeSetTest, IndexesFollowTheIdentitiesAndNotTheInput) {
  std::vector<RingNode> nodes = {{"c", Identity("10.0.0.10:443"), 3},
                                 {"a", Identity("10.0.0.9:443"), 1},
                                 {"b", Identity("[::1]:443"), 2}};
  ASSERT_OK_AND_ASSIGN(auto set, NodeSet::Create(std::move(nodes)));
  ASSERT_EQ(set->size(), 3u);
  EXPECT_EQ((*set)[0].name, "a");
  EXPECT_EQ((*set)[1].name, "c");
  EXPECT_EQ((*set)[2].name, "b");
  EXPECT_EQ(set->total_weight(), 6u);
  EXPECT_EQ(set->Find("b"), 2u);
  EXPECT_EQ(set->Find("d"), std::nullopt);
}

TEST(NodeSetTest, NoNodeIsRefused) {
  EXPECT_THAT(NodeSet::Create({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no nodes")));
}

TEST(NodeSetTest, TwoNodesOfOneIdentityAreRefusedWithBothNames) {
  EXPECT_THAT(NodeSet::Create({{"first", Identity("10.0.0.1:443"), 1},
                               {"other", Identity("10.0.0.2:443"), 1},
                               {"second", Identity("10.0.0.1:443"), 5}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("first and second"), HasSubstr("10.0.0.1:443"),
                             HasSubstr("ring_identity"))));
}

TEST(NodeSetTest, AddressesThatDifferOnlyInScopeIdAreOneIdentity) {
  EXPECT_THAT(NodeSet::Create(
                  {{"a", Identity("[fe80::1%1]:443"), 1}, {"b", Identity("[fe80::1%2]:443"), 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a and b")));
}

TEST(NodeSetTest, TwoNodesOfOneNameAreRefused) {
  EXPECT_THAT(
      NodeSet::Create({{"a", Identity("10.0.0.1:443"), 1}, {"a", Identity("10.0.0.2:443"), 1}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two nodes are called a")));
}

TEST(NodeSetTest, WeightsOutsideTheirRangeAreRefusedWithTheNodeAndTheLimit) {
  for (const std::uint32_t weight : {0u, 100'001u, 1u << 28, 0xFFFFFFFFu}) {
    EXPECT_THAT(NodeSet::Create({{"a", Identity("10.0.0.1:443"), 1},
                                 {"heavy", Identity("10.0.0.2:443"), weight}}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("node heavy: weight " + std::to_string(weight)),
                               HasSubstr("[1, 100000]"))));
  }
  EXPECT_THAT(NodeSet::Create({{"a", Identity("10.0.0.1:443"), 100'000}}), IsOk());
}

TEST(NodeSetTest, SixtyFiveThousandFiveHundredAndThirtySixNodesAreTheLimit) {
  EXPECT_THAT(NodeSet::Create(ManyNodes(65536)), IsOk());
  EXPECT_THAT(NodeSet::Create(ManyNodes(65537)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("65537 nodes"), HasSubstr("at most 65536"))));
}

TEST(NodeSetTest, TheTwoKnownStuckChainsAreFound) {
  EXPECT_TRUE(HasStuckChain(Identity("10.104.166.234:1145")));
  EXPECT_TRUE(HasStuckChain(Identity("10.181.156.121:1066")));
  EXPECT_FALSE(HasStuckChain(Identity("10.0.0.1:443")));
}

}  // namespace
}  // namespace ringshift
