#include "ring/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::BuildRing;
using ::ringshift::testing::Nodes;
using ::ringshift::testing::OwnerName;
using ::ringshift::testing::Parameters;
using ::ringshift::testing::SequentialNodes;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TestNode;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::thread::id kMainThread = std::this_thread::get_id();

// 254 hosts of weight 10: 16 hashes among the 406,400 points of v1 are shared.
std::vector<TestNode> CollidingFleet() { return SequentialNodes("10.0.0.", 254, 10); }

// Two nodes that both have a point on 0x1c99e15d, where the key /k/41t5e8r is.
const std::vector<TestNode> kTiedPair = {{"10.0.1.16:443"}, {"10.0.3.52:443"}};

TEST(RingTest, DefaultsAreTheTwoRingsOfAMigration) {
  EXPECT_EQ(DefaultRingParameters(RingVersion::kV1),
            Parameters(RingVersion::kV1, 160, RingLayout::kWide));
  EXPECT_EQ(DefaultRingParameters(RingVersion::kV2),
            Parameters(RingVersion::kV2, 16, RingLayout::kDense));
}

TEST(RingTest, EveryVersionHasANameAndAnAlgorithmOfItsOwn) {
  EXPECT_EQ(RingVersionName(RingVersion::kV1), "v1");
  EXPECT_EQ(RingVersionName(RingVersion::kV2), "v2");
  EXPECT_EQ(RingAlgorithm(RingVersion::kV1), "ketama-crc32-v1");
  EXPECT_EQ(RingAlgorithm(RingVersion::kV2), "ketama-crc32-v2");
}

TEST(RingTest, LookupsOnAroundAndBeyondThePointsFindTheNextPointClockwise) {
  for (const RingLayout layout : kRingLayouts) {
    const auto ring =
        BuildRing(SequentialNodes("10.0.0.", 3), Parameters(RingVersion::kV1, 4, layout));
    ASSERT_EQ(ring->point_count(), 12u);
    for (std::size_t i = 0; i < ring->point_count(); ++i) {
      const std::uint32_t hash = ring->point(i).hash;
      EXPECT_EQ(ring->FindPoint(hash), i);
      EXPECT_EQ(ring->FindPoint(hash - 1), i);
      EXPECT_EQ(ring->FindPoint(hash + 1), (i + 1) % ring->point_count());
    }
    EXPECT_EQ(ring->FindPoint(0), 0u);
    EXPECT_EQ(ring->FindPoint(0xFFFFFFFF), 0u);  // wraps around
  }
}

TEST(RingTest, ARingOfOnePointOwnsEverything) {
  for (const RingLayout layout : kRingLayouts) {
    const auto ring = BuildRing({{"10.0.0.1:443"}}, Parameters(RingVersion::kV2, 1, layout));
    ASSERT_EQ(ring->point_count(), 1u);
    const std::uint32_t hash = ring->point(0).hash;
    for (const std::uint32_t position : {0u, hash - 1, hash, hash + 1, 0xFFFFFFFFu}) {
      EXPECT_EQ(ring->OwnerAt(position), 0u);
    }
  }
}

TEST(RingTest, OnAnyNumberOfPointsEveryLookupAgreesWithALinearSearch) {
  for (std::uint32_t points = 1; points <= 70; ++points) {
    const auto ring = BuildRing({{"10.0.0.1:443"}}, Parameters(RingVersion::kV2, points));
    for (std::size_t i = 0; i < points; ++i) {
      for (const std::uint32_t offset : {0xFFFFFFFFu, 0u, 1u}) {
        const std::uint32_t position = ring->point(i).hash + offset;
        std::size_t expected = 0;
        while (expected < points && ring->point(expected).hash < position) ++expected;
        ASSERT_EQ(ring->FindPoint(position), expected == points ? 0 : expected);
      }
    }
  }
}

TEST(RingTest, TheOrderOfTheNodesIsIrrelevantAlsoWhereHashesTie) {
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    std::vector<TestNode> fleet = CollidingFleet();
    std::mt19937 random(3);
    std::set<std::uint64_t> checksums;
    for (int round = 0; round < 20; ++round) {
      std::shuffle(fleet.begin(), fleet.end(), random);
      const auto ring = BuildRing(fleet, Parameters(version, 160));
      EXPECT_EQ(ring->collision_count(), 16u);
      checksums.insert(ring->checksum());
    }
    EXPECT_EQ(checksums.size(), 1u);
  }
}

