#include "ring/internal/point_chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift::internal {
namespace {

using ::ringshift::testing::Nodes;
using ::ringshift::testing::ReferenceRing;
using ::ringshift::testing::TestNode;
using Points = std::vector<std::pair<std::uint32_t, NodeIndex>>;

TEST(PointChainsTest, AChainEnteredAnywhereGoesOnAsItself) {
  const std::uint32_t state = Crc32Extend(0xFFFFFFFF, "10.0.0.1");
  std::uint32_t hash = 0;
  for (std::uint64_t steps = 0; steps < 5000; ++steps) {
    ASSERT_EQ(HashAfter(state, steps), hash) << steps;
    hash = Crc32OfStateThenWord(state, hash);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t steps = random() >> (32 + random() % 32);
    ASSERT_EQ(HashAfter(state, steps + 1), Crc32OfStateThenWord(state, HashAfter(state, steps)));
  }
  // It comes back after 2^32 - 1 steps, and no earlier at a part of them.
  EXPECT_EQ(HashAfter(state, 0xFFFFFFFF), 0u);
  for (const std::uint64_t divisor : {3u, 5u, 17u, 257u, 65537u}) {
    EXPECT_NE(HashAfter(state, 0xFFFFFFFF / divisor), 0u);
  }
}

Points Generate(const PointChains& chains, std::uint64_t begin, std::uint64_t end) {
  Points points;
  std::uint64_t last_done = 0;
  chains.Generate(
      begin, end,
      [&](std::span<const std::uint32_t> hashes, NodeIndex node) {
        EXPECT_LE(hashes.size(), PointChains::kBlock);
        for (const std::uint32_t hash : hashes) points.emplace_back(hash, node);
      },
      [&](std::uint64_t done) {
        EXPECT_GE(done, last_done);
        EXPECT_LE(done, end - begin);
        last_done = done;
      });
  return points;
}

TEST(PointChainsTest, WhateverTheyAreDividedIntoThePointsAreTheReferences) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<TestNode> test_nodes;
    for (std::size_t i = 1, count = 1 + random() % 12; i <= count; ++i) {
      test_nodes.push_back({"10.0.0." + std::to_string(i) + ":443",
                            static_cast<std::uint32_t>(1 + random() % (1 + random() % 8))});
    }
    const auto nodes = Nodes(test_nodes);
    const auto points_per_weight = static_cast<std::uint32_t>(1 + random() % 20);
    NodeMask members(nodes->size());
    for (NodeIndex node = 0; node < nodes->size(); ++node) {
      if (random() % 3 > 0) members.Insert(node);
    }
    const ReferenceRing reference(*nodes, RingVersion::kV2, points_per_weight);
    for (const NodeMask* mask :
         {static_cast<const NodeMask*>(nullptr), static_cast<const NodeMask*>(&members)}) {
      Points expected;
      for (const auto& point : reference.points) {
        if (mask == nullptr || mask->Contains(point.node)) {
          expected.emplace_back(point.hash, point.node);
        }
      }
      const PointChains chains(*nodes, points_per_weight, mask, 0xFFFFFFFF);
      ASSERT_EQ(chains.point_count(), expected.size());
      Points points;
      for (std::uint64_t begin = 0; begin < chains.point_count();) {
        const std::uint64_t end =
            std::min<std::uint64_t>(chains.point_count(), begin + random() % 100);
        const Points part = Generate(chains, begin, end);
        ASSERT_EQ(part.size(), end - begin);
        points.insert(points.end(), part.begin(), part.end());
        begin = end;
      }
      std::sort(points.begin(), points.end());
      ASSERT_EQ(points, expected) << round;
    }
  }
}

TEST(PointChainsTest, AStuckChainHasOnePointAmongOthers) {
  const auto nodes =
      Nodes({{"10.0.0.1:443", 2}, {"10.104.166.234:1145", 5}, {"10.200.0.1:443", 1}});
  const PointChains chains(*nodes, 10, nullptr, 0xFFFFFFFF);
  EXPECT_EQ(chains.point_count(), 31u);
  const Points points = Generate(chains, 0, 31);
  EXPECT_EQ(
      std::count_if(points.begin(), points.end(), [](const auto& p) { return p.second == 1; }), 1);
}

}  // namespace
}  // namespace ringshift::internal
