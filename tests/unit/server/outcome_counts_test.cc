#include "server/outcome_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::SmallRouterTest;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Optional;
using ::testing::Pair;

class OutcomeCountsTest : public SmallRouterTest {
 protected:
  // The series: their labels' values with '/' between them.
  std::map<std::string, double> Series() const {
    MetricFamilies families;
    counts_.Collect(families);
    std::map<std::string, double> series;
    for (const prometheus::MetricFamily& family : families) {
      EXPECT_EQ(family.name, "ringshift_reported_outcomes_total");
      for (const prometheus::ClientMetric& metric : family.metric) {
        std::string name;
        for (const auto& label : metric.label) name += (name.empty() ? "" : "/") + label.value;
        EXPECT_TRUE(series.emplace(name, metric.counter.value).second) << name;
      }
    }
    return series;
  }

  std::chrono::steady_clock::time_point now_{std::chrono::hours(5)};
  OutcomeCounts counts_{directory_, [this] { return now_; }};
};

TEST_F(OutcomeCountsTest, EverySeriesIsThereFromTheStart) {
  Adopt();
  const std::map<std::string, double> series = Series();
  EXPECT_EQ(series.size(), 10u + 5u + 10u);  // ams, new without v1, other
  EXPECT_THAT(series,
              AllOf(Contains(Pair("ams/v1/hit", 0)), Contains(Pair("ams/v2/error", 0)),
                    Contains(Pair("ams/v2/previous_owner_hit", 0)),
                    Contains(Pair("new/v2/origin", 0)), Contains(Pair("other/v1/connect_error", 0)),
                    Not(Contains(Pair("new/v1/hit", ::testing::_)))));
}

TEST_F(OutcomeCountsTest, OutcomesAreCountedWhereTheyBelong) {
  Adopt();
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 3);
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 4);
  counts_.Add("ams", RingVersion::kV2, Outcome::kConnectError, 5);
  counts_.Add("ams", RingVersion::kV2, Outcome::kPreviousOwnerHit, 6);
  counts_.Add("new", RingVersion::kV2, Outcome::kOrigin, 7);
  EXPECT_THAT(Series(), AllOf(Contains(Pair("ams/v1/hit", 7)), Contains(Pair("ams/v2/hit", 0)),
                              Contains(Pair("ams/v2/connect_error", 5)),
                              Contains(Pair("ams/v2/previous_owner_hit", 6)),
                              Contains(Pair("new/v2/origin", 7))));
}

TEST_F(OutcomeCountsTest, WhatIsNotServedCountsAsOther) {
  Adopt();
  for (int i = 0; i < 1000; ++i) {
    counts_.Add("x" + std::to_string(i), RingVersion::kV2, Outcome::kError, 2);
  }
  counts_.Add("other", RingVersion::kV2, Outcome::kError, 1);
  EXPECT_EQ(Series().size(), 25u);
  EXPECT_THAT(Series(), Contains(Pair("other/v2/error", 2001)));
}

TEST_F(OutcomeCountsTest, TheSeriesOfADataCenterGoWithIt) {
  Adopt();
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 3);
  controller_.Drop("ams");
  EXPECT_EQ(Series().size(), 15u);
  EXPECT_THAT(Series(), Not(Contains(Pair("ams/v1/hit", ::testing::_))));
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 2);
  EXPECT_THAT(Series(), Contains(Pair("other/v1/hit", 2)));
}

TEST_F(OutcomeCountsTest, TotalsAreOfThoseOfWhomSomethingWasReported) {
  Adopt();
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 3);
  counts_.Add("ams", RingVersion::kV2, Outcome::kHit, 4);
  counts_.Add("ams", RingVersion::kV2, Outcome::kError, 5);
  const auto totals = counts_.Totals();
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_THAT(totals.at("ams").v1, ElementsAre(3, 0, 0, 0, 0));
  EXPECT_THAT(totals.at("ams").v2, ElementsAre(4, 0, 0, 0, 5));
}

TEST_F(OutcomeCountsTest, TheHitRatioIsOfThoseThatACacheOrTheOriginAnswered) {
  Adopt();
  EXPECT_EQ(counts_.HitRatio("ams"), std::nullopt);
  counts_.Add("ams", RingVersion::kV1, Outcome::kError, 100);
  counts_.Add("ams", RingVersion::kV2, Outcome::kConnectError, 100);
  EXPECT_EQ(counts_.HitRatio("ams"), std::nullopt);
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 70);
  counts_.Add("ams", RingVersion::kV2, Outcome::kHit, 20);
  counts_.Add("ams", RingVersion::kV2, Outcome::kPreviousOwnerHit, 4);
  counts_.Add("ams", RingVersion::kV1, Outcome::kOrigin, 6);
  EXPECT_THAT(counts_.HitRatio("ams"), Optional(DoubleEq(0.94)));
  EXPECT_EQ(counts_.HitRatio("new"), std::nullopt);
}

TEST_F(OutcomeCountsTest, TheHitRatioForgetsWhatIsOlderThanFiveMinutes) {
  Adopt();
  counts_.Add("ams", RingVersion::kV1, Outcome::kOrigin, 50);
  now_ += std::chrono::seconds(100);
  counts_.Add("ams", RingVersion::kV1, Outcome::kHit, 50);
  now_ += std::chrono::seconds(199);
  EXPECT_THAT(counts_.HitRatio("ams"), Optional(DoubleEq(0.5)));
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(counts_.HitRatio("ams"), Optional(DoubleEq(1)));
  now_ += std::chrono::seconds(100);
  EXPECT_EQ(counts_.HitRatio("ams"), std::nullopt);
  // The place in the ring of slots of what is long gone.
  counts_.Add("ams", RingVersion::kV1, Outcome::kOrigin, 1);
  EXPECT_THAT(counts_.HitRatio("ams"), Optional(DoubleEq(0)));
}

}  // namespace
}  // namespace ringshift
