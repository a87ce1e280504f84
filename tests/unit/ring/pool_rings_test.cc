#include "ring/pool_rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::BuildRing;
using ::ringshift::testing::Nodes;
using ::ringshift::testing::Parameters;
using ::ringshift::testing::ReferenceRing;
using ::ringshift::testing::SequentialNodes;
using ::ringshift::testing::TestNode;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

// Walks from every point, with the positions that it is the first point of.
PoolWalk ReferenceWalk(const ReferenceRing& ring, const NodeMask& pool) {
  PoolWalk walk;
  if (pool.count() == 0) return walk;
  const std::size_t size = ring.points.size();
  long double sum = 0;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t end = std::uint64_t{ring.points[i].hash} + 1;
    std::uint64_t positions = end - begin;
    begin = end;
    if (i == 0) positions += kPositions - (std::uint64_t{ring.points.back().hash} + 1);
    std::uint64_t looked_at = 1;
    while (!pool.Contains(ring.points[(i + looked_at - 1) % size].node)) ++looked_at;
    sum += static_cast<long double>(positions) * static_cast<long double>(looked_at);
    if (positions > 0) walk.longest = std::max(walk.longest, looked_at);
    walk.points += pool.Contains(ring.points[i].node);
  }
  walk.mean = static_cast<double>(sum / static_cast<long double>(kPositions));
  return walk;
}

TEST(PoolWalksTest, AreThoseThatTheReferenceWalksAlsoWhereTiesAreEverywhere) {
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    std::vector<TestNode> test_nodes;
    for (std::size_t i = 1, count = 1 + random() % 20; i <= count; ++i) {
      test_nodes.push_back(
          {"10.0." + std::to_string(random() % 256) + "." + std::to_string(i) + ":443",
           static_cast<std::uint32_t>(1 + random() % 4)});
    }
    const auto nodes = Nodes(test_nodes);
    // Sometimes more than fit in a word.
    std::vector<NodeMask> masks(round % 50 == 0 ? 150 : 5, NodeMask(nodes->size()));
    masks[0] = NodeMask::All(nodes->size());
    for (std::size_t i = 2; i < masks.size(); ++i) {  // masks[1] stays empty
      for (NodeIndex node = 0; node < nodes->size(); ++node) {
        if (random() % (2 + i % 3) == 0) masks[i].Insert(node);
      }
    }
    std::vector<const NodeMask*> pools;
    for (const NodeMask& mask : masks) pools.push_back(&mask);
    for (const std::uint32_t hash_mask : {0xFFFFFFFFu, 0x0000001Fu, 0xF800000Fu, 0x00000000u}) {
      const RingParameters parameters = {round % 2 == 0 ? RingVersion::kV1 : RingVersion::kV2,
                                         static_cast<std::uint32_t>(1 + random() % 12),
                                         kRingLayouts[round % 3]};
      const auto ring = Ring::Build(nodes, parameters, {.hash_mask_for_test = hash_mask}).value();
      const ReferenceRing reference(*nodes, parameters.version, parameters.points_per_weight,
                                    hash_mask);
      const std::size_t threads = static_cast<std::size_t>(round) % 4;  // 0: as many as it likes
      const std::vector<PoolWalk> walks = MeasurePoolWalks(*ring, pools, threads);
      ASSERT_EQ(walks.size(), pools.size());
      for (std::size_t i = 0; i < pools.size(); ++i) {
        const PoolWalk expected = ReferenceWalk(reference, masks[i]);
        ASSERT_EQ(walks[i].points, expected.points) << round << " pool " << i;
        ASSERT_EQ(walks[i].longest, expected.longest) << round << " pool " << i;
        ASSERT_DOUBLE_EQ(walks[i].mean, expected.mean) << round << " pool " << i;
      }
    }
  }
}

TEST(PoolWalksTest, AreTheSameWhateverTheThreads) {
  const auto nodes = Nodes(SequentialNodes("10.1.0.", 200));
  NodeMask all_but_one = NodeMask::All(nodes->size()), one(nodes->size()), half(nodes->size());
  all_but_one.Erase(17);
  one.Insert(17);
  for (NodeIndex node = 0; node < nodes->size(); node += 2) half.Insert(node);
  const std::array<const NodeMask*, 3> pools = {&all_but_one, &one, &half};
  const ReferenceRing reference(*nodes, RingVersion::kV1, 1000);
  std::vector<PoolWalk> expected;
  for (const NodeMask* pool : pools) expected.push_back(ReferenceWalk(reference, *pool));
  for (const RingLayout layout : kRingLayouts) {
    const auto ring = Ring::Build(nodes, {RingVersion::kV1, 1000, layout}).value();
    for (const std::size_t threads : {0u, 1u, 2u, 3u, 7u}) {
      const std::vector<PoolWalk> walks = MeasurePoolWalks(*ring, pools, threads);
      for (std::size_t i = 0; i < pools.size(); ++i) {
        EXPECT_EQ(walks[i].points, expected[i].points) << threads << " threads, pool " << i;
        EXPECT_EQ(walks[i].longest, expected[i].longest) << threads << " threads, pool " << i;
        EXPECT_DOUBLE_EQ(walks[i].mean, expected[i].mean) << threads << " threads, pool " << i;
      }
    }
  }
}

