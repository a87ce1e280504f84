#include "routing/topology_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ring/ownership.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::MakeNode;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Share Ppm(std::int64_t ppm) { return Share::FromPpm(ppm).value(); }

std::shared_ptr<const DataCenter> Build(const DataCenterSpec& spec,
                                        const DataCenter* previous = nullptr) {
  return DataCenter::Build(spec, previous).value();
}

// As a reload builds them.
DataCenterChange Change(const DataCenterSpec& from, const DataCenterSpec& to) {
  const auto before = Build(from);
  return DescribeChange(*before, *Build(to, before.get()));
}

double PartOf(const DataCenter::BuiltRing& built, const DataCenter& data_center,
              const std::string& node) {
  const NodeIndex index = data_center.node_set().Find(node).value();
  return std::ldexp(static_cast<double>(built.ownership.positions[index]), -32);
}

// Ten nodes, of which four are in `few` and none in `nobody`.
DataCenterSpec SpecWithPools() {
  DataCenterSpec spec = MakeSpec(10);
  for (const std::size_t i : {1u, 4u, 5u, 9u}) spec.nodes[i].features = {"f"};
  spec.pools = {{"few", {"f"}}, {"nobody", {"g"}}};
  return spec;
}

TEST(DescribeChangeTest, TheSameTopologyChangesNothing) {
  const DataCenterSpec spec = SpecWithPools();
  const auto one = Build(spec);
  for (const auto& other : {Build(spec), Build(spec, one.get())}) {
    const DataCenterChange change = DescribeChange(*one, *other);
    EXPECT_EQ(change.nodes.before, 10u);
    EXPECT_EQ(change.nodes.after, 10u);
    EXPECT_EQ(change.nodes.added + change.nodes.removed + change.nodes.reweighted +
                  change.nodes.readdressed,
              0u);
    ASSERT_EQ(change.pools.size(), 3u);
    EXPECT_EQ(change.pools[0].pool, "default");
    EXPECT_EQ(change.pools[1].pool, "few");
    EXPECT_EQ(change.pools[2].pool, "nobody");
    for (const PoolChurn& pool : change.pools) {
      EXPECT_EQ(pool.v1, 0.0);
      EXPECT_EQ(pool.v2, 0.0);
    }
    EXPECT_EQ(ReasonToHold(change, Ppm(500'000), {.max_moved_ratio = 0, .max_removed_ratio = 0}),
              "");
  }
}

TEST(DescribeChangeTest, OneNodeBecomingTwoMovesTheExactPartOfTheSecond) {
  const auto one = Build(MakeSpec(1));
  const auto two = Build(MakeSpec(2), one.get());
  const DataCenterChange change = DescribeChange(*one, *two);
  EXPECT_EQ(change.nodes.added, 1u);
  EXPECT_EQ(change.pools[0].v1, PartOf(*two->v1(), *two, "n2"));
  EXPECT_EQ(change.pools[0].v2, PartOf(*two->v2(), *two, "n2"));
  EXPECT_NEAR(*change.pools[0].v2, 0.5, 0.1);
}

TEST(DescribeChangeTest, ARemovedNodeMovesItsExactPart) {
  const auto before = Build(MakeSpec(10));
  DataCenterSpec spec = MakeSpec(10);
  spec.nodes.erase(spec.nodes.begin() + 3);
  const DataCenterChange change = DescribeChange(*before, *Build(spec));
  EXPECT_EQ(change.nodes.before, 10u);
  EXPECT_EQ(change.nodes.after, 9u);
  EXPECT_EQ(change.nodes.removed, 1u);
  EXPECT_EQ(change.nodes.added, 0u);
  EXPECT_EQ(change.pools[0].v1, PartOf(*before->v1(), *before, "n4"));
  EXPECT_EQ(change.pools[0].v2, PartOf(*before->v2(), *before, "n4"));
}

TEST(DescribeChangeTest, NodesAreCountedByWhatBecameOfThem) {
  const DataCenterSpec from = MakeSpec(8);
  DataCenterSpec to = from;
  to.nodes[0].name = "renamed";
  to.nodes[1].weight = 101;
  to.nodes[2].ring_identity = to.nodes[2].address;
  to.nodes[2].address = "10.9.9.9:443";
  to.nodes[3].address = "10.9.9.8:443";  // another identity: the same node by its name
  to.nodes.erase(to.nodes.begin() + 6, to.nodes.end());
  to.nodes.push_back(MakeNode(20, 100));
  const NodeChanges nodes = Change(from, to).nodes;
  EXPECT_EQ(nodes.before, 8u);
  EXPECT_EQ(nodes.after, 7u);
  EXPECT_EQ(nodes.added, 1u);
  EXPECT_EQ(nodes.removed, 2u);
  EXPECT_EQ(nodes.reweighted, 1u);
  EXPECT_EQ(nodes.readdressed, 1u);
}

TEST(DescribeChangeTest, NamesAddressesUnderKeptIdentitiesAndLayoutsMoveNothing) {
  const DataCenterSpec from = SpecWithPools();
  DataCenterSpec to = from;
  for (NodeSpec& node : to.nodes) {
    node.ring_identity = node.address;
    node.address = "[2001:db8::" + node.name.substr(1) + "]:8443";
    node.name = "cache-" + node.name;
  }
  to.v1->layout = RingLayout::kPacked;
  to.v2.layout = RingLayout::kWide;
  const DataCenterChange change = Change(from, to);
  EXPECT_EQ(change.nodes.readdressed, 10u);
  for (const PoolChurn& pool : change.pools) {
    EXPECT_EQ(pool.v1, 0.0);
    EXPECT_EQ(pool.v2, 0.0);
  }
}

TEST(DescribeChangeTest, AFeatureMovesThePoolAndNothingElse) {
  const auto before = Build(SpecWithPools());
  DataCenterSpec spec = SpecWithPools();
  spec.nodes[4].features.clear();
  const auto after = Build(spec, before.get());
  const DataCenterChange change = DescribeChange(*before, *after);
  ASSERT_EQ(before->v1()->ring, after->v1()->ring);
  const NodeIndex node = before->node_set().Find("n5").value();
  const std::uint64_t part =
      MeasureOwnership(*before->v1()->ring, before->pools()[1].nodes).positions[node];
  EXPECT_EQ(change.pools[0].v1, 0.0);
  EXPECT_EQ(change.pools[0].v2, 0.0);
  EXPECT_EQ(change.pools[1].v1, std::ldexp(static_cast<double>(part), -32));
  EXPECT_GT(change.pools[1].v2, 0.1);
  EXPECT_EQ(change.Worst(Ppm(0)).pool, "few");
}

TEST(DescribeChangeTest, APoolThatIsGoneOrEmptiedHasMovedAsAWhole) {
  DataCenterSpec gone = SpecWithPools();
  gone.pools.erase(gone.pools.begin());
  DataCenterSpec emptied = SpecWithPools();
  for (NodeSpec& node : emptied.nodes) node.features.clear();
  for (const DataCenterSpec& to : {gone, emptied}) {
    const DataCenterChange change = Change(SpecWithPools(), to);
    EXPECT_EQ(change.pools[1].pool, "few");
    EXPECT_EQ(change.pools[1].v1, 1.0);
    EXPECT_EQ(change.pools[1].v2, 1);
    EXPECT_EQ(change.pools[0].v2, 0.0);
    EXPECT_EQ(change.Worst(Ppm(300'000)).pool, "few");
    EXPECT_EQ(ReasonToHold(change, Ppm(300'000), {}),
              "moves 100.0000% of the key space (pool few), above 10%");
  }
}

TEST(DescribeChangeTest, APoolThatHadNoNodesHasNothingToMove) {
  DataCenterSpec filled = SpecWithPools();
  filled.nodes[0].features = {"g"};
  DataCenterSpec gone = SpecWithPools();
  gone.pools.pop_back();
  for (const DataCenterSpec& to : {filled, gone}) {
    const DataCenterChange change = Change(SpecWithPools(), to);
    EXPECT_EQ(change.pools[2].pool, "nobody");
    EXPECT_EQ(change.pools[2].v1, 0.0);
    EXPECT_EQ(change.pools[2].v2, 0.0);
  }
}

TEST(DescribeChangeTest, APoolThatIsNewIsNotListed) {
  DataCenterSpec to = SpecWithPools();
  to.pools.push_back({"more", {"f"}});
  EXPECT_EQ(Change(SpecWithPools(), to).pools.size(), 3u);
}

TEST(DescribeChangeTest, WhereEitherHasNoV1ThereIsNoChurnOfIt) {
  DataCenterSpec without = SpecWithPools();
  without.v1.reset();
  for (const auto& [from, to] :
       {std::pair{without, SpecWithPools()}, std::pair{SpecWithPools(), without},
        std::pair{without, without}}) {
    const DataCenterChange change = Change(from, to);
    for (const PoolChurn& pool : change.pools) {
      EXPECT_EQ(pool.v1, std::nullopt);
      EXPECT_EQ(pool.v2, 0.0);
      EXPECT_EQ(pool.Moved(Ppm(0)), 0);
    }
  }
}

TEST(PoolChurnTest, TheShareWeighsTheRings) {
  const PoolChurn churn = {.pool = "p", .v1 = 0.5, .v2 = 0.25};
  EXPECT_EQ(churn.Moved(Ppm(0)), 0.5);
  EXPECT_EQ(churn.Moved(Ppm(1'000'000)), 0.25);
  EXPECT_EQ(churn.Moved(Ppm(500'000)), 0.375);
  const PoolChurn only_v2 = {.pool = "p", .v1 = std::nullopt, .v2 = 0.25};
  EXPECT_EQ(only_v2.Moved(Ppm(0)), 0.25);
}

TEST(PoolChurnTest, WhereOneRingIsNotThereTheOtherOneIsAllThatMoves) {
  for (const std::int64_t ppm : {0, 300'000, 1'000'000}) {
    EXPECT_EQ((PoolChurn{.pool = "p", .v1 = 0.5, .v2 = std::nullopt}).Moved(Ppm(ppm)), 0.5);
    EXPECT_EQ((PoolChurn{.pool = "p", .v1 = std::nullopt, .v2 = std::nullopt}).Moved(Ppm(ppm)), 1);
  }
}

TEST(DescribeChangeTest, ARetiredRingIsNotCompared) {
  const DataCenterSpec larger = MakeSpec(11);
  for (const RetiredRing retired : {RetiredRing::kV1, RetiredRing::kV2}) {
    ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(MakeSpec(10), nullptr, retired));
    ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(larger, before.get(), retired));
    const DataCenterChange change = DescribeChange(*before, *after);
    EXPECT_EQ(change.pools[0].v1.has_value(), retired == RetiredRing::kV2);
    EXPECT_EQ(change.pools[0].v2.has_value(), retired == RetiredRing::kV1);
    EXPECT_NEAR(change.pools[0].Moved(Ppm(0)), 1 / 11., 0.05);
  }
}

TEST(PoolChurnTest, WhereBothRingsMoveTheSameTheShareChangesNothing) {
  const PoolChurn churn = {.pool = "p", .v1 = 0.1, .v2 = 0.1};
  for (std::int64_t ppm = 0; ppm <= 1'000'000; ppm += 997) EXPECT_EQ(churn.Moved(Ppm(ppm)), 0.1);
}

TEST(DataCenterChangeTest, TheWorstPoolDependsOnTheShareAndIsTheFirstOfEquals) {
  DataCenterChange change;
  change.pools = {{.pool = "default", .v1 = 0.1, .v2 = 0.1},
                  {.pool = "a", .v1 = 0.3, .v2 = 0.0},
                  {.pool = "b", .v1 = 0.0, .v2 = 0.3},
                  {.pool = "c", .v1 = 0.3, .v2 = 0.0}};
  EXPECT_EQ(change.Worst(Ppm(0)).pool, "a");
  EXPECT_EQ(change.Worst(Ppm(1'000'000)).pool, "b");
  change.pools[1].v1 = change.pools[3].v1 = 0.1;
  EXPECT_EQ(change.Worst(Ppm(0)).pool, "default");
}

DataCenterChange MovesAndDrops(double moved, std::size_t removed, std::size_t before) {
  DataCenterChange change;
  change.nodes.before = before;
  change.nodes.removed = removed;
  change.pools = {{.pool = "default", .v1 = moved, .v2 = moved}};
  return change;
}

TEST(ReasonToHoldTest, ExactlyAtTheLimitsIsAllowed) {
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0.1, 0, 10), Ppm(123'456), {}), "");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0, 1, 10), Ppm(0), {}), "");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0, 4, 40), Ppm(0), {}), "");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0.1, 1, 10), Ppm(0), {}), "");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(1, 10, 10), Ppm(0), {1, 1}), "");
}

TEST(ReasonToHoldTest, AboveALimitIsHeldWithTheFigures) {
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0.234512, 0, 10), Ppm(0), {}),
            "moves 23.4512% of the key space (pool default), above 10%");
  EXPECT_NE(ReasonToHold(MovesAndDrops(std::nextafter(0.1, 1), 0, 10), Ppm(0), {}), "");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0, 3, 20), Ppm(0), {}),
            "drops 3 of 20 nodes (15%), above 10%");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0, 5, 49), Ppm(0), {}),
            "drops 5 of 49 nodes (10.2041%), above 10%");
  EXPECT_EQ(ReasonToHold(MovesAndDrops(0.2, 1, 2), Ppm(0), {0.125, 0.25}),
            "moves 20.0000% of the key space (pool default), above 12.5%; "
            "drops 1 of 2 nodes (50%), above 25%");
}

