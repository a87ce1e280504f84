#include "migration/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "migration/decision.h"

namespace ringshift {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Share Ppm(std::int32_t ppm) { return Share::FromPpm(ppm).value(); }

// Two rings of 40 nodes of weights 1 to 5; every fourth one is in a pool.
class ForecastTest : public ::testing::Test {
 protected:
  static constexpr NodeIndex kNodes = 40;

  ForecastTest() {
    std::vector<RingNode> nodes;
    for (NodeIndex i = 0; i < kNodes; ++i) {
      const std::string address = "10.0.0." + std::to_string(i) + ":443";
      nodes.push_back(
          {address, RingIdentity::Parse(address, IdentityStyle::kCanonical).value(), 1 + i % 5});
      if (i % 4 == 0) pool_.Insert(i);
    }
    const auto set = NodeSet::Create(std::move(nodes)).value();
    v1_ = Ring::Build(set, DefaultRingParameters(RingVersion::kV1)).value();
    v2_ = Ring::Build(set, DefaultRingParameters(RingVersion::kV2)).value();
  }

  std::vector<PoolOfRings> Pools() const {
    return {{v1_.get(), v2_.get(), &all_}, {v1_.get(), v2_.get(), &pool_}};
  }

  NodeIndex Owner(const RoutedKey& key, Share share) const {
    const Ring& ring = AnswersV2(key.bucket, share) ? *v2_ : *v1_;
    NodeIndex owner = 0;
    EXPECT_EQ(ring.FindNodes(key.position, key.pool == 0 ? all_ : pool_, {&owner, 1}), 1U);
    return owner;
  }

  std::vector<RoutedKey> RandomKeys(std::size_t count, std::uint32_t pools = 1) {
    std::vector<RoutedKey> keys(count);
    for (RoutedKey& key : keys) {
      key = {static_cast<std::uint32_t>(random_()),
             static_cast<std::uint32_t>(random_() % 1'000'000),
             static_cast<std::uint32_t>(random_() % pools)};
    }
    return keys;
  }

  std::mt19937_64 random_{1};
  const NodeMask all_ = NodeMask::All(kNodes);
  NodeMask pool_{kNodes};
  std::shared_ptr<const Ring> v1_;
  std::shared_ptr<const Ring> v2_;
};

TEST_F(ForecastTest, TheChurnOfAStepIsThatOfTheRingsTimesTheBucketsThatChange) {
  const double churn = MeasureRingChurn(*v1_, *v2_);
  EXPECT_GT(churn, 0.5);
  const std::vector<RoutedKey> keys = RandomKeys(400'000);
  for (const auto& [from, to] :
       {std::pair(0, 1'000'000), {100'000, 250'000}, {900'000, 20'000}, {500'000, 500'000}}) {
    const ShareStep step{Ppm(from), Ppm(to)};
    double moved = 0;
    for (const RoutedKey& key : keys) moved += Owner(key, step.from) != Owner(key, step.to);
    const double expected = churn * step.ring_change_ppm() / 1e6;
    const auto n = static_cast<double>(keys.size());
    EXPECT_NEAR(moved / n, expected, 4 * std::sqrt(expected / n)) << from << " to " << to;
  }
}

TEST_F(ForecastTest, NodesThatGainMostComeFirstAndTheirSharesAreThoseOfTheKeys) {
  const ShareStep step{Ppm(100'000), Ppm(700'000)};
  const auto shifts = LargestShifts(MeasureOwnership(*v1_), MeasureOwnership(*v2_), step, 5);
  ASSERT_THAT(shifts, SizeIs(10));
  std::vector<double> before(kNodes), after(kNodes);
  const std::vector<RoutedKey> keys = RandomKeys(400'000);
  const double part = 1.0 / static_cast<double>(keys.size());
  for (const RoutedKey& key : keys) {
    before[Owner(key, step.from)] += part;
    after[Owner(key, step.to)] += part;
  }
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const NodeShift& shift = shifts[i];
    const double change = shift.after - shift.before;
    EXPECT_NEAR(shift.before, before[shift.node], 0.002);
    EXPECT_NEAR(shift.after, after[shift.node], 0.002);
    EXPECT_EQ(change > 0, i < 5);
    if (i % 5 > 0) {
      EXPECT_GE(std::abs(shifts[i - 1].after - shifts[i - 1].before), std::abs(change));
    }
  }
}

TEST_F(ForecastTest, WhereNothingChangesNoNodeGainsOrLoses) {
  const ShareStep step{Ppm(300'000), Ppm(300'000)};
  EXPECT_THAT(LargestShifts(MeasureOwnership(*v1_), MeasureOwnership(*v2_), step, 10), IsEmpty());
  const auto churn = EstimateRoutedChurn(RandomKeys(100), Pools(), step, &pool_);
  ASSERT_TRUE(churn);
  EXPECT_EQ(churn->moved.high, 0);
  EXPECT_EQ(churn->moved_from_young.high, 0);
}

TEST_F(ForecastTest, AllNodesAreListedWhereThereAreFewerThanAskedFor) {
  const ShareStep step{Share::None(), Share::All()};
  EXPECT_THAT(LargestShifts(MeasureOwnership(*v1_), MeasureOwnership(*v2_), step, 1000),
              SizeIs(kNodes));
}

TEST_F(ForecastTest, TheEstimateIsThatOfTheSampleKeyByKeyAndPoolByPool) {
  // Some keys come often.
  std::vector<RoutedKey> keys = RandomKeys(5'000, 2);
  for (std::size_t i = 0; i < 100; ++i) keys.insert(keys.end(), 50, keys[i]);
  // Every third node is young.
  NodeMask settled(kNodes);
  for (NodeIndex node = 0; node < kNodes; ++node) {
    if (node % 3 != 0) settled.Insert(node);
  }
  for (const auto& [from, to] : {std::pair(0, 500'000), {800'000, 300'000}}) {
    const ShareStep step{Ppm(from), Ppm(to)};
    double moved = 0;
    double from_young = 0;
    for (const RoutedKey& key : keys) {
      const NodeIndex before = Owner(key, step.from);
      if (before == Owner(key, step.to)) continue;
      ++moved;
      from_young += !settled.Contains(before);
    }
    const auto churn = EstimateRoutedChurn(keys, Pools(), step, &settled);
    ASSERT_TRUE(churn);
    const auto n = static_cast<double>(keys.size());
    EXPECT_DOUBLE_EQ(churn->moved.value, moved / n);
    EXPECT_DOUBLE_EQ(churn->moved_from_young.value, from_young / n);
    EXPECT_LT(churn->moved.low, moved / n);
    EXPECT_GT(churn->moved.high, moved / n);
    // Without a young node, none is left unasked, for certain.
    EXPECT_EQ(EstimateRoutedChurn(keys, Pools(), step, nullptr)->moved_from_young.high, 0);
  }
}

TEST_F(ForecastTest, WithoutAKeyOfAPoolThatHasNodesThereIsNoEstimate) {
  const ShareStep step{Share::None(), Share::All()};
  EXPECT_FALSE(EstimateRoutedChurn({}, Pools(), step, nullptr));
  const NodeMask nobody(kNodes);
  const std::vector<PoolOfRings> pools = {{v1_.get(), v2_.get(), &nobody}};
  EXPECT_FALSE(EstimateRoutedChurn({{1, 1, 0}, {1, 1, 1}}, pools, step, nullptr));
}

}  // namespace
}  // namespace ringshift
