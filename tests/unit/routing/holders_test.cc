#include "routing/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "routing/route.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Key;
using ::ringshift::testing::MakeMigration;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::MakeTable;
using ::ringshift::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<NodeIndex> Nodes(const std::vector<Holder>& holders) {
  std::vector<NodeIndex> nodes;
  for (const Holder& holder : holders) nodes.push_back(holder.node);
  return nodes;
}

DataCenterSpec SpecWithPools() {
  DataCenterSpec spec = MakeSpec(20);
  for (const std::size_t i : {1u, 4u, 5u, 9u}) spec.nodes[i].features = {"f"};
  spec.pools = {{"few", {"f"}}, {"nobody", {"g"}}};
  return spec;
}

TEST(HoldersTest, AreTheOwnersOfBothRingsAndTheNextNodesEachOnceByReason) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 500'000));
  const DataCenter& data_center = table->data_center();
  for (std::size_t i = 0; i < 500; ++i) {
    for (const int next_nodes : {0, 1, 3, 16}) {
      const std::string key = Key(i);
      ASSERT_OK_AND_ASSIGN(const auto holders,
                           FindHolders(*table, {.key = key, .pool = "", .next_nodes = next_nodes}));
      std::set<NodeIndex> expected;
      for (const DataCenter::BuiltRing* ring : {data_center.v1(), data_center.v2()}) {
        std::vector<NodeIndex> walk(1 + static_cast<std::size_t>(next_nodes == 0 ? 2 : next_nodes));
        ring->ring->FindNodes(Ring::Position(key), data_center.pools()[0].nodes, walk);
        expected.insert(walk.begin(), walk.end());
      }
      const std::vector<NodeIndex> nodes = Nodes(holders);
      ASSERT_EQ(std::set<NodeIndex>(nodes.begin(), nodes.end()), expected);
      ASSERT_EQ(nodes.size(), expected.size());
      ASSERT_OK_AND_ASSIGN(const RouteAnswer answer, Route(*table, {key, ""}));
      ASSERT_EQ(nodes[0], answer.nodes()[0]);
      ASSERT_TRUE(
          std::is_sorted(holders.begin(), holders.end(),
                         [](const Holder& a, const Holder& b) { return a.reason < b.reason; }));
      const RingVersion other =
          answer.ring_version == RingVersion::kV1 ? RingVersion::kV2 : RingVersion::kV1;
      const NodeIndex other_owner = data_center.ring(other)->ring->Owner(key);
      if (other_owner != nodes[0]) {
        ASSERT_EQ(holders[1].node, other_owner);
        ASSERT_EQ(holders[1].reason, HolderReason::kOtherRing);
      }
    }
  }
}

TEST(HoldersTest, NeverLeaveThePool) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 500'000));
  const NodeMask& pool = table->data_center().pools()[1].nodes;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const auto holders,
                         FindHolders(*table, {.key = key, .pool = "few", .next_nodes = 16}));
    EXPECT_EQ(holders.size(), pool.count());
    for (const Holder& holder : holders) ASSERT_TRUE(pool.Contains(holder.node));
  }
}

TEST(HoldersTest, YoungNodesAreFollowedByTheNextThatIsNot) {
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(SpecWithPools()));
  for (const std::size_t settled_nodes : {1u, 5u}) {
    NodeMask settled(20);
    for (NodeIndex node = 0; node < settled_nodes; ++node) settled.Insert(node * 3);
    RouterState state;
    state.settled = std::make_shared<const NodeMask>(settled);
    ASSERT_OK_AND_ASSIGN(const auto table,
                         RoutingTable::Create(data_center, MakeMigration("ams", 0), state));
    for (std::size_t i = 0; i < 300; ++i) {
      const std::string key = Key(i);
      ASSERT_OK_AND_ASSIGN(const auto holders,
                           FindHolders(*table, {.key = key, .pool = "", .next_nodes = 1}));
      for (const DataCenter::BuiltRing* ring : {data_center->v1(), data_center->v2()}) {
        ASSERT_THAT(Nodes(holders), Contains(ring->ring->OwnerAt(Ring::Position(key), settled)));
      }
    }
  }
}

TEST(HoldersTest, WhereNoNodeIsSettledThePoolIsAllThatMayHoldIt) {
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(SpecWithPools()));
  RouterState state;
  state.settled = std::make_shared<const NodeMask>(20);
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center, MakeMigration("ams", 0), state));
  ASSERT_OK_AND_ASSIGN(const auto holders, FindHolders(*table, {.key = "k", .pool = ""}));
  EXPECT_EQ(holders.size(), 20u);
}

TEST(HoldersTest, ARingThatIsNotThereHasNone) {
  const DataCenterSpec spec = SpecWithPools();
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec, nullptr, RetiredRing::kV1));
  Migration migration = MakeMigration("ams", 1'000'000);
  migration.retired = RetiredRing::kV1;
  ASSERT_OK_AND_ASSIGN(const auto table, RoutingTable::Create(data_center, migration));
  ASSERT_OK_AND_ASSIGN(const auto holders,
                       FindHolders(*table, {.key = "k", .pool = "", .next_nodes = 3}));
  std::vector<NodeIndex> walk(4);
  data_center->v2()->ring->FindNodes(Ring::Position("k"), data_center->pools()[0].nodes, walk);
  EXPECT_EQ(Nodes(holders), walk);
}

TEST(HoldersTest, RefusesWhatRouteRefusesAndNextNodesOutsideZeroToSixteen) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  EXPECT_THAT(FindHolders(*table, {.key = "", .pool = ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the key is empty")));
  EXPECT_THAT(FindHolders(*table, {.key = "k", .pool = "fee"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown pool \"fee\"")));
  EXPECT_THAT(FindHolders(*table, {.key = "k", .pool = "nobody"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nobody")));
  for (const int next_nodes : {-1, 17}) {
    EXPECT_THAT(FindHolders(*table, {.key = "k", .pool = "", .next_nodes = next_nodes}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("next_nodes is " + std::to_string(next_nodes) +
                                   "; it must be 0 to 16")));
  }
}

}  // namespace
}  // namespace ringshift
