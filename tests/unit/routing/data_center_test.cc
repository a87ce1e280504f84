#include "routing/data_center.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::Key;
using ::ringshift::testing::MakeNode;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::MakeSpecWithSparsePool;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kKeys = 50'000;

std::vector<const DataCenter::BuiltRing*> Rings(const DataCenter& data_center) {
  return {data_center.v1(), data_center.v2()};
}

const std::string& Owner(const DataCenter& data_center, const Ring& ring, std::string_view key) {
  return data_center.node(ring.Owner(key)).name;
}

// How many of kKeys keys have another owner after a change, on one ring.
struct Moves {
  std::size_t to = 0;          // the node in question
  std::size_t from = 0;        // the node in question
  std::size_t collateral = 0;  // between other nodes
};
Moves CountMoves(const DataCenter& before, const DataCenter& after, std::size_t ring,
                 std::string_view node) {
  Moves moves;
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string& from = Owner(before, *Rings(before)[ring]->ring, Key(i));
    const std::string& to = Owner(after, *Rings(after)[ring]->ring, Key(i));
    if (from == to) continue;
    if (to == node) {
      ++moves.to;
    } else if (from == node) {
      ++moves.from;
    } else {
      ++moves.collateral;
    }
  }
  return moves;
}

TEST(DataCenterTest, BuildKeepsNamesAddressesPoolsAndBothRings) {
  DataCenterSpec spec = MakeSpec(3, 2);
  spec.tier = "canary";
  spec.nodes[2].features = {"ssd"};
  spec.nodes[0].address = "[2001:DB8::1]:443";
  spec.pools = {{"ssd", {"ssd"}}};
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  EXPECT_EQ(data_center->name(), "ams");
  EXPECT_EQ(data_center->tier(), "canary");
  ASSERT_EQ(data_center->node_set().size(), 3u);
  // IPv4 comes before IPv6, whatever the order in the topology; the address is as written.
  EXPECT_EQ(data_center->node(0).name, "n2");
  EXPECT_EQ(data_center->node(2).name, "n1");
  EXPECT_EQ(data_center->node(2).address, "[2001:DB8::1]:443");
  ASSERT_EQ(data_center->pools().size(), 2u);
  EXPECT_EQ(data_center->pools()[0].name, "default");
  EXPECT_EQ(data_center->pools()[0].nodes.count(), 3u);
  EXPECT_EQ(data_center->pools()[1].name, "ssd");
  EXPECT_TRUE(data_center->pools()[1].nodes.Contains(1));
  EXPECT_EQ(data_center->FindPool(""), 0u);
  EXPECT_EQ(data_center->FindPool("default"), 0u);
  EXPECT_EQ(data_center->FindPool("ssd"), 1u);
  EXPECT_EQ(data_center->FindPool("ss"), std::nullopt);
  ASSERT_NE(data_center->v1(), nullptr);
  EXPECT_EQ(data_center->v1()->ring->point_count(), 3u * 2 * 160);
  EXPECT_EQ(data_center->v2()->ring->point_count(), 3u * 2 * 16);
  EXPECT_EQ(data_center->v2()->ownership.positions.size(), 3u);
  EXPECT_GT(data_center->v2()->ownership.max_ratio, 1);
  EXPECT_GE(data_center->v2()->build_time.count(), 0);
}

TEST(DataCenterTest, AParameterOfTheTopologyIsNeverReplacedByADefault) {
  DataCenterSpec spec = MakeSpec(3, 1);
  spec.v1->points_per_weight = 7;
  spec.v1->layout = RingLayout::kPacked;
  spec.v2.points_per_weight = 9;
  spec.v2.layout = RingLayout::kWide;
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  EXPECT_EQ(data_center->v1()->ring->parameters(), *spec.v1);
  EXPECT_EQ(data_center->v2()->ring->parameters(), spec.v2);
}

TEST(DataCenterTest, WithoutV1ThereIsOnlyV2) {
  DataCenterSpec spec = MakeSpec(3);
  spec.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  EXPECT_EQ(data_center->v1(), nullptr);
  EXPECT_EQ(data_center->v2()->ring->point_count(), 3u * 100 * 16);
}

