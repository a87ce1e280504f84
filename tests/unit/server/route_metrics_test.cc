#include "server/route_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::SmallDataCenter;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pair;

class RouteMetricsTest : public ::testing::Test {
 protected:
  // Serves the small data center with the pools `default` and these, of all nodes.
  void Serve(const std::string& name, const std::vector<std::string>& pools, bool has_v1 = true) {
    DataCenterSpec spec = SmallDataCenter(name, has_v1);
    spec.pools.clear();
    pools_[name] = {std::string(kDefaultPool)};
    for (const std::string& pool : pools) {
      spec.pools.push_back({pool, {"special"}});
      pools_[name].push_back(pool);
    }
    metrics_.Serve(*Built(spec));
  }

  // ringshift_routes_total by "DATA CENTER/POOL/RING VERSION".
  std::map<std::string, double> Routes() const {
    MetricFamilies families;
    metrics_.Collect(families);
    std::map<std::string, double> routes;
    for (const prometheus::ClientMetric& metric : families[0].metric) {
      routes[metric.label[0].value + "/" + metric.label[1].value + "/" + metric.label[2].value] =
          metric.counter.value;
    }
    return routes;
  }

  // ringshift_route_errors_total by "DATA CENTER/CODE".
  std::map<std::string, double> Errors() const {
    MetricFamilies families;
    metrics_.Collect(families);
    std::map<std::string, double> errors;
    for (const prometheus::ClientMetric& metric : families[1].metric) {
      errors[metric.label[0].value + "/" + metric.label[1].value] = metric.counter.value;
    }
    return errors;
  }

  // A key of the pool, as a thread that knows the pools of today counts it.
  void CountRoute(const std::string& name, const std::string& pool, RingVersion version) {
    reader_->Use(name, [&](const DataCenterRouteMetrics* counters) {
      ASSERT_NE(counters, nullptr);
      const std::vector<std::string>& pools = pools_.at(name);
      const auto index = std::find(pools.begin(), pools.end(), pool) - pools.begin();
      counters->CountRoutes(static_cast<std::size_t>(index), pool, version, 1);
    });
  }

  RouteMetrics metrics_;
  std::unique_ptr<RouteMetrics::Reader> reader_ = metrics_.NewReader();
  std::map<std::string, std::vector<std::string>> pools_;  // that Serve was told
};

TEST_F(RouteMetricsTest, TheCountsOfWhatStaysGoOn) {
  Serve("ams", {"a", "b"});
  CountRoute("ams", "a", RingVersion::kV1);
  CountRoute("ams", "b", RingVersion::kV2);
  CountRoute("ams", "default", RingVersion::kV1);
  reader_->Find("ams")->CountErrors(absl::StatusCode::kUnavailable, 1);
  Serve("ams", {"c", "b"});
  EXPECT_THAT(Routes(), ElementsAre(Pair("ams/b/v1", 0), Pair("ams/b/v2", 1), Pair("ams/c/v1", 0),
                                    Pair("ams/c/v2", 0), Pair("ams/default/v1", 1),
                                    Pair("ams/default/v2", 0)));
  EXPECT_THAT(Errors(), Contains(Pair("ams/UNAVAILABLE", 1)));
  CountRoute("ams", "b", RingVersion::kV2);
  CountRoute("ams", "c", RingVersion::kV2);
  EXPECT_THAT(Routes(), Contains(Pair("ams/b/v2", 2)));
  EXPECT_THAT(Routes(), Contains(Pair("ams/c/v2", 1)));
  EXPECT_THAT(Routes(), Contains(Pair("ams/default/v1", 1)));
}

TEST_F(RouteMetricsTest, WithoutV1ThereAreNoSeriesOfV1) {
  Serve("ams", {});
  Serve("ams", {}, /*has_v1=*/false);
  EXPECT_THAT(Routes(), ElementsAre(Pair("ams/default/v2", 0)));
}

TEST_F(RouteMetricsTest, ADataCenterThatIsDroppedHasNoSeriesAnyMore) {
  Serve("ams", {});
  Serve("fra", {});
  metrics_.Drop("ams");
  metrics_.Drop("nowhere");
  EXPECT_THAT(Routes(), ElementsAre(Pair("fra/default/v1", 0), Pair("fra/default/v2", 0)));
  EXPECT_THAT(Errors(), Not(Contains(Pair("ams/NOT_FOUND", 0))));
  EXPECT_EQ(reader_->Find("ams"), nullptr);
}

