// `Ring` against the naive reference ring over thousands of random topologies, with whole hashes
// and with hashes cut to 12 bits, where ties are everywhere. A failure prints the seed of its
// topology.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ring/ownership.h"
#include "ring/ring.h"
#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Nodes;
using ::ringshift::testing::ReferenceRing;
using ::ringshift::testing::TestNode;

struct RandomTopology {
  std::vector<TestNode> nodes;
  RingParameters parameters;
  RingBuildOptions options;
  std::mt19937 random;

  explicit RandomTopology(std::uint32_t seed, std::uint32_t hash_mask) : random(seed) {
    const int count = Pick(1, Pick(1, 30));
    while (nodes.size() < static_cast<std::size_t>(count)) {
      const std::string port = ":" + std::to_string(Pick(1, 65535));
      std::string host;
      switch (Pick(0, 3)) {
        case 0:
          host = "node-" + std::to_string(Pick(0, 999999)) + ".example";
          break;
        case 1:
          host = "[2001:db8::" + std::to_string(Pick(0, 9999)) + "]";
          break;
        default:
          host = "10." + std::to_string(Pick(0, 255)) + "." + std::to_string(Pick(0, 255)) + "." +
                 std::to_string(Pick(0, 255));
      }
      const std::string address = host + port;
      const bool taken = std::any_of(nodes.begin(), nodes.end(),
                                     [&](const TestNode& node) { return node.address == address; });
      if (!taken) nodes.push_back({address, static_cast<std::uint32_t>(Pick(1, Pick(1, 12)))});
    }
    parameters.version = Pick(0, 1) ? RingVersion::kV1 : RingVersion::kV2;
    parameters.points_per_weight = static_cast<std::uint32_t>(Pick(1, 40));
    parameters.layout = kRingLayouts[Pick(0, 2)];
    options.threads = static_cast<std::size_t>(Pick(1, 3));
    options.hash_mask_for_test = hash_mask;
  }

  int Pick(int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint32_t>(high - low + 1));
  }
};

void ExpectEqualToReference(std::uint32_t seed, std::uint32_t hash_mask) {
  RandomTopology topology(seed, hash_mask);
  const auto nodes = Nodes(topology.nodes);
  const auto ring = Ring::Build(nodes, topology.parameters, topology.options).value();
  const ReferenceRing reference(*nodes, topology.parameters.version,
                                topology.parameters.points_per_weight, hash_mask);

  ASSERT_EQ(ring->point_count(), reference.points.size());
  for (std::size_t i = 0; i < ring->point_count(); ++i) {
    ASSERT_EQ(ring->point(i).hash, reference.points[i].hash) << i;
    ASSERT_EQ(ring->point(i).node, reference.points[i].node) << i;
  }
  ASSERT_EQ(ring->collision_count(), reference.Collisions());

  std::vector<std::uint32_t> positions = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
  for (int i = 0; i < 10; ++i) {
    positions.push_back(static_cast<std::uint32_t>(topology.random()));
    positions.push_back(static_cast<std::uint32_t>(topology.random()) & hash_mask);
    const auto& point = reference.points[topology.random() % reference.points.size()];
    for (const std::uint32_t offset : {0xFFFFFFFFu, 0u, 1u})
      positions.push_back(point.hash + offset);
  }
  NodeMask pool(nodes->size());
  std::vector<bool> reference_pool(nodes->size());
  for (NodeIndex node = 0; node < nodes->size(); ++node) {
    if (topology.Pick(0, 2) == 0) continue;
    pool.Insert(node);
    reference_pool[node] = true;
  }
  std::vector<NodeIndex> all_owners;
  std::vector<NodeIndex> pool_owners;
  for (const std::uint32_t position : positions) {
    all_owners.push_back(reference.Owner(position));
    ASSERT_EQ(ring->OwnerAt(position), all_owners.back()) << position;
    const std::vector<NodeIndex> expected = reference.Walk(position, reference_pool);
    std::vector<NodeIndex> walk(nodes->size());
    walk.resize(ring->FindNodes(position, pool, walk));
    ASSERT_EQ(walk, expected) << position;
    if (expected.empty()) continue;
    pool_owners.push_back(expected.front());
    ASSERT_EQ(ring->OwnerAt(position, pool), expected.front()) << position;
  }

  // Many at once, also so many that the last group of searches has one, or all but one.
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16},
                                  std::size_t{17}, positions.size()}) {
    std::vector<NodeIndex> owners(count);
    ring->OwnersAt(std::span(positions).first(count), owners);
    ASSERT_TRUE(std::equal(owners.begin(), owners.end(), all_owners.begin())) << count;
    if (pool.count() == 0) continue;
    ring->OwnersAt(std::span(positions).first(count), pool, owners);
    ASSERT_TRUE(std::equal(owners.begin(), owners.end(), pool_owners.begin())) << count;
  }
}

TEST(RingPropertyTest, RandomRingsAreThoseOfTheReference) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    ExpectEqualToReference(seed, 0xFFFFFFFF);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(RingPropertyTest, RandomRingsFullOfTiesAreThoseOfTheReference) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    // 12 bits at the bottom, in the middle, and at the top, where they choose the range to sort in.
    for (const std::uint32_t mask : {0x00000FFFu, 0x003FFC00u, 0xFFF00000u}) {
      ExpectEqualToReference(seed, mask);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " mask " << mask;
    }
  }
}

// Large enough for several sort ranges, radix passes and threads.
TEST(RingPropertyTest, LargeRingsFullOfTiesAreThoseOfTheReference) {
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    for (const std::uint32_t mask : {0xFFFFFFFFu, 0x0000FFFFu, 0xFFFF0000u, 0x00000000u}) {
      std::vector<TestNode> test_nodes;
      for (std::uint32_t i = 1; i <= 37; ++i) {
        test_nodes.push_back({"10.9.8." + std::to_string(i) + ":80", 1 + (i * 7) % 50});
      }
      const auto nodes = Nodes(test_nodes);
      const auto ring = Ring::Build(nodes, {version, 200, RingLayout::kPacked},
                                    {.threads = 3, .hash_mask_for_test = mask})
                            .value();
      const ReferenceRing reference(*nodes, version, 200, mask);
      ASSERT_EQ(ring->point_count(), reference.points.size());
      for (std::size_t i = 0; i < ring->point_count(); ++i) {
        ASSERT_EQ(ring->point(i).hash, reference.points[i].hash) << i;
        ASSERT_EQ(ring->point(i).node, reference.points[i].node) << i;
      }
      ASSERT_EQ(ring->collision_count(), reference.Collisions());

      std::mt19937 random(mask);
      std::vector<std::uint32_t> positions = {0, 1, 0xFFFF, 0x10000, 0xFFFF0000, 0xFFFFFFFF};
      while (positions.size() < 40) positions.push_back(static_cast<std::uint32_t>(random()));
      while (positions.size() < 70) positions.push_back(positions[positions.size() - 34] & mask);
      std::vector<NodeIndex> owners(positions.size());
      ring->OwnersAt(positions, owners);
      for (std::size_t i = 0; i < positions.size(); ++i) {
        ASSERT_EQ(ring->FindPoint(positions[i]), reference.FirstPoint(positions[i]));
        ASSERT_EQ(owners[i], reference.Owner(positions[i]));
      }
    }
  }
}

}  // namespace
}  // namespace ringshift