TEST(DataCenterTest, ARefusalNamesTheDataCenter) {
  DataCenterSpec spec = MakeSpec(2);
  spec.nodes[1].ring_identity = spec.nodes[0].address;
  EXPECT_THAT(DataCenter::Build(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data center ams"), HasSubstr("n1"), HasSubstr("n2"))));
  spec = MakeSpec(2);
  spec.v2.points_per_weight = 0;
  EXPECT_THAT(DataCenter::Build(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data center ams"), HasSubstr("ring v2"))));
}

TEST(DataCenterPoolsTest, ASparsePoolHasRingsOfItsOwnThatCountAsMemory) {
  ASSERT_OK_AND_ASSIGN(const auto built, DataCenter::Build(MakeSpecWithSparsePool()));
  for (const DataCenter::BuiltRing* ring : Rings(*built)) {
    ASSERT_EQ(ring->pools.size(), 3u);
    EXPECT_EQ(&ring->RingOf(0), ring->ring.get());
    EXPECT_EQ(&ring->RingOf(1), ring->ring.get());
    EXPECT_NEAR(ring->pools[1].walk.mean, 10, 0.5);
    EXPECT_GT(ring->pools[2].walk.mean, kLongMeanWalk);
    ASSERT_NE(ring->pools[2].own, nullptr);
    EXPECT_EQ(&ring->RingOf(2), ring->pools[2].own.get());
    EXPECT_EQ(ring->memory_bytes(),
              ring->ring->memory_bytes() + ring->pools[2].own->memory_bytes());
  }
  ASSERT_OK_AND_ASSIGN(const BuildMemory memory,
                       DataCenter::MeasureBuild(MakeSpecWithSparsePool()));
  EXPECT_EQ(memory.ring_bytes, built->v1()->memory_bytes() + built->v2()->memory_bytes());
}

TEST(DataCenterPoolsTest, OnlyAnotherPoolGetsAnotherRing) {
  DataCenterSpec spec = MakeSpecWithSparsePool();
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  spec.nodes[0].name = "renamed";
  ASSERT_OK_AND_ASSIGN(const auto renamed, DataCenter::Build(spec, before.get()));
  EXPECT_EQ(renamed->v1()->pools[2].own, before->v1()->pools[2].own);
  EXPECT_EQ(DataCenter::MeasureBuild(spec, before.get()).value().ring_bytes, 0u);

  spec.nodes[5].features = {"s"};
  const BuildMemory memory = DataCenter::MeasureBuild(spec, before.get()).value();
  ASSERT_OK_AND_ASSIGN(const auto changed, DataCenter::Build(spec, before.get()));
  EXPECT_EQ(changed->v1()->ring, before->v1()->ring);
  ASSERT_NE(changed->v1()->pools[2].own, nullptr);
  EXPECT_NE(changed->v1()->pools[2].own, before->v1()->pools[2].own);
  EXPECT_EQ(changed->v1()->pools[2].own->point_count(), 90u);
  EXPECT_EQ(memory.ring_bytes, changed->v1()->pools[2].own->memory_bytes() +
                                   changed->v2()->pools[2].own->memory_bytes());
}

TEST(DataCenterReuseTest, AnEqualTopologyBuildsNothing) {
  DataCenterSpec spec = MakeSpec(5);
  spec.v2 = {RingVersion::kV2, 1'000, RingLayout::kWide};
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(spec, before.get()));
  EXPECT_EQ(after->v1()->ring, before->v1()->ring);
  EXPECT_EQ(after->v2()->ring, before->v2()->ring);
  EXPECT_EQ(after->v1()->build_time, before->v1()->build_time);
  EXPECT_EQ(after->v2()->ownership.positions, before->v2()->ownership.positions);
  EXPECT_EQ(after->v2()->ring->parameters(), spec.v2);
  EXPECT_EQ(after->checksum(), before->checksum());
  EXPECT_TRUE(after->spec() == spec);
}

TEST(DataCenterReuseTest, NamesAddressesPoolsAndOrderKeepTheRings) {
  const DataCenterSpec spec = MakeSpec(5);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  DataCenterSpec changed = spec;
  for (NodeSpec& node : changed.nodes) {
    node.ring_identity = node.address;
    node.address = "[2001:db8::" + node.name.substr(1) + "]:8443";
    node.name = "cache-" + node.name;
    node.zone = "z";
  }
  changed.nodes[1].features = {"f"};
  changed.pools = {{"p", {"f"}}};
  changed.tier = "large";
  std::reverse(changed.nodes.begin(), changed.nodes.end());
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(changed, before.get()));
  EXPECT_EQ(after->v1()->ring, before->v1()->ring);
  EXPECT_EQ(after->v2()->ring, before->v2()->ring);
  EXPECT_EQ(after->tier(), "large");
  EXPECT_EQ(after->node(0).name, "cache-n1");
  EXPECT_EQ(after->node(0).address, "[2001:db8::1]:8443");
  EXPECT_EQ(after->node_set()[0].name, "cache-n1");
  EXPECT_TRUE(after->pools()[1].nodes.Contains(1));
  // It is what a router that starts with the same topology has.
  ASSERT_OK_AND_ASSIGN(const auto fresh, DataCenter::Build(changed));
  EXPECT_EQ(after->checksum(), fresh->checksum());
}

TEST(DataCenterReuseTest, AnotherNodeOrWeightBuildsBothRings) {
  const DataCenterSpec spec = MakeSpec(5);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  std::vector<DataCenterSpec> specs(4, spec);
  specs[0].nodes[2].weight = 101;
  specs[1].nodes.pop_back();
  specs[2].nodes.push_back(MakeNode(6, 100));
  specs[3].nodes[2].address = "10.9.9.9:443";
  for (const DataCenterSpec& changed : specs) {
    ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(changed, before.get()));
    ASSERT_OK_AND_ASSIGN(const auto fresh, DataCenter::Build(changed));
    EXPECT_NE(after->v1()->ring, before->v1()->ring);
    EXPECT_NE(after->v2()->ring, before->v2()->ring);
    EXPECT_EQ(after->v1()->ring->checksum(), fresh->v1()->ring->checksum());
    EXPECT_EQ(after->v2()->ring->checksum(), fresh->v2()->ring->checksum());
  }
}

TEST(DataCenterReuseTest, OtherParametersBuildTheirRingOnly) {
  const DataCenterSpec spec = MakeSpec(5);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  DataCenterSpec points = spec, layout = spec, v1_points = spec;
  points.v2.points_per_weight = 17;
  layout.v2.layout = RingLayout::kWide;
  v1_points.v1->points_per_weight = 100;
  for (const DataCenterSpec& changed : {points, layout}) {
    ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(changed, before.get()));
    EXPECT_EQ(after->v1()->ring, before->v1()->ring);
    EXPECT_NE(after->v2()->ring, before->v2()->ring);
    EXPECT_EQ(after->v2()->ring->parameters(), changed.v2);
  }
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(v1_points, before.get()));
  EXPECT_NE(after->v1()->ring, before->v1()->ring);
  EXPECT_EQ(after->v1()->ring->parameters(), *v1_points.v1);
  EXPECT_EQ(after->v2()->ring, before->v2()->ring);
}