TEST(RingTest, LayoutAndThreadsChangeNeitherChecksumNorPoint) {
  const std::vector<TestNode> fleet = SequentialNodes("10.1.0.", 200, 20);
  const auto wide = BuildRing(fleet, Parameters(RingVersion::kV1, 160), {.threads = 1});
  for (const RingLayout layout : kRingLayouts) {
    for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
      const auto ring =
          BuildRing(fleet, Parameters(RingVersion::kV1, 160, layout), {.threads = threads});
      EXPECT_EQ(ring->checksum(), wide->checksum());
      ASSERT_EQ(ring->point_count(), wide->point_count());
      for (std::size_t i = 0; i < ring->point_count(); ++i) {
        ASSERT_EQ(ring->point(i).hash, wide->point(i).hash);
        ASSERT_EQ(ring->point(i).node, wide->point(i).node);
      }
    }
  }
}

TEST(RingTest, TheChecksumTellsWeightsIdentitiesAndPointsApart) {
  const std::vector<TestNode> fleet = SequentialNodes("10.0.0.", 5, 2);
  std::vector<TestNode> heavier = fleet;
  heavier[2].weight = 3;
  std::vector<TestNode> moved = fleet;
  moved[2].address = "10.0.0.77:443";
  std::set<std::uint64_t> checksums;
  for (const auto& nodes : {fleet, heavier, moved}) {
    for (const std::uint32_t points : {15u, 16u}) {
      checksums.insert(BuildRing(nodes, Parameters(RingVersion::kV2, points))->checksum());
    }
  }
  EXPECT_EQ(checksums.size(), 6u);
}

TEST(RingTest, ASharedHashKeepsBothPointsAndV2GivesItToTheLowerIdentity) {
  std::vector<TestNode> pair = kTiedPair;
  for (int order = 0; order < 2; ++order) {
    std::reverse(pair.begin(), pair.end());
    const auto ring = BuildRing(pair, Parameters(RingVersion::kV2, 160));
    EXPECT_EQ(ring->point_count(), 320u);
    EXPECT_EQ(ring->collision_count(), 1u);
    EXPECT_EQ(OwnerName(*ring, "/k/41t5e8r"), "10.0.1.16:443");
  }
  const auto survivor = BuildRing({kTiedPair[1]}, Parameters(RingVersion::kV2, 160));
  EXPECT_EQ(survivor->point(survivor->FindPoint(0x1c99e15d)).hash, 0x1c99e15du);
  EXPECT_EQ(OwnerName(*survivor, "/k/41t5e8r"), "10.0.3.52:443");
}

TEST(RingTest, RemovingAndAddingATiedNodeRestoresTheRing) {
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    const auto both = BuildRing(kTiedPair, Parameters(version, 160));
    const auto one = BuildRing({kTiedPair[0]}, Parameters(version, 160));
    const auto again = BuildRing({kTiedPair[1], kTiedPair[0]}, Parameters(version, 160));
    EXPECT_NE(one->checksum(), both->checksum());
    EXPECT_EQ(again->checksum(), both->checksum());
  }
}

TEST(RingTest, V1GivesTiesToNoSideOfTheAddresses) {
  // Cut to 8 bits, all 256 hashes are shared: lowest first would leave nothing to most nodes.
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 64), Parameters(RingVersion::kV1, 160),
                              {.hash_mask_for_test = 0xFF000000});
  std::array<int, 2> owned{};
  for (std::uint32_t range = 0; range < 256; ++range) ++owned[ring->OwnerAt(range << 24) >= 32];
  EXPECT_NEAR(owned[0], 128, 5 * 8);  // five sigma of a fair coin
}

TEST(RingTest, AStuckChainIsOnePointWhateverTheWeight) {
  const auto ring = BuildRing({{"10.104.166.234:1145", 1000}, {"10.0.0.1:443", 1}},
                              Parameters(RingVersion::kV1, 160));
  EXPECT_EQ(ring->point_count(), 161u);
  EXPECT_EQ(ring->point(0).hash, 0u);
  EXPECT_EQ(OwnerName(*ring, "/k/xrd4bf1"), "10.104.166.234:1145");  // at position 0
}

TEST(RingTest, AHeavierNodeKeepsItsPointsAndAddsTheRest) {
  const auto light = BuildRing({{"10.0.0.1:443", 1}}, Parameters(RingVersion::kV1, 160));
  const auto heavy = BuildRing({{"10.0.0.1:443", 2}}, Parameters(RingVersion::kV1, 160));
  std::set<std::uint32_t> hashes;
  for (std::size_t i = 0; i < heavy->point_count(); ++i) hashes.insert(heavy->point(i).hash);
  EXPECT_EQ(hashes.size(), 320u);
  for (std::size_t i = 0; i < light->point_count(); ++i) {
    EXPECT_TRUE(hashes.contains(light->point(i).hash));
  }
}

