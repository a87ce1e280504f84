#include "server/rate_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "tests/unit/server/small_router.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::SmallRouterTest;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Optional;

class RateWindowTest : public SmallRouterTest {
 protected:
  void SetUp() override {
    Adopt();  // what is served has outcomes of its own
    metrics_.Serve(*Built(SmallDataCenter("ams")));
  }

  void Count(std::uint64_t v1, std::uint64_t v2, std::size_t pool = 0) {
    reader_->Use("ams", [&](const DataCenterRouteMetrics* counters) {
      ASSERT_NE(counters, nullptr);
      const char* const name = pool == 0 ? "default" : "special";
      counters->CountRoutes(pool, name, RingVersion::kV1, v1);
      counters->CountRoutes(pool, name, RingVersion::kV2, v2);
    });
  }
  void CountErrors(std::uint64_t keys) {
    reader_->Use("ams", [&](const DataCenterRouteMetrics* counters) {
      ASSERT_NE(counters, nullptr);
      counters->CountErrors(absl::StatusCode::kUnavailable, keys);
    });
  }
  void Pass(std::chrono::milliseconds time) {
    time_ += time;
    window_.Sample();
  }
  void PassSeconds(int seconds, std::uint64_t v1, std::uint64_t v2) {
    for (int i = 0; i < seconds; ++i) {
      Count(v1, v2);
      Pass(std::chrono::seconds(1));
    }
  }

  std::chrono::steady_clock::time_point time_;
  RouteMetrics metrics_;
  std::unique_ptr<RouteMetrics::Reader> reader_ = metrics_.NewReader();
  OutcomeCounts outcomes_{directory_, [this] { return time_; }};
  RateWindow window_{metrics_, outcomes_, [this] { return time_; }};
};

TEST_F(RateWindowTest, IsZeroBeforeTheFirstSample) {
  Count(100, 100);
  EXPECT_EQ(window_.Of("ams").keys_per_second, 0);
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(window_.Of("ams").keys_per_second, 0);
  EXPECT_EQ(window_.Of("ams").v2_ratio, std::nullopt);
}

TEST_F(RateWindowTest, WhatCameSinceTheLastSampleCounts) {
  window_.Sample();
  Count(30, 10);
  CountErrors(20);
  outcomes_.Add("ams", RingVersion::kV2, Outcome::kHit, 50);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 40);  // over a second, though none passed
  EXPECT_THAT(window_.Of("ams").v2_ratio, Optional(DoubleEq(0.25)));
  EXPECT_DOUBLE_EQ(window_.Of("ams").errors_per_second, 20);
  EXPECT_THAT(window_.Of("ams").v2_outcomes, Optional(ElementsAre(50, 0, 0, 0, 0)));
  time_ += std::chrono::milliseconds(2500);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 16);
  window_.Sample();
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 16);
}

TEST_F(RateWindowTest, CountsTheKeysOfAllPoolsOverTheTimeThatPassed) {
  Pass(std::chrono::seconds(1));
  Count(90, 30);
  Count(20, 10, 1);
  Pass(std::chrono::milliseconds(1500));
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 100);
  EXPECT_THAT(window_.Of("ams").v2_ratio, Optional(DoubleEq(40.0 / 150)));
}

TEST_F(RateWindowTest, ForgetsWhatWasMoreThanAMinuteAgo) {
  Pass(std::chrono::seconds(1));
  PassSeconds(60, 10, 0);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 10);
  EXPECT_THAT(window_.Of("ams").v2_ratio, Optional(0));
  PassSeconds(30, 0, 30);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 20);
  EXPECT_THAT(window_.Of("ams").v2_ratio, Optional(DoubleEq(0.75)));
  PassSeconds(30, 0, 30);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 30);
  EXPECT_THAT(window_.Of("ams").v2_ratio, Optional(1));
  PassSeconds(60, 0, 0);
  EXPECT_EQ(window_.Of("ams").keys_per_second, 0);
  EXPECT_EQ(window_.Of("ams").v2_ratio, std::nullopt);
}

