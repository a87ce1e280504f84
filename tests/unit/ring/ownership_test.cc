#include "ring/ownership.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::BuildRing;
using ::ringshift::testing::Parameters;
using ::ringshift::testing::SequentialNodes;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

std::uint64_t Sum(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

TEST(OwnershipTest, TheOnlyNodeOwnsEveryPosition) {
  const auto ring = BuildRing({{"10.0.0.1:443", 7}}, Parameters(RingVersion::kV2, 16));
  const Ownership ownership = MeasureOwnership(*ring);
  EXPECT_EQ(ownership.positions, std::vector<std::uint64_t>{kPositions});
  EXPECT_EQ(ownership.cv, 0);
  EXPECT_EQ(ownership.max_ratio, 1);
  EXPECT_EQ(ownership.min_ratio, 1);
}

// Hashes cut to their low 12 bits lie in [0, 4096), so every position with another owner can be
// asked.
TEST(OwnershipTest, IsWhatAskingEveryPositionCounts) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 6, 2), Parameters(RingVersion::kV1, 40),
                              {.hash_mask_for_test = 0xFFF});
  NodeMask pool(6);
  for (const NodeIndex node : {1u, 2u, 5u}) pool.Insert(node);
  for (const NodeMask& mask : {NodeMask::All(6), pool}) {
    std::vector<std::uint64_t> counted(6);
    NodeIndex owner[1];
    for (std::uint32_t position = 0; position < 4096; ++position) {
      ring->FindNodes(position, mask, owner);
      ++counted[owner[0]];
    }
    ring->FindNodes(4096, mask, owner);
    counted[owner[0]] += kPositions - 4096;
    EXPECT_EQ(MeasureOwnership(*ring, mask).positions, counted);
  }
}

TEST(OwnershipTest, SharesSumToTheWholeForPoolsToo) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 20), Parameters(RingVersion::kV2, 16));
  EXPECT_EQ(Sum(MeasureOwnership(*ring).positions), kPositions);
  NodeMask pool(20);
  pool.Insert(3);
  pool.Insert(17);
  const Ownership ownership = MeasureOwnership(*ring, pool);
  EXPECT_EQ(Sum(ownership.positions), kPositions);
  EXPECT_EQ(ownership.positions[3] + ownership.positions[17], kPositions);
}

TEST(OwnershipTest, OfNoNodesIsNothing) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 3), Parameters(RingVersion::kV2, 16));
  const Ownership ownership = MeasureOwnership(*ring, NodeMask(3));
  EXPECT_EQ(Sum(ownership.positions), 0u);
  EXPECT_EQ(ownership.cv, 0);
  EXPECT_EQ(ownership.min_ratio, 0);
}

TEST(OwnershipTest, AnInsertedNodeTakesItsShareAndMovesNothingElse) {
  auto fleet = SequentialNodes("10.0.0.", 10, 10);
  const auto before = BuildRing(fleet, Parameters(RingVersion::kV1, 160));
  fleet.insert(fleet.begin(), {"9.9.9.9:443", 10});
  const auto after = BuildRing(fleet, Parameters(RingVersion::kV1, 160));
  const NodeIndex added = *after->nodes().Find("9.9.9.9:443");
  int moved = 0;
  constexpr int kKeys = 50'000;
  for (int i = 0; i < kKeys; ++i) {
    const std::uint32_t position = Ring::Position("/key/" + std::to_string(i));
    const NodeIndex owner = after->OwnerAt(position);
    if (owner == added) {
      ++moved;
    } else {
      ASSERT_EQ(after->nodes()[owner].name, before->nodes()[before->OwnerAt(position)].name);
    }
  }
  const double share = static_cast<double>(MeasureOwnership(*after).positions[added]) /
                       static_cast<double>(kPositions);
  EXPECT_NEAR(share, 1.0 / 11, 0.02);
  EXPECT_NEAR(static_cast<double>(moved) / kKeys, share, 5 * std::sqrt(share / kKeys));
}

