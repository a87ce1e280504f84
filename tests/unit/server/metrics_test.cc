#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MetricsTest : public testing::SmallRouterTest {
 protected:
  RouteMetrics routes_{{SmallDataCenter("ams"), SmallDataCenter("new", /*has_v1=*/false)}};
  RouterMetrics metrics_{directory_, routes_};
};

TEST_F(MetricsTest, EverySeriesIsThereBeforeAnythingHappened) {
  Adopt();
  metrics_.SetStartupDuration(std::chrono::milliseconds(1500));
  EXPECT_THAT(
      metrics_.ToText(),
      AllOf(HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"default\",ring_version="
                      "\"v1\"} 0\n"),
            HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"special\",ring_version="
                      "\"v2\"} 0\n"),
            HasSubstr("ringshift_route_errors_total{data_center=\"ams\",code=\"NOT_FOUND\"} 0\n"),
            HasSubstr("ringshift_route_errors_total{data_center=\"other\",code=\"NOT_FOUND\"} 0\n"),
            HasSubstr("ringshift_route_duration_seconds_count{method=\"Route\"} 0\n"),
            HasSubstr("ringshift_ring_points{data_center=\"ams\",ring_version=\"v1\"} 4800\n"),
            HasSubstr("ringshift_ring_points{data_center=\"ams\",ring_version=\"v2\"} 480\n"),
            HasSubstr("ringshift_migration_v2_ratio{data_center=\"ams\"} 0\n"),
            HasSubstr("ringshift_migration_revision{data_center=\"ams\"} 1\n"),
            HasSubstr("ringshift_topology_nodes{data_center=\"ams\"} 3\n"),
            HasSubstr("ringshift_startup_duration_seconds 1.5\n"),
            HasSubstr("ringshift_build_info{version=\"0."), HasSubstr("process_open_fds "),
            HasSubstr("process_start_time_seconds ")));
}

TEST_F(MetricsTest, ADataCenterWithoutV1HasNoSeriesOfV1) {
  Adopt();
  EXPECT_THAT(
      metrics_.ToText(),
      AllOf(HasSubstr("ringshift_migration_v2_ratio{data_center=\"new\"} 1\n"),
            HasSubstr("ringshift_routes_total{data_center=\"new\",pool=\"default\",ring_version="
                      "\"v2\"} 0\n"),
            Not(HasSubstr("{data_center=\"new\",pool=\"default\",ring_version=\"v1\"}")),
            Not(HasSubstr("ringshift_ring_points{data_center=\"new\",ring_version=\"v1\"}"))));
}

TEST_F(MetricsTest, TheRatioAndRevisionAreThoseInForce) {
  Adopt();
  ASSERT_THAT(controller_.SetShare({"ams", Share::FromPpm(375'000).value(), {}, "me", ""}), IsOk());
  EXPECT_THAT(metrics_.ToText(),
              AllOf(HasSubstr("ringshift_migration_v2_ratio{data_center=\"ams\"} 0.375\n"),
                    HasSubstr("ringshift_migration_revision{data_center=\"ams\"} 3\n")));
}

TEST_F(MetricsTest, BeforeItIsReadyARouterClaimsNoState) {
  EXPECT_THAT(metrics_.ToText(), AllOf(Not(HasSubstr("ringshift_migration_v2_ratio")),
                                       Not(HasSubstr("ringshift_startup_duration_seconds"))));
}

TEST_F(MetricsTest, EveryCountFromEveryThreadIsThere) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 1000; ++i) {
        routes_.Of("ams").CountRoute(1, RingVersion::kV2);
        routes_.Of("ams").CountError(absl::StatusCode::kUnavailable);
        routes_.ObserveRoute(std::chrono::nanoseconds(1500));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(
      metrics_.ToText(),
      AllOf(HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"special\",ring_version="
                      "\"v2\"} 16000\n"),
            HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"special\",ring_version="
                      "\"v1\"} 0\n"),
            HasSubstr(
                "ringshift_route_errors_total{data_center=\"ams\",code=\"UNAVAILABLE\"} 16000\n"),
            HasSubstr("ringshift_route_duration_seconds_bucket{method=\"Route\",le=\"1e-06\"} 0\n"),
            HasSubstr(
                "ringshift_route_duration_seconds_bucket{method=\"Route\",le=\"2e-06\"} 16000\n"),
            HasSubstr(
                "ringshift_route_duration_seconds_bucket{method=\"Route\",le=\"+Inf\"} 16000\n"),
            HasSubstr("ringshift_route_duration_seconds_sum{method=\"Route\"} 0.024\n")));
}

TEST_F(MetricsTest, ADurationIsInTheBucketWhoseBoundItEquals) {
  routes_.ObserveRoute(std::chrono::nanoseconds(0));
  routes_.ObserveRoute(std::chrono::microseconds(1));
  routes_.ObserveRoute(std::chrono::hours(1));
  const std::string bucket = "ringshift_route_duration_seconds_bucket{method=\"Route\",le=";
  EXPECT_THAT(metrics_.ToText(),
              AllOf(HasSubstr(bucket + "\"1e-06\"} 2\n"), HasSubstr(bucket + "\"1\"} 2\n"),
                    HasSubstr(bucket + "\"+Inf\"} 3\n")));
}

TEST_F(MetricsTest, TheCollisionsOfARingAreCounted) {
  DataCenterSpec fleet = SmallDataCenter("fleet");
  fleet.nodes.clear();
  for (int i = 1; i <= 254; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = "10.0.0." + std::to_string(i) + ":443";
    node.weight = 10;
    fleet.nodes.push_back(node);
  }
  ASSERT_THAT(controller_.Adopt(Built(fleet)), IsOk());
  EXPECT_THAT(
      metrics_.ToText(),
      AllOf(
          HasSubstr("ringshift_ring_points{data_center=\"fleet\",ring_version=\"v1\"} 406400\n"),
          HasSubstr("ringshift_ring_collisions{data_center=\"fleet\",ring_version=\"v1\"} 16\n")));
}

TEST_F(MetricsTest, UnknownDataCentersShareOneSeries) {
  const std::size_t before = metrics_.Collect()[1].metric.size();
  for (int i = 0; i < 1000; ++i) {
    routes_.Of("nowhere-" + std::to_string(i)).CountError(absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(metrics_.Collect()[1].metric.size(), before);
  EXPECT_THAT(
      metrics_.ToText(),
      HasSubstr("ringshift_route_errors_total{data_center=\"other\",code=\"NOT_FOUND\"} 1000\n"));
}

TEST_F(MetricsTest, AnUnforeseenCodeAppearsOnceItHappened) {
  EXPECT_THAT(metrics_.ToText(), Not(HasSubstr("INTERNAL")));
  routes_.Of("ams").CountError(absl::StatusCode::kInternal);
  EXPECT_THAT(metrics_.ToText(),
              HasSubstr("ringshift_route_errors_total{data_center=\"ams\",code=\"INTERNAL\"} 1\n"));
}

}  // namespace
}  // namespace ringshift
