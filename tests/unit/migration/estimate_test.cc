#include "migration/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace ringshift {
namespace {

TEST(EstimateTest, WithoutAKeyNothingIsKnown) {
  const EstimatedRatio ratio = KeyedSample().Ratio();
  EXPECT_EQ(ratio.value, 0);
  EXPECT_EQ(ratio.low, 0);
  EXPECT_EQ(ratio.high, 1);
}

TEST(EstimateTest, OfKeysThatCameOnceTheIntervalIsWilsons) {
  KeyedSample sample;
  for (int i = 0; i < 100; ++i) sample.Add(1, i < 10);
  const EstimatedRatio ratio = sample.Ratio();
  EXPECT_DOUBLE_EQ(ratio.value, 0.1);
  EXPECT_NEAR(ratio.low, 0.0552291, 1e-6);
  EXPECT_NEAR(ratio.high, 0.1743657, 1e-6);
}

TEST(EstimateTest, AKeyThatCameOftenIsOneDraw) {
  KeyedSample each_once, each_often;
  for (int i = 0; i < 100; ++i) {
    each_once.Add(1, i < 10);
    each_often.Add(1000, i < 10);
  }
  EXPECT_DOUBLE_EQ(each_often.Ratio().low, each_once.Ratio().low);
  EXPECT_DOUBLE_EQ(each_often.Ratio().high, each_once.Ratio().high);

  // One key is half of the traffic: that is no more than four draws.
  KeyedSample skewed;
  skewed.Add(10'000, false);
  for (int i = 0; i < 10'000; ++i) skewed.Add(1, i % 10 == 0);
  EXPECT_DOUBLE_EQ(skewed.Ratio().value, 0.05);
  EXPECT_GT(skewed.Ratio().high, 0.5);
}

TEST(EstimateTest, WhatNoKeyHasIsNotExcluded) {
  KeyedSample none, all;
  for (int i = 0; i < 50; ++i) {
    none.Add(1, false);
    all.Add(1, true);
  }
  EXPECT_EQ(none.Ratio().value, 0);
  EXPECT_EQ(none.Ratio().low, 0);
  EXPECT_GT(none.Ratio().high, 0.05);
  EXPECT_EQ(all.Ratio().value, 1);
  EXPECT_LT(all.Ratio().low, 0.95);
  EXPECT_EQ(all.Ratio().high, 1);
}

// Traffic by Zipf's law: the key of rank r comes in proportion to r^-exponent.
class Traffic {
 public:
  static constexpr std::size_t kKeys = 10'000;

  explicit Traffic(double exponent) : cumulative_(kKeys) {
    double sum = 0;
    for (std::size_t i = 0; i < kKeys; ++i) {
      sum += std::pow(static_cast<double>(i + 1), -exponent);
      cumulative_[i] = sum;
    }
  }

  // How often each key comes in so many requests.
  std::vector<int> Requests(int count, std::mt19937_64& random) const {
    std::vector<int> times(kKeys);
    std::uniform_real_distribution<double> place(0, cumulative_.back());
    for (int i = 0; i < count; ++i) {
      const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), place(random));
      ++times[static_cast<std::size_t>(
          std::min<std::ptrdiff_t>(found - cumulative_.begin(), kKeys - 1))];
    }
    return times;
  }

  // The part of the requests of keys that have the property.
  double Truth(const std::vector<char>& has_property) const {
    double sum = 0;
    for (std::size_t i = 0; i < kKeys; ++i) {
      if (has_property[i]) sum += cumulative_[i] - (i == 0 ? 0 : cumulative_[i - 1]);
    }
    return sum / cumulative_.back();
  }

 private:
  std::vector<double> cumulative_;
};

// The keys that a step moves: by their hashes, whatever they are.
std::vector<char> Properties(double part, std::mt19937_64& random) {
  std::bernoulli_distribution has(part);
  std::vector<char> properties(Traffic::kKeys);
  for (char& property : properties) property = has(random);
  return properties;
}

// How many of 1,000 samples have an interval with the truth in it.
struct Coverage {
  int of_keys = 0;    // the truth of these keys, and requests that come with their popularities
  int of_hashes = 0;  // the part that moves whatever the keys: also of those that will be popular
};
Coverage Cover(double exponent, double part, int requests) {
  constexpr int kSamples = 1000;
  std::mt19937_64 random(42);
  const Traffic traffic(exponent);
  Coverage coverage;
  for (int i = 0; i < kSamples; ++i) {
    const std::vector<char> properties = Properties(part, random);
    const std::vector<int> times = traffic.Requests(requests, random);
    KeyedSample sample;
    for (std::size_t key = 0; key < times.size(); ++key) {
      if (times[key] > 0) sample.Add(times[key], properties[key]);
    }
    const EstimatedRatio ratio = sample.Ratio();
    const auto covers = [&ratio](double truth) {
      return ratio.low <= truth && truth <= ratio.high;
    };
    coverage.of_keys += covers(traffic.Truth(properties));
    coverage.of_hashes += covers(part);
  }
  return coverage;
}

TEST(EstimateTest, TheIntervalHasTheTruthInAtLeast93PercentOfSamplesOfSkewedTraffic) {
  for (const double exponent : {0.0, 0.8, 1.0}) {
    for (const double part : {0.01, 0.135}) {
      const Coverage coverage = Cover(exponent, part, 2000);
      SCOPED_TRACE(::testing::Message() << "Zipf " << exponent << ", moved " << part);
      EXPECT_GE(coverage.of_keys, 930);
      EXPECT_GE(coverage.of_hashes, 930);
    }
  }
}

}  // namespace
}  // namespace ringshift