TEST(DataCenterReuseTest, AV1ThatComesIsBuiltAndOneThatGoesIsLetGo) {
  const DataCenterSpec with = MakeSpec(5);
  DataCenterSpec without = with;
  without.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(with));
  ASSERT_OK_AND_ASSIGN(const auto gone, DataCenter::Build(without, before.get()));
  EXPECT_EQ(gone->v1(), nullptr);
  EXPECT_EQ(gone->v2()->ring, before->v2()->ring);
  ASSERT_OK_AND_ASSIGN(const auto back, DataCenter::Build(with, gone.get()));
  ASSERT_NE(back->v1(), nullptr);
  EXPECT_EQ(back->v1()->ring->checksum(), before->v1()->ring->checksum());
  EXPECT_EQ(back->v2()->ring, before->v2()->ring);
}

TEST(DataCenterRetiredTest, ARetiredRingIsNeitherBuiltNorMeasuredNorTaken) {
  const DataCenterSpec spec = MakeSpec(5);
  ASSERT_OK_AND_ASSIGN(const auto both, DataCenter::Build(spec));
  const BuildMemory of_both = DataCenter::MeasureBuild(spec).value();
  for (const RetiredRing retired : {RetiredRing::kV1, RetiredRing::kV2}) {
    const std::size_t kept = retired == RetiredRing::kV1 ? 1 : 0;
    ASSERT_OK_AND_ASSIGN(const auto built, DataCenter::Build(spec, nullptr, retired));
    ASSERT_OK_AND_ASSIGN(const auto taken, DataCenter::Build(spec, both.get(), retired));
    for (const auto& data_center : {built, taken, both->Without(retired)}) {
      EXPECT_EQ(Rings(*data_center)[1 - kept], nullptr);
      ASSERT_NE(Rings(*data_center)[kept], nullptr);
      EXPECT_EQ(Rings(*data_center)[kept]->ring->checksum(), Rings(*both)[kept]->ring->checksum());
      EXPECT_EQ(data_center->checksum(), both->checksum(retired));
      EXPECT_EQ(data_center->checksum(retired), both->checksum(retired));
    }
    EXPECT_EQ(Rings(*taken)[kept]->ring, Rings(*both)[kept]->ring);
    const BuildMemory memory = DataCenter::MeasureBuild(spec, nullptr, retired).value();
    EXPECT_EQ(memory.ring_bytes, Rings(*built)[kept]->memory_bytes());
    EXPECT_LT(memory.ring_bytes, of_both.ring_bytes);
    EXPECT_EQ(DataCenter::MeasureBuild(spec, both.get(), retired).value().ring_bytes, 0u);
  }
}