TEST(RingTest, AMaskedWalkGivesTheOwnersOfARingOfTheMaskedNodesAlone) {
  const std::vector<TestNode> fleet = SequentialNodes("10.0.0.", 40, 3);
  std::vector<TestNode> pool_nodes;
  for (std::size_t i = 0; i < fleet.size(); i += 3) pool_nodes.push_back(fleet[i]);
  const auto ring = BuildRing(fleet, Parameters(RingVersion::kV2, 16));
  const auto pool_ring = BuildRing(pool_nodes, Parameters(RingVersion::kV2, 16));
  NodeMask pool(ring->nodes().size());
  for (const TestNode& node : pool_nodes) pool.Insert(*ring->nodes().Find(node.address));

  const NodeMask all_of_pool_ring = NodeMask::All(pool_nodes.size());
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t position = Ring::Position("/key/" + std::to_string(i));
    std::array<NodeIndex, 4> on_view{}, on_ring{};
    ASSERT_EQ(ring->FindNodes(position, pool, on_view), 4u);
    ASSERT_EQ(pool_ring->FindNodes(position, all_of_pool_ring, on_ring), 4u);
    for (std::size_t r = 0; r < 4; ++r) {
      ASSERT_EQ(ring->nodes()[on_view[r]].name, pool_ring->nodes()[on_ring[r]].name);
    }
  }
}

TEST(RingTest, AWalkVisitsEveryNodeOnceAndEndsThere) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 50), Parameters(RingVersion::kV2, 16));
  const NodeMask all = NodeMask::All(50);
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t position = Ring::Position(std::to_string(i));
    std::vector<NodeIndex> out(60);
    ASSERT_EQ(ring->FindNodes(position, all, out), 50u);
    const std::set<NodeIndex> distinct(out.begin(), out.begin() + 50);
    ASSERT_EQ(distinct.size(), 50u);
    ASSERT_EQ(out[0], ring->OwnerAt(position));
  }
}

TEST(RingTest, TheOnlyEligibleNodeIsFoundHoweverManyPointsAreBeforeIt) {
  std::vector<TestNode> fleet = SequentialNodes("10.0.0.", 9, 1);
  fleet.push_back({"10.0.1.1:443", 10'000});  // 1.6 million points of a node that is out
  const auto ring = BuildRing(fleet, Parameters(RingVersion::kV1, 160));
  const NodeIndex only = *ring->nodes().Find("10.0.0.5:443");
  NodeMask mask(ring->nodes().size());
  mask.Insert(only);
  for (int i = 0; i < 200; ++i) {
    std::array<NodeIndex, 3> out{};
    ASSERT_EQ(ring->FindNodes(Ring::Position(std::to_string(i)), mask, out), 1u);
    ASSERT_EQ(out[0], only);
  }
}

TEST(RingTest, AnEmptyMaskOrNoRoomFindsNothing) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 3), Parameters(RingVersion::kV2, 16));
  std::array<NodeIndex, 1> out{};
  EXPECT_EQ(ring->FindNodes(1, NodeMask(3), out), 0u);
  EXPECT_EQ(ring->FindNodes(1, NodeMask::All(3), {}), 0u);
}

TEST(RingTest, SizeIsExactAndKnownBeforeBuilding) {
  const auto nodes = Nodes(SequentialNodes("10.0.0.", 7, 3));
  for (const RingLayout layout : kRingLayouts) {
    const RingParameters parameters = Parameters(RingVersion::kV2, 16, layout);
    ASSERT_OK_AND_ASSIGN(const RingSize size, Ring::Measure(*nodes, parameters));
    ASSERT_OK_AND_ASSIGN(const auto ring, Ring::Build(nodes, parameters));
    EXPECT_EQ(size.points, 7u * 3 * 16);
    EXPECT_EQ(ring->point_count(), size.points);
    EXPECT_EQ(ring->memory_bytes(), size.bytes);
    // Plain: an index of 16 parts of 21 points, and an end. Dense: 64 buckets in four groups, and
    // 26 bits of a hash and 3 of a node for each point, with 56 bytes behind the last.
    const std::uint64_t bytes = layout == RingLayout::kWide     ? size.points * 8 + 17 * 4
                                : layout == RingLayout::kPacked ? size.points * 6 + 17 * 4
                                                                : size.points * 29 / 8 + 56 + 80;
    EXPECT_GT(size.bytes, bytes);
    EXPECT_LT(size.bytes, bytes + 512);  // what is there without a point
  }
}