TEST(ReasonToHoldTest, TheShareDecidesWhetherAChangeOfOneRingCounts) {
  DataCenterSpec to = MakeSpec(10);
  to.v2.points_per_weight = 8;
  const DataCenterChange change = Change(MakeSpec(10), to);
  EXPECT_EQ(change.pools[0].v1, 0.0);
  EXPECT_GT(*change.pools[0].v2, 0.2);
  EXPECT_EQ(ReasonToHold(change, Ppm(0), {}), "");
  EXPECT_THAT(ReasonToHold(change, Ppm(1'000'000), {}), HasSubstr("above 10%"));
  // At the share where it is exactly the limit, and one millionth above.
  const double moved = change.pools[0].Moved(Ppm(200'000));
  EXPECT_EQ(ReasonToHold(change, Ppm(200'000), {.max_moved_ratio = moved}), "");
  EXPECT_NE(ReasonToHold(change, Ppm(200'001), {.max_moved_ratio = moved}), "");
}

TEST(CheckAnsweringRingsTest, ARingThatAnswersKeepsItsPoints) {
  const DataCenterSpec from = MakeSpec(3);
  DataCenterSpec v1 = from, v2 = from;
  v1.v1->points_per_weight = 100;
  v2.v2.points_per_weight = 20;
  for (const std::int64_t ppm : {0, 1, 300'000, 999'999}) {
    EXPECT_THAT(CheckAnsweringRings(from, v1, Ppm(ppm)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("data center ams"), HasSubstr("ring v1 answers"),
                               HasSubstr("from 160 to 100"), HasSubstr("100% first"),
                               HasSubstr("keep 160"))));
  }
  EXPECT_THAT(CheckAnsweringRings(from, v1, Ppm(300'000)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("70% of the requests")));
  for (const std::int64_t ppm : {1, 300'000, 1'000'000}) {
    EXPECT_THAT(
        CheckAnsweringRings(from, v2, Ppm(ppm)),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr("data center ams"), HasSubstr("ring v2 answers"),
                       HasSubstr("from 16 to 20"), HasSubstr("0% first"), HasSubstr("keep 16"))));
  }
}

TEST(CheckAnsweringRingsTest, ARingThatAnswersNothingMayChange) {
  const DataCenterSpec from = MakeSpec(3);
  DataCenterSpec to = from;
  to.v1->points_per_weight = 100;
  EXPECT_THAT(CheckAnsweringRings(from, to, Share::All()), IsOk());
  to = from;
  to.v1.reset();
  EXPECT_THAT(CheckAnsweringRings(from, to, Share::All()), IsOk());
  EXPECT_THAT(CheckAnsweringRings(to, from, Share::All()), IsOk());
  to = from;
  to.v2.points_per_weight = 20;
  EXPECT_THAT(CheckAnsweringRings(from, to, Share::None()), IsOk());
}

TEST(CheckAnsweringRingsTest, LayoutsNodesAndPoolsAreNoneOfItsBusiness) {
  DataCenterSpec to = MakeSpec(5, 7);
  to.v1->layout = RingLayout::kPacked;
  to.v2.layout = RingLayout::kWide;
  to.pools = {{"p", {"f"}}};
  to.tier = "t";
  for (const std::int64_t ppm : {0, 500'000, 1'000'000}) {
    EXPECT_THAT(CheckAnsweringRings(MakeSpec(3), to, Ppm(ppm)), IsOk());
  }
}

TEST(CheckAnsweringRingsTest, AV1ThatAnswersDoesNotGo) {
  DataCenterSpec to = MakeSpec(3);
  to.v1.reset();
  for (const std::int64_t ppm : {0, 250'000, 999'999}) {
    EXPECT_THAT(CheckAnsweringRings(MakeSpec(3), to, Ppm(ppm)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("ring v1 answers"), HasSubstr("would be gone"),
                               HasSubstr("raise the share to 100% first"))));
  }
}

// Without v1 the share is not in force: with one, it would be at once.
TEST(CheckAnsweringRingsTest, AV1DoesNotAppearAndAnswer) {
  DataCenterSpec from = MakeSpec(3);
  from.v1.reset();
  EXPECT_THAT(CheckAnsweringRings(from, MakeSpec(3), Ppm(250'000)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("a ring v1 would appear"), HasSubstr("75%"),
                             HasSubstr("100% first"))));
}

TEST(CheckAnsweringRingsTest, AV2WithoutV1AnswersWhateverTheShareIs) {
  DataCenterSpec from = MakeSpec(3);
  from.v1.reset();
  DataCenterSpec to = from;
  to.v2.points_per_weight = 20;
  for (const std::int64_t ppm : {0, 500'000, 1'000'000}) {
    EXPECT_THAT(CheckAnsweringRings(from, to, Ppm(ppm)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("ring v2 answers 100%"), HasSubstr("from 16 to 20"))));
  }
}

}  // namespace
}  // namespace ringshift
