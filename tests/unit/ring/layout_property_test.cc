// The layouts against each other and against the reference, at every boundary of every ring.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ring/churn.h"
#include "ring/ownership.h"
#include "ring/ring.h"
#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Nodes;
using ::ringshift::testing::ReferenceRing;
using ::ringshift::testing::SequentialNodes;
using ::ringshift::testing::TestNode;

// Every position on, before and behind a point, and the ends of the space, in order.
std::vector<std::uint32_t> Boundaries(const ReferenceRing& reference) {
  std::vector<std::uint32_t> positions = {0, 0xFFFFFFFF};
  for (const auto& point : reference.points) {
    for (const std::uint32_t offset : {0xFFFFFFFFu, 0u, 1u}) {
      positions.push_back(point.hash + offset);
    }
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

// The index of the first point at or after each of the positions, which are in order.
std::vector<std::size_t> FirstPoints(const ReferenceRing& reference,
                                     std::span<const std::uint32_t> positions) {
  std::vector<std::size_t> found;
  std::size_t next = 0;
  for (const std::uint32_t position : positions) {
    while (next < reference.points.size() && reference.points[next].hash < position) ++next;
    found.push_back(next == reference.points.size() ? 0 : next);
  }
  return found;
}

// Every question that a ring answers, asked of one of each layout. The rings have one checksum.
void ExpectEveryLayoutIs(const ReferenceRing& reference,
                         const std::shared_ptr<const NodeSet>& nodes, RingVersion version,
                         std::uint32_t points_per_weight, const RingBuildOptions& options,
                         const NodeMask& pool) {
  const std::vector<std::uint32_t> positions = Boundaries(reference);
  const std::vector<std::size_t> first = FirstPoints(reference, positions);
  // What the walk from each point on meets first in the pool.
  std::vector<NodeIndex> pool_owner(reference.points.size());
  for (std::size_t step = 2 * reference.points.size(), i = 0; pool.count() > 0 && step > 0;) {
    i = --step % reference.points.size();
    const NodeIndex node = reference.points[i].node;
    pool_owner[i] = pool.Contains(node) ? node : pool_owner[(i + 1) % reference.points.size()];
  }

  std::shared_ptr<const Ring> wide;
  for (const RingLayout layout : kRingLayouts) {
    const auto ring = Ring::Build(nodes, {version, points_per_weight, layout}, options).value();
    if (wide == nullptr) wide = ring;
    ASSERT_EQ(ring->checksum(), wide->checksum());
    ASSERT_EQ(ring->collision_count(), reference.Collisions());
    ASSERT_EQ(ring->point_count(), reference.points.size());
    for (std::size_t i = 0; i < ring->point_count(); ++i) {
      ASSERT_EQ(ring->point(i).hash, reference.points[i].hash) << i;
      ASSERT_EQ(ring->point(i).node, reference.points[i].node) << i;
    }
    std::vector<NodeIndex> owners(positions.size()), pool_owners(positions.size());
    ring->OwnersAt(positions, owners);
    if (pool.count() > 0) ring->OwnersAt(positions, pool, pool_owners);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      ASSERT_EQ(ring->FindPoint(positions[i]), first[i]) << positions[i];
      ASSERT_EQ(ring->OwnerAt(positions[i]), reference.points[first[i]].node) << positions[i];
      ASSERT_EQ(owners[i], reference.points[first[i]].node) << positions[i];
      if (pool.count() > 0) {
        ASSERT_EQ(pool_owners[i], pool_owner[first[i]]) << positions[i];
        ASSERT_EQ(ring->OwnerAt(positions[i], pool), pool_owners[i]) << positions[i];
        NodeIndex found[2];
        ASSERT_EQ(ring->FindNodes(positions[i], pool, found),
                  std::min<std::size_t>(2, pool.count()));
        ASSERT_EQ(found[0], pool_owners[i]);
      }
    }
    ASSERT_EQ(MeasureOwnership(*ring, pool).positions, MeasureOwnership(*wide, pool).positions);
    const NodeMask all = NodeMask::All(nodes->size());
    const Churn churn = MeasureChurn({*wide, all}, {*ring, all}, MatchNodes(*nodes, *nodes));
    ASSERT_EQ(churn.moved, 0u);
  }
}

void ExpectEveryLayoutIsTheReference(std::uint32_t seed, std::uint32_t hash_mask) {
  std::mt19937 random(seed);
  const auto pick = [&random](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  std::vector<TestNode> test_nodes;
  for (std::uint32_t i = 1, count = pick(1, pick(1, 40)); i <= count; ++i) {
    test_nodes.push_back({"10.0." + std::to_string(pick(0, 255)) + "." + std::to_string(i) + ":443",
                          pick(1, pick(1, 9))});
  }
  const auto nodes = Nodes(test_nodes);
  NodeMask pool(nodes->size());
  for (NodeIndex node = 0; node < nodes->size(); ++node) {
    if (pick(0, 2) == 0) pool.Insert(node);
  }
  const RingVersion version = pick(0, 1) ? RingVersion::kV1 : RingVersion::kV2;
  const std::uint32_t points = pick(1, pick(1, 30));
  ExpectEveryLayoutIs(ReferenceRing(*nodes, version, points, hash_mask), nodes, version, points,
                      {.threads = pick(1, 3), .hash_mask_for_test = hash_mask}, pool);
}

TEST(LayoutPropertyTest, AtEveryBoundaryOfRandomRingsAllLayoutsAreTheReference) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    ExpectEveryLayoutIsTheReference(seed, 0xFFFFFFFF);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(LayoutPropertyTest, AlsoWhereTiesAreEverywhereAndAllPointsInFewBuckets) {
  for (std::uint32_t seed = 1; seed <= 700; ++seed) {
    // All on one hash; on few, at one end of the space; on few all over it; in one bucket, many
    // hashes.
    for (const std::uint32_t mask : {0x00000000u, 0x0000003Fu, 0xFC000000u, 0x000FFFFFu}) {
      ExpectEveryLayoutIsTheReference(seed, mask);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " mask " << mask;
    }
  }
}

// Large enough for full groups beside empty ones, buckets of thousands, several threads and rounds.
TEST(LayoutPropertyTest, LargeSkewedRingsAreTheReference) {
  std::vector<TestNode> test_nodes;
  for (std::uint32_t i = 1; i <= 37; ++i) {
    test_nodes.push_back({"10.9.8." + std::to_string(i) + ":80", 1 + (i * 7) % 50});
  }
  const auto nodes = Nodes(test_nodes);
  NodeMask pool(nodes->size());
  for (const NodeIndex node : {3u, 17u, 30u}) pool.Insert(node);
  RingVersion version = RingVersion::kV1;
  for (const std::uint32_t mask :
       {0xFFFFFFFFu, 0x0000FFFFu, 0xFFFF0000u, 0x00000000u, 0x800003FFu, 0x0FFFFFFFu}) {
    ExpectEveryLayoutIs(ReferenceRing(*nodes, version, 200, mask), nodes, version, 200,
                        {.threads = 3, .hash_mask_for_test = mask}, pool);
    if (HasFatalFailure()) FAIL() << "mask " << mask;
    version = version == RingVersion::kV1 ? RingVersion::kV2 : RingVersion::kV1;
  }
}

TEST(LayoutPropertyTest, OneNodeHasAllPointsAndNoBitOfThemIsItsOwn) {
  const auto nodes = Nodes({{"10.0.0.1:443", 100}});
  for (const std::uint32_t points : {1u, 2u, 7u, 8u, 9u, 500u}) {
    ExpectEveryLayoutIs(ReferenceRing(*nodes, RingVersion::kV2, points), nodes, RingVersion::kV2,
                        points, {.threads = 2}, NodeMask::All(1));
  }
}

// All points of `a` are those of `b`, and so is what is found from each.
void ExpectSamePoints(const Ring& a, const Ring& b) {
  ASSERT_EQ(a.checksum(), b.checksum());
  ASSERT_EQ(a.collision_count(), b.collision_count());
  ASSERT_EQ(a.point_count(), b.point_count());
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < a.point_count(); ++i) {
    ASSERT_EQ(a.point(i).hash, b.point(i).hash) << i;
    ASSERT_EQ(a.point(i).node, b.point(i).node) << i;
    positions.push_back(a.point(i).hash + static_cast<std::uint32_t>(i % 3) - 1);
  }
  std::vector<NodeIndex> of_a(positions.size()), of_b(positions.size());
  a.OwnersAt(positions, of_a);
  b.OwnersAt(positions, of_b);
  ASSERT_EQ(of_a, of_b);
}

TEST(LayoutPropertyTest, ADenseRingBuiltInRoundsByAnyThreadsIsTheWideOne) {
  const auto nodes = Nodes(SequentialNodes("10.0.0.", 200, 30));
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    const auto wide = Ring::Build(nodes, {version, 160, RingLayout::kWide}).value();
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
      ExpectSamePoints(
          *wide,
          *Ring::Build(nodes, {version, 160, RingLayout::kDense}, {.threads = threads}).value());
    }
  }
}

// 16 bits of a node and no range bits to spare: a point to be sorted takes more than 32 bits.
TEST(LayoutPropertyTest, TheLargestSetOfNodesIsTheSameInEveryLayout) {
  std::vector<TestNode> fleet;
  for (int i = 0; i < 65536; ++i) {
    fleet.push_back({"10.1." + std::to_string(i >> 8) + "." + std::to_string(i & 255) + ":443"});
  }
  const auto nodes = Nodes(fleet);
  for (const std::uint32_t points : {1u, 9u}) {
    ExpectSamePoints(
        *Ring::Build(nodes, {RingVersion::kV1, points, RingLayout::kWide}).value(),
        *Ring::Build(nodes, {RingVersion::kV1, points, RingLayout::kDense}, {.threads = 2})
             .value());
  }
}

TEST(LayoutTest, ADenseRingTakesUnderThreeBytesAPoint) {
  const auto nodes = Nodes(SequentialNodes("10.0.0.", 200, 625));
  const auto size = Ring::Measure(*nodes, {RingVersion::kV1, 160, RingLayout::kDense}).value();
  EXPECT_LT(static_cast<double>(size.bytes) / static_cast<double>(size.points), 2.5);
}

}  // namespace
}  // namespace ringshift