TEST(RingTest, ALongBuildTellsHowFarItIsOnTheThreadThatBeganIt) {
  // Just enough points to be told.
  const auto nodes = Nodes(SequentialNodes("10.0.0.", 64, 1));
  const auto per_node = static_cast<std::uint32_t>(RingBuildOptions::kProgressPoints / 64);
  for (const RingLayout layout : {RingLayout::kPacked, RingLayout::kDense}) {
    for (const std::uint32_t points : {per_node, per_node - 1}) {
      std::vector<double> told;
      const RingBuildOptions options = {.threads = 2, .progress = [&](double done) {
                                          EXPECT_EQ(std::this_thread::get_id(), kMainThread);
                                          told.push_back(done);
                                        }};
      ASSERT_OK_AND_ASSIGN(
          const auto ring,
          Ring::Build(nodes, Parameters(RingVersion::kV2, points, layout), options));
      if (points < per_node) {
        EXPECT_TRUE(told.empty());
        continue;
      }
      EXPECT_GT(told.size(), 10u);
      EXPECT_LE(told.size(), 100u);
      EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
      EXPECT_GT(told.front(), 0);
      EXPECT_LT(told.back(), 1);
      EXPECT_GT(told.back(), 0.9);
    }
  }
}

TEST(RingTest, PointsPerWeightOutsideItsRangeIsRefused) {
  const auto nodes = Nodes({{"10.0.0.1:443"}});
  for (const std::uint32_t points : {0u, 1'000'001u, 0xFFFFFFFFu}) {
    EXPECT_THAT(Ring::Build(nodes, Parameters(RingVersion::kV2, points)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("points_per_weight " + std::to_string(points)),
                               HasSubstr("[1, 1000000]"))));
  }
}

TEST(RingTest, MorePointsThan32BitsCountAreRefusedWithTheNodeThePointsAndTheBytes) {
  // 4,294,967,296 points: one above the limit, which 32 bits would count as 0.
  const auto nodes = Nodes({{"10.0.0.1:443", 32768}, {"10.0.0.2:443", 32768}});
  EXPECT_THAT(Ring::Build(nodes, Parameters(RingVersion::kV2, 65536)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("4294967296 points"), HasSubstr("4294967295"),
                             HasSubstr("node 10.0.0.1:443"), HasSubstr("bytes"))));
  // 26,843,546 x 160 wraps to 64 in 32 bits.
  std::vector<TestNode> fleet = SequentialNodes("10.0.0.", 250, 100'000);
  for (const TestNode& node : SequentialNodes("10.0.1.", 50, 100'000)) fleet.push_back(node);
  EXPECT_THAT(Ring::Measure(*Nodes(fleet), Parameters(RingVersion::kV1, 160)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4800000000 points")));
}

TEST(RingTest, TheRefusalOfTooManyPointsHasBytesThatMakeSenseInEveryLayout) {
  // 10^11 points: more than there are hashes. Of a dense one a node's bit is left, and the tables.
  const auto nodes = Nodes({{"10.0.0.1:443", 100'000}, {"10.0.0.2:443", 1}});
  for (const auto& [layout, bytes] : {std::pair(RingLayout::kWide, "(800008262348 bytes)"),
                                      std::pair(RingLayout::kPacked, "(600006262348 bytes)"),
                                      std::pair(RingLayout::kDense, "(21090059848 bytes)")}) {
    EXPECT_THAT(Ring::Measure(*nodes, Parameters(RingVersion::kV1, 1'000'000, layout)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bytes)));
  }
}

TEST(RingTest, EveryNodeOfTheLargestSetOwnsItsOwnPoints) {
  std::vector<TestNode> fleet;
  for (int i = 0; i < 65536; ++i) {
    fleet.push_back({"10.1." + std::to_string(i >> 8) + "." + std::to_string(i & 255) + ":443"});
  }
  const auto ring = BuildRing(fleet, Parameters(RingVersion::kV2, 2, RingLayout::kPacked));
  std::vector<int> points(fleet.size());
  for (std::size_t i = 0; i < ring->point_count(); ++i) ++points[ring->point(i).node];
  EXPECT_TRUE(std::all_of(points.begin(), points.end(), [](int n) { return n == 2; }));
}

TEST(RingTest, ShortKeysReachEveryNode) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 3), Parameters(RingVersion::kV1, 160));
  std::set<NodeIndex> owners;
  for (char c = 'A'; c <= 'Z'; ++c) owners.insert(ring->Owner(std::string(1, c) + "PL"));
  EXPECT_EQ(owners.size(), 3u);
}

}  // namespace
}  // namespace ringshift