TEST(DataCenterRetiredTest, ARingThatIsCalledBackIsBuiltAndTheOtherOneKept) {
  const DataCenterSpec spec = MakeSpec(5);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  ASSERT_OK_AND_ASSIGN(const auto retired, DataCenter::Build(spec, nullptr, RetiredRing::kV1));
  EXPECT_NE(retired->checksum(), before->checksum());
  EXPECT_EQ(DataCenter::MeasureBuild(spec, retired.get()).value().ring_bytes,
            before->v1()->memory_bytes());
  ASSERT_OK_AND_ASSIGN(const auto back, DataCenter::Build(spec, retired.get()));
  ASSERT_NE(back->v1(), nullptr);
  EXPECT_EQ(back->v2()->ring, retired->v2()->ring);
  EXPECT_EQ(back->checksum(), before->checksum());
}

TEST(DataCenterRetiredTest, TheOnlyRingOfADataCenterIsNotRetired) {
  DataCenterSpec spec = MakeSpec(5);
  spec.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  for (const RetiredRing retired : {RetiredRing::kV1, RetiredRing::kV2}) {
    ASSERT_OK_AND_ASSIGN(const auto built, DataCenter::Build(spec, nullptr, retired));
    ASSERT_NE(built->v2(), nullptr);
    EXPECT_EQ(built->checksum(retired), data_center->checksum());
  }
}

TEST(DataCenterRetiredTest, EveryRetirementHasAnotherChecksum) {
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(MakeSpec(5)));
  EXPECT_NE(data_center->checksum(), data_center->checksum(RetiredRing::kV1));
  EXPECT_NE(data_center->checksum(), data_center->checksum(RetiredRing::kV2));
  EXPECT_NE(data_center->checksum(RetiredRing::kV1), data_center->checksum(RetiredRing::kV2));
}

// `h:443` as nginx has it and as pingora has it are one identity; with brackets they are not.
TEST(DataCenterReuseTest, AnotherIdentityStyleKeepsTheRingsOnlyWhereIdentitiesAgree) {
  DataCenterSpec spec = MakeSpec(2);
  ASSERT_OK_AND_ASSIGN(const auto plain, DataCenter::Build(spec));
  spec.identity_style = IdentityStyle::kNginx;
  ASSERT_OK_AND_ASSIGN(const auto plain_nginx, DataCenter::Build(spec, plain.get()));
  EXPECT_EQ(plain_nginx->v1()->ring, plain->v1()->ring);
  spec = MakeSpec(2);
  spec.nodes[0].address = "[2001:db8::1]:443";
  ASSERT_OK_AND_ASSIGN(const auto bracketed, DataCenter::Build(spec));
  spec.identity_style = IdentityStyle::kNginx;
  ASSERT_OK_AND_ASSIGN(const auto bracketed_nginx, DataCenter::Build(spec, bracketed.get()));
  EXPECT_NE(bracketed_nginx->v1()->ring, bracketed->v1()->ring);
}