TEST(OwnershipTest, EveryWeightOwnsItsShareWithinFiveSigma) {
  std::vector<testing::TestNode> fleet;
  for (std::uint32_t weight = 1; weight <= 1000; ++weight) {
    fleet.push_back(
        {"10.0." + std::to_string(weight >> 8) + "." + std::to_string(weight & 255) + ":443",
         weight});
  }
  const auto ring = BuildRing(fleet, Parameters(RingVersion::kV1, 160));
  const Ownership ownership = MeasureOwnership(*ring);
  for (NodeIndex node = 0; node < ring->nodes().size(); ++node) {
    const double points = 160.0 * ring->nodes()[node].weight;
    const double ideal = static_cast<double>(kPositions) * ring->nodes()[node].weight /
                         static_cast<double>(ring->nodes().total_weight());
    const double load = static_cast<double>(ownership.positions[node]) / ideal;
    EXPECT_NEAR(load, 1, 5 / std::sqrt(points)) << ring->nodes()[node].name;
    EXPECT_GT(load, 0);
  }
}

TEST(OwnershipTest, TheLoadOfAStuckNodeIsItsTrueOne) {
  const auto ring = BuildRing({{"10.104.166.234:1145", 100}, {"10.0.0.1:443", 100}},
                              Parameters(RingVersion::kV1, 160));
  const Ownership ownership = MeasureOwnership(*ring);
  EXPECT_LT(ownership.min_ratio, 0.01);
  EXPECT_GT(ownership.max_ratio, 1.99);
}

// Many rings of many nodes: the mean of the measured values is near the prediction.
TEST(OwnershipTest, ThePredictionMeetsRealRings) {
  for (const std::uint32_t points : {16u, 40u, 160u}) {
    const RingParameters parameters = Parameters(RingVersion::kV2, points);
    double cv = 0, max_ratio = 0;
    constexpr int kRings = 40;
    for (int i = 0; i < kRings; ++i) {
      const auto ring =
          BuildRing(SequentialNodes("10." + std::to_string(i) + ".7.", 100), parameters);
      const Ownership ownership = MeasureOwnership(*ring);
      cv += ownership.cv / kRings;
      max_ratio += ownership.max_ratio / kRings;
    }
    const BalancePrediction prediction =
        PredictBalance(*testing::Nodes(SequentialNodes("10.0.7.", 100)), parameters);
    EXPECT_NEAR(cv / prediction.cv, 1, 0.1) << points;
    EXPECT_NEAR(max_ratio / prediction.max_ratio, 1, 0.1) << points;
  }
}

// One light node among many heavy ones hardly matters, and does not stand for them all.
TEST(OwnershipTest, ThePredictionMeetsARingOfUnequalWeights) {
  auto fleet = SequentialNodes("10.0.0.", 200, 100);
  for (int i = 1; i <= 20; ++i) fleet.push_back({"10.0.1." + std::to_string(i) + ":443", 1});
  const RingParameters parameters = Parameters(RingVersion::kV2, 16);
  const Ownership ownership = MeasureOwnership(*BuildRing(fleet, parameters));
  const BalancePrediction prediction = PredictBalance(*testing::Nodes(fleet), parameters);
  EXPECT_NEAR(prediction.cv, 0.080, 0.001);  // sqrt((200 / 1600 + 20 / 16) / 220)
  EXPECT_NEAR(ownership.cv / prediction.cv, 1, 0.3);
  EXPECT_NEAR(ownership.max_ratio / prediction.max_ratio, 1, 0.2);
}

TEST(OwnershipTest, SixteenPointsPredictACvOfAQuarterAndOneNodeNone) {
  const RingParameters parameters = Parameters(RingVersion::kV2, 16);
  EXPECT_NEAR(PredictBalance(*testing::Nodes(SequentialNodes("10.0.0.", 250)), parameters).cv, 0.25,
              0.001);
  const BalancePrediction one = PredictBalance(*testing::Nodes({{"10.0.0.1:443"}}), parameters);
  EXPECT_EQ(one.cv, 0);
  EXPECT_EQ(one.max_ratio, 1);
}

}  // namespace
}  // namespace ringshift