// A call goes on with the counters that it took, and with the table that it took.
TEST_F(RouteMetricsTest, ACallThatIsOlderThanAReloadIsStillCounted) {
  Serve("ams", {"a", "b"});
  const std::shared_ptr<const DataCenterRouteMetrics> before = reader_->Find("ams");
  Serve("ams", {"b"});
  before->CountRoutes(1, "a", RingVersion::kV1, 1);
  before->CountRoutes(2, "b", RingVersion::kV1, 1);
  before->CountErrors(absl::StatusCode::kUnavailable, 1);
  const std::shared_ptr<const DataCenterRouteMetrics> after = reader_->Find("ams");
  after->CountRoutes(1, "a", RingVersion::kV1, 1);  // gone, and another one in its place
  after->CountRoutes(2, "b", RingVersion::kV1, 1);  // elsewhere now
  EXPECT_THAT(Routes(), ElementsAre(Pair("ams/b/v1", 2), Pair("ams/b/v2", 0),
                                    Pair("ams/default/v1", 0), Pair("ams/default/v2", 0)));
  EXPECT_THAT(Errors(), Contains(Pair("ams/UNAVAILABLE", 1)));
  metrics_.Drop("ams");
  before->CountRoutes(2, "b", RingVersion::kV1, 1);
}

TEST_F(RouteMetricsTest, ABatchCountsItsKeys) {
  Serve("ams", {"a"});
  reader_->Find("ams")->CountRoutes(1, "a", RingVersion::kV1, 700);
  reader_->Find("ams")->CountRoutes(1, "a", RingVersion::kV2, 300);
  reader_->Find("ams")->CountErrors(absl::StatusCode::kInvalidArgument, 1000);
  EXPECT_THAT(Routes(), Contains(Pair("ams/a/v1", 700)));
  EXPECT_THAT(Routes(), Contains(Pair("ams/a/v2", 300)));
  EXPECT_THAT(Errors(), Contains(Pair("ams/INVALID_ARGUMENT", 1000)));
}

TEST_F(RouteMetricsTest, KeysAreCountedByRingAndTheirErrorsWhateverTheCode) {
  Serve("ams", {"a"});
  reader_->Find("ams")->CountRoutes(0, "default", RingVersion::kV1, 5);
  reader_->Find("ams")->CountRoutes(1, "a", RingVersion::kV1, 700);
  reader_->Find("ams")->CountRoutes(1, "a", RingVersion::kV2, 300);
  reader_->Find("ams")->CountErrors(absl::StatusCode::kInvalidArgument, 10);
  reader_->Find("ams")->CountErrors(absl::StatusCode::kUnavailable, 2);
  metrics_.other().CountErrors(absl::StatusCode::kNotFound, 100);
  const std::map<std::string, KeyCounts> keys = metrics_.CountedKeys();
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys.at("ams").v1, 705u);
  EXPECT_EQ(keys.at("ams").v2, 300u);
  EXPECT_EQ(keys.at("ams").errors, 12u);
}

TEST_F(RouteMetricsTest, WhatWasNotReadBelongsToNoDataCenter) {
  Serve("ams", {});
  EXPECT_THAT(Errors(), Contains(Pair("other/RESOURCE_EXHAUSTED", 0)));
  EXPECT_THAT(Errors(), Contains(Pair("other/CANCELLED", 0)));
  EXPECT_THAT(Errors(), Not(Contains(Pair("ams/RESOURCE_EXHAUSTED", 0))));
  metrics_.other().CountErrors(absl::StatusCode::kResourceExhausted, 1);
  EXPECT_THAT(Errors(), Contains(Pair("other/RESOURCE_EXHAUSTED", 1)));
}

TEST_F(RouteMetricsTest, NoCountIsLostWhileDataCentersAreServedAnew) {
  constexpr int kCounts = 20'000;
  Serve("ams", {"a"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      const auto reader = metrics_.NewReader();
      for (int i = 0; i < kCounts; ++i) {
        reader->Use("ams", [](const DataCenterRouteMetrics* counters) {
          counters->CountRoutes(1, "a", RingVersion::kV2, 1);
        });
      }
    });
  }
  double last = 0;
  for (int i = 0; i < 100; ++i) {
    Serve("ams", {"a", "b" + std::to_string(i)});
    const double now = Routes().at("ams/a/v2");
    EXPECT_GE(now, last);
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Routes().at("ams/a/v2"), 4 * kCounts);
}

TEST_F(RouteMetricsTest, ReloadsLeaveNoSeriesBehind) {
  for (int i = 0; i < 20; ++i) Serve("ams", {"pool-" + std::to_string(i)});
  EXPECT_EQ(Routes().size(), 4);
}

}  // namespace
}  // namespace ringshift