// Sizes of v1 and v2 of MakeSpec(5).
std::pair<RingSize, RingSize> Sizes(const DataCenterSpec& spec) {
  const auto nodes = MakeNodeSet(spec).value();
  return {Ring::Measure(*nodes, *spec.v1).value(), Ring::Measure(*nodes, spec.v2).value()};
}

TEST(DataCenterMeasureTest, ABuildTakesItsRingsAndTheScratchMemoryOfOneAtATime) {
  const DataCenterSpec spec = MakeSpec(5, 10'000);
  const auto [v1, v2] = Sizes(spec);
  ASSERT_GT(v1.scratch_bytes, 0u);
  ASSERT_OK_AND_ASSIGN(const BuildMemory memory, DataCenter::MeasureBuild(spec));
  EXPECT_EQ(memory.ring_bytes, v1.bytes + v2.bytes);
  EXPECT_EQ(memory.peak_bytes,
            std::max(v1.bytes + v1.scratch_bytes, v1.bytes + v2.bytes + v2.scratch_bytes));
  ASSERT_OK_AND_ASSIGN(const auto built, DataCenter::Build(spec));
  EXPECT_EQ(built->v1()->ring->memory_bytes() + built->v2()->ring->memory_bytes(),
            memory.ring_bytes);

  // v1 alone needs more for a while than both rings in the end.
  DataCenterSpec small_v2 = spec;
  small_v2.v2.points_per_weight = 1;
  const auto [large, small] = Sizes(small_v2);
  ASSERT_LT(small.bytes + small.scratch_bytes, large.scratch_bytes);
  ASSERT_OK_AND_ASSIGN(const BuildMemory of_v1, DataCenter::MeasureBuild(small_v2));
  EXPECT_EQ(of_v1.peak_bytes, large.bytes + large.scratch_bytes);
}

TEST(DataCenterMeasureTest, WhatIsTakenFromThePreviousOneIsNotCounted) {
  const DataCenterSpec spec = MakeSpec(5);
  const auto [v1, v2] = Sizes(spec);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  const auto measure = [&before](const DataCenterSpec& changed) {
    return DataCenter::MeasureBuild(changed, before.get()).value();
  };
  DataCenterSpec renamed = spec, points = spec, without_v1 = spec, weight = spec;
  renamed.nodes[0].name = "other";
  points.v1->layout = RingLayout::kPacked;
  without_v1.v1.reset();
  weight.nodes[2].weight = 101;
  for (const DataCenterSpec& kept : {spec, renamed, without_v1}) {
    EXPECT_EQ(measure(kept).ring_bytes, 0u);
    EXPECT_EQ(measure(kept).peak_bytes, 0u);
  }
  EXPECT_EQ(measure(points).ring_bytes, Sizes(points).first.bytes);
  EXPECT_EQ(measure(weight).ring_bytes, Sizes(weight).first.bytes + Sizes(weight).second.bytes);
  ASSERT_OK_AND_ASSIGN(const auto v2_only, DataCenter::Build(without_v1));
  EXPECT_EQ(DataCenter::MeasureBuild(spec, v2_only.get()).value().ring_bytes, v1.bytes);
}

TEST(DataCenterMeasureTest, WhatBuildRefusesBeforeItBuildsIsRefusedAlike) {
  DataCenterSpec twice = MakeSpec(2);
  twice.nodes[1].ring_identity = twice.nodes[0].address;
  DataCenterSpec points = MakeSpec(2);
  points.v2.points_per_weight = 0;
  for (const DataCenterSpec& spec : {twice, points}) {
    EXPECT_EQ(DataCenter::MeasureBuild(spec).status(), DataCenter::Build(spec).status());
    EXPECT_THAT(DataCenter::MeasureBuild(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data center ams")));
  }
}

TEST(DataCenterChecksumTest, TheSameTopologyTwiceHasOneChecksum) {
  ASSERT_OK_AND_ASSIGN(const auto one, DataCenter::Build(MakeSpec(10)));
  ASSERT_OK_AND_ASSIGN(const auto two, DataCenter::Build(MakeSpec(10)));
  EXPECT_EQ(one->checksum(), two->checksum());
}

TEST(DataCenterChecksumTest, OrderInTheTopologyChangesNothing) {
  DataCenterSpec spec = MakeSpec(20);
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    spec.nodes[i].features = {i % 2 == 0 ? "even" : "odd", "x"};
    spec.nodes[i].weight = static_cast<std::uint32_t>(1 + i);
  }
  spec.pools = {{"even", {"even", "x"}}, {"odd", {"odd"}}, {"x", {"x"}}};
  ASSERT_OK_AND_ASSIGN(const auto first, DataCenter::Build(spec));
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(spec.nodes.begin(), spec.nodes.end(), random);
    std::shuffle(spec.pools.begin(), spec.pools.end(), random);
    ASSERT_OK_AND_ASSIGN(const auto shuffled, DataCenter::Build(spec));
    EXPECT_EQ(shuffled->checksum(), first->checksum());
    EXPECT_EQ(shuffled->v1()->ring->checksum(), first->v1()->ring->checksum());
    EXPECT_EQ(shuffled->v2()->ring->checksum(), first->v2()->ring->checksum());
  }
}

TEST(DataCenterChecksumTest, ALayoutChangesNothing) {
  DataCenterSpec spec = MakeSpec(5);
  ASSERT_OK_AND_ASSIGN(const auto wide, DataCenter::Build(spec));
  spec.v1->layout = RingLayout::kPacked;
  ASSERT_OK_AND_ASSIGN(const auto packed, DataCenter::Build(spec));
  EXPECT_EQ(wide->checksum(), packed->checksum());
}

TEST(DataCenterChecksumTest, WhatChangesAnAnswerChangesIt) {
  DataCenterSpec base = MakeSpec(5);
  base.nodes[1].features = {"f"};
  base.pools = {{"p", {"f"}}};
  std::vector<DataCenterSpec> specs(12, base);
  specs[1].nodes[0].name = "renamed";
  specs[2].nodes[0].ring_identity = specs[2].nodes[0].address;  // the same ring
  specs[2].nodes[0].address = "10.9.9.9:443";
  specs[3].nodes[0].weight = 101;
  specs[4].nodes.pop_back();
  specs[5].v1.reset();
  specs[6].v2.points_per_weight = 17;
  specs[7].pools[0].name = "q";
  specs[8].nodes[2].features = {"f"};
  specs[9].pools.clear();
  specs[10].nodes[1].features.clear();  // another pool of one node
  specs[10].nodes[2].features = {"f"};
  specs[11].nodes[0].name = "n";  // where "n1" and "10.0.0.1:443" met
  specs[11].nodes[0].address = "110.0.0.1:443";
  specs[11].nodes[0].ring_identity = "10.0.0.1:443";
  std::set<std::uint64_t> checksums;
  for (const DataCenterSpec& spec : specs) {
    ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
    EXPECT_TRUE(checksums.insert(data_center->checksum()).second);
  }
}

TEST(DataCenterMovementTest, RemovingANodeMovesNoKeyBetweenTheOthers) {
  for (const std::size_t count : {3u, 4u, 10u}) {
    DataCenterSpec spec = MakeSpec(count);
    ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
    const std::string removed = spec.nodes[count / 2].name;
    spec.nodes.erase(spec.nodes.begin() + static_cast<std::ptrdiff_t>(count / 2));
    ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(spec));
    for (std::size_t ring = 0; ring < 2; ++ring) {
      const Moves moves = CountMoves(*before, *after, ring, removed);
      EXPECT_EQ(moves.collateral, 0u) << count << " nodes, ring v" << ring + 1;
      EXPECT_EQ(moves.to, 0u);
      EXPECT_GT(moves.from, kKeys / count / 2);
    }
  }
}