// 2,000 nodes of 40 points each.
class PoolRingsTest : public ::testing::Test {
 protected:
  PoolRingsTest() : ring_(Build(RingLayout::kDense)) {}

  static std::vector<TestNode> Fleet() {
    std::vector<TestNode> fleet;
    for (int i = 0; i < 2000; ++i) {
      fleet.push_back({"10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ":443"});
    }
    return fleet;
  }
  std::shared_ptr<const Ring> Build(RingLayout layout) {
    return Ring::Build(nodes_, {RingVersion::kV1, 40, layout}).value();
  }
  NodeMask PoolOf(NodeIndex first, NodeIndex count) {
    NodeMask pool(nodes_->size());
    for (NodeIndex node = first; node < first + count; ++node) pool.Insert(node);
    return pool;
  }

  std::shared_ptr<const NodeSet> nodes_ = Nodes(Fleet());
  std::shared_ptr<const Ring> ring_;
};

TEST_F(PoolRingsTest, OnlyAPoolOfLongWalksHasARingOfItsOwn) {
  const NodeMask all = NodeMask::All(nodes_->size()), empty(nodes_->size());
  const NodeMask tenth = PoolOf(100, 200), two = PoolOf(700, 2);
  const auto pools = BuildPoolRings(nodes_, *ring_, std::array{&all, &tenth, &empty, &two}).value();
  ASSERT_EQ(pools.size(), 4u);
  EXPECT_EQ(pools[0].walk.mean, 1);
  EXPECT_EQ(pools[0].walk.longest, 1u);
  EXPECT_NEAR(pools[1].walk.mean, 10, 1);
  EXPECT_EQ(pools[2].walk.mean, 0);
  EXPECT_NEAR(pools[3].walk.mean, 1000, 200);
  EXPECT_GT(pools[3].walk.longest, 2000u);
  for (const std::size_t view : {0u, 1u, 2u}) {
    EXPECT_EQ(pools[view].own, nullptr) << view;
    EXPECT_EQ(pools[view].own_bytes(), 0u) << view;
    EXPECT_FALSE(pools[view].lacks_own()) << view;
  }
  ASSERT_NE(pools[3].own, nullptr);
  EXPECT_EQ(pools[3].own->point_count(), 80u);
}

TEST_F(PoolRingsTest, AnOwnRingFindsWhatTheWholeOneDoes) {
  for (const RingLayout layout : kRingLayouts) {
    ring_ = Build(layout);
    const NodeMask pool = PoolOf(1234, 3);
    const auto pools = BuildPoolRings(nodes_, *ring_, std::array{&pool}).value();
    ASSERT_NE(pools[0].own, nullptr);
    const Ring& own = *pools[0].own;
    NodeMask one_less = pool;  // as where a node is down
    one_less.Erase(1235);
    std::vector<std::uint32_t> positions;
    for (std::size_t i = 0; i < own.point_count(); ++i) {
      for (const std::uint32_t offset : {0xFFFFFFFFu, 0u, 1u}) {
        positions.push_back(own.point(i).hash + offset);
      }
    }
    for (int i = 0; i < 1000; ++i) positions.push_back(Ring::Position(std::to_string(i)));
    for (const NodeMask& eligible : {pool, one_less}) {
      std::vector<NodeIndex> owners(positions.size());
      own.OwnersAt(positions, eligible, owners);
      for (std::size_t i = 0; i < positions.size(); ++i) {
        std::array<NodeIndex, 4> expected{}, found{};
        ASSERT_EQ(ring_->FindNodes(positions[i], eligible, expected), eligible.count());
        ASSERT_EQ(own.FindNodes(positions[i], eligible, found), eligible.count());
        ASSERT_EQ(found, expected);
        ASSERT_EQ(owners[i], expected[0]);
      }
    }
  }
}

TEST_F(PoolRingsTest, TogetherTheyTakeASixteenthAndTheSparsestComeFirst) {
  std::vector<NodeMask> masks;
  for (NodeIndex i = 0; i < 300; ++i) masks.push_back(PoolOf(3 * i, i < 150 ? 3 : 1));
  std::vector<const NodeMask*> views;
  for (const NodeMask& mask : masks) views.push_back(&mask);
  const auto pools = BuildPoolRings(nodes_, *ring_, views).value();
  std::uint64_t bytes = 0;
  std::size_t own_rings = 0;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    EXPECT_EQ(pools[i].lacks_own(), pools[i].own == nullptr);
    if (pools[i].own == nullptr) continue;
    ++own_rings;
    EXPECT_EQ(pools[i].own_bytes(), pools[i].own->memory_bytes());
    bytes += pools[i].own_bytes();
    if (i < 150) {
      EXPECT_TRUE(std::all_of(pools.begin() + 150, pools.end(), [&](const PoolRing& sparser) {
        return sparser.own != nullptr || sparser.walk.mean < pools[i].walk.mean;
      }));
    }
  }
  EXPECT_GT(own_rings, 5u);
  EXPECT_LT(own_rings, 300u);
  EXPECT_LE(bytes, ring_->memory_bytes() / kPoolRingsPart);
}

}  // namespace
}  // namespace ringshift