TEST_F(RateWindowTest, ErrorsAreNoKeysAndAreForgottenAfterAMinuteToo) {
  Pass(std::chrono::seconds(1));
  CountErrors(30);
  Pass(std::chrono::seconds(20));
  EXPECT_DOUBLE_EQ(window_.Of("ams").errors_per_second, 1.5);
  EXPECT_EQ(window_.Of("ams").keys_per_second, 0);
  EXPECT_EQ(window_.Of("ams").v2_ratio, std::nullopt);
  PassSeconds(40, 1, 1);
  EXPECT_DOUBLE_EQ(window_.Of("ams").errors_per_second, 0.5);
  PassSeconds(20, 1, 1);
  EXPECT_EQ(window_.Of("ams").errors_per_second, 0);
}

TEST_F(RateWindowTest, OutcomesAreThoseOfTheRingOverTheLastMinute) {
  Pass(std::chrono::seconds(1));
  outcomes_.Add("ams", RingVersion::kV1, Outcome::kHit, 100);
  outcomes_.Add("ams", RingVersion::kV1, Outcome::kPreviousOwnerHit, 20);
  outcomes_.Add("ams", RingVersion::kV1, Outcome::kError, 10);
  Pass(std::chrono::seconds(10));
  EXPECT_THAT(window_.Of("ams").v1_outcomes, Optional(ElementsAre(10, 2, 0, 0, 1)));
  EXPECT_EQ(window_.Of("ams").v2_outcomes, std::nullopt);
  outcomes_.Add("ams", RingVersion::kV2, Outcome::kOrigin, 40);
  outcomes_.Add("ams", RingVersion::kV2, Outcome::kConnectError, 20);
  Pass(std::chrono::seconds(10));
  EXPECT_THAT(window_.Of("ams").v1_outcomes, Optional(ElementsAre(5, 1, 0, 0, 0.5)));
  EXPECT_THAT(window_.Of("ams").v2_outcomes, Optional(ElementsAre(0, 0, 2, 1, 0)));
  PassSeconds(51, 0, 0);
  EXPECT_EQ(window_.Of("ams").v1_outcomes, std::nullopt);
  EXPECT_TRUE(window_.Of("ams").v2_outcomes);
  PassSeconds(9, 0, 0);
  EXPECT_EQ(window_.Of("ams").v2_outcomes, std::nullopt);
}

TEST_F(RateWindowTest, OutcomesOfWhatIsNotServedAreNobodys) {
  Pass(std::chrono::seconds(1));
  outcomes_.Add("nope", RingVersion::kV1, Outcome::kHit, 100);
  Pass(std::chrono::seconds(1));
  for (const char* name : {"ams", "new", "nope", "other"}) {
    EXPECT_EQ(window_.Of(name).v1_outcomes, std::nullopt) << name;
  }
}

TEST_F(RateWindowTest, APoolThatIsNoMoreTakesNothingAway) {
  Pass(std::chrono::seconds(1));
  Count(1000, 1000, 1);
  Count(10, 10);
  Pass(std::chrono::seconds(1));
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.pools.clear();
  metrics_.Serve(*Built(spec));
  Pass(std::chrono::seconds(1));
  PassSeconds(1, 30, 30);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, (2020 + 60) / 3.0);
}

TEST_F(RateWindowTest, ADataCenterThatIsDroppedIsForgotten) {
  PassSeconds(5, 10, 10);
  EXPECT_GT(window_.Of("ams").keys_per_second, 0);
  metrics_.Drop("ams");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(window_.Of("ams").keys_per_second, 0);
  metrics_.Serve(*Built(SmallDataCenter("ams")));
  PassSeconds(1, 10, 10);
  EXPECT_EQ(window_.Of("ams").keys_per_second, 0);
  PassSeconds(1, 10, 10);
  EXPECT_DOUBLE_EQ(window_.Of("ams").keys_per_second, 20);
}

}  // namespace
}  // namespace ringshift