TEST(DataCenterMovementTest, RemovingAHeavyNodeMovesNoKeyBetweenTheOthers) {
  DataCenterSpec spec = MakeSpec(3, 1);
  spec.nodes[2].weight = 2;
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  spec.nodes.pop_back();
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(spec));
  for (std::size_t ring = 0; ring < 2; ++ring) {
    EXPECT_EQ(CountMoves(*before, *after, ring, "n3").collateral, 0u);
  }
}

TEST(DataCenterMovementTest, ANodeInsertedFirstTakesItsOwnShareOnly) {
  DataCenterSpec spec = MakeSpec(10);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  spec.nodes.insert(spec.nodes.begin(), MakeNode(11, 100));
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(spec));
  for (std::size_t ring = 0; ring < 2; ++ring) {
    const Moves moves = CountMoves(*before, *after, ring, "n11");
    EXPECT_EQ(moves.collateral, 0u);
    EXPECT_EQ(moves.from, 0u);
    EXPECT_GE(moves.to, kKeys * 7 / 100) << "ring v" << ring + 1;
    EXPECT_LE(moves.to, kKeys * 11 / 100) << "ring v" << ring + 1;
  }
}

TEST(DataCenterMovementTest, ANewAddressUnderAKeptRingIdentityMovesNoKey) {
  DataCenterSpec spec = MakeSpec(10);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  for (NodeSpec& node : spec.nodes) {
    node.ring_identity = node.address;
    node.address = "[2001:db8::" + node.name.substr(1) + "]:8443";
  }
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(spec));
  for (std::size_t ring = 0; ring < 2; ++ring) {
    const Moves moves = CountMoves(*before, *after, ring, "");
    EXPECT_EQ(moves.collateral, 0u);
    EXPECT_EQ(Rings(*before)[ring]->ring->checksum(), Rings(*after)[ring]->ring->checksum());
  }
  EXPECT_NE(before->checksum(), after->checksum());
}

std::multiset<std::uint32_t> PointsOf(const DataCenter& data_center, std::string_view name) {
  const Ring& ring = *data_center.v1()->ring;
  std::multiset<std::uint32_t> hashes;
  for (std::size_t i = 0; i < ring.point_count(); ++i) {
    if (data_center.node(ring.point(i).node).name == name) hashes.insert(ring.point(i).hash);
  }
  return hashes;
}

TEST(DataCenterMovementTest, ADoubledWeightKeepsEveryOldPoint) {
  DataCenterSpec spec = MakeSpec(3, 1);
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(spec));
  spec.nodes[1].weight = 2;
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(spec));
  const auto old_points = PointsOf(*before, "n2");
  const auto new_points = PointsOf(*after, "n2");
  EXPECT_EQ(old_points.size(), 160u);
  EXPECT_EQ(new_points.size(), 320u);
  EXPECT_TRUE(
      std::includes(new_points.begin(), new_points.end(), old_points.begin(), old_points.end()));
  EXPECT_EQ(PointsOf(*before, "n1"), PointsOf(*after, "n1"));
}

// With p of P points, a node's share is Beta(p, P - p).
TEST(DataCenterShareTest, EveryWeightGetsItsShareWithinFiveSigma) {
  DataCenterSpec spec = MakeSpec(200);
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    spec.nodes[i].weight = static_cast<std::uint32_t>(i + 1);
  }
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  for (const DataCenter::BuiltRing* built : Rings(*data_center)) {
    const auto all = static_cast<double>(built->ring->point_count());
    for (NodeIndex node = 0; node < 200; ++node) {
      const double points = data_center->node_set()[node].weight *
                            static_cast<double>(built->ring->parameters().points_per_weight);
      const double mean = points / all;
      const double sigma = std::sqrt(mean * (1 - mean) / (all + 1));
      const double share = std::ldexp(static_cast<double>(built->ownership.positions[node]), -32);
      EXPECT_GT(share, 0);
      EXPECT_NEAR(share, mean, 5 * sigma) << data_center->node(node).name;
    }
  }
}

}  // namespace
}  // namespace ringshift
