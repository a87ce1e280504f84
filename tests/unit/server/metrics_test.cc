#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "routing/topology_writer.h"
#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Allow;
using ::ringshift::testing::Built;
using ::ringshift::testing::DataCenterOfSparsePools;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MetricsTest : public testing::SmallRouterTest {
 protected:
  // Puts a topology of these into the file, and takes it up as far as the limits allow.
  void Load(const std::vector<DataCenterSpec>& data_centers) {
    dir_.Write("topology.yaml", WriteTopology({data_centers}));
    topology_.Reload(ReloadTrigger::kCall, "me").IgnoreError();
  }
  // Serves `ams`, with v1, and `new`, without.
  void Start() {
    dir_.Write("topology.yaml",
               WriteTopology({{SmallDataCenter("ams"), SmallDataCenter("new", /*has_v1=*/false)}}));
    ASSERT_THAT(controller_.Load(), IsOk());
    ASSERT_THAT(topology_.Start(), IsOk());
  }

  // The value of a series, as its line has it; a test failure if it is not there.
  std::string Value(const std::string& series) const {
    const std::string text = "\n" + metrics_.ToText();
    const std::size_t found = text.find("\n" + series + " ");
    if (found == std::string::npos) {
      ADD_FAILURE() << "no " << series;
      return "";
    }
    const std::size_t begin = found + series.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  testing::TempDir dir_;
  RouteMetrics routes_;
  TopologyController topology_{{dir_.File("topology.yaml"),
                                {},
                                {},
                                [] { return WallTime(std::chrono::seconds(1'800'000'000)); }},
                               store_,
                               controller_,
                               directory_,
                               routes_};
  StoreHealth health_{"sqlite:/s.db", /*was_created=*/true, store_};
  OutcomeCounts outcomes_{directory_};
  RateWindow rates_{routes_, outcomes_};
  ChangeFeed feed_{"1"};
  WatchCalls watches_{feed_, {}, {}};
  RouterMetrics metrics_{directory_, routes_,   rates_,   controller_, topology_,
                         health_,    outcomes_, watches_, watches_};
};

TEST_F(MetricsTest, EverySeriesIsThereBeforeAnythingHappened) {
  Start();
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
            HasSubstr("ringshift_migration_v2_ratio{data_center=\"ams\",kind=\"requested\"} 0\n"),
            HasSubstr("ringshift_migration_v2_ratio{data_center=\"ams\",kind=\"effective\"} 0\n"),
            HasSubstr("ringshift_migration_revision{data_center=\"ams\"} 1\n"),
            HasSubstr("ringshift_routing_checksum{data_center=\"ams\"} "),
            HasSubstr("ringshift_store_up 1\n"), HasSubstr("ringshift_store_created 1\n"),
            HasSubstr("ringshift_migration_orphans 0\n"),
            HasSubstr("ringshift_topology_reloads_total{result=\"applied\"} 1\n"),
            HasSubstr("ringshift_topology_reloads_total{result=\"unchanged\"} 0\n"),
            HasSubstr("ringshift_topology_reloads_total{result=\"held\"} 0\n"),
            HasSubstr("ringshift_topology_reloads_total{result=\"failed\"} 0\n"),
            HasSubstr("ringshift_topology_last_reload_success_timestamp_seconds 1800000000\n"),
            HasSubstr("ringshift_topology_reload_held{data_center=\"ams\"} 0\n"),
            HasSubstr("ringshift_topology_last_reload_successful 1\n"),
            HasSubstr("ringshift_topology_generation 1\n"),
            HasSubstr("ringshift_ring_builds_total 3\n"),
            HasSubstr("ringshift_topology_nodes{data_center=\"ams\"} 3\n"),
            HasSubstr("ringshift_reported_outcomes_total{data_center=\"new\",ring_version=\"v2\","
                      "outcome=\"hit\"} 0\n"),
            HasSubstr("ringshift_watches{method=\"WatchRouting\"} 0\n"),
            HasSubstr("ringshift_watches{method=\"WatchMigrations\"} 0\n"),
            HasSubstr("ringshift_startup_duration_seconds 1.5\n"),
            HasSubstr("ringshift_build_info{version=\"0."), HasSubstr("process_open_fds "),
            HasSubstr("process_start_time_seconds ")));
}

TEST_F(MetricsTest, ADataCenterWithoutV1HasNoSeriesOfV1) {
  Start();
  EXPECT_THAT(
      metrics_.ToText(),
      AllOf(HasSubstr("ringshift_migration_v2_ratio{data_center=\"new\",kind=\"effective\"} 1\n"),
            HasSubstr("ringshift_routes_total{data_center=\"new\",pool=\"default\",ring_version="
                      "\"v2\"} 0\n"),
            Not(HasSubstr("{data_center=\"new\",pool=\"default\",ring_version=\"v1\"}")),
            Not(HasSubstr("ringshift_ring_points{data_center=\"new\",ring_version=\"v1\"}"))));
}

TEST_F(MetricsTest, TheRatioAndRevisionAreThoseInForce) {
  Start();
  ASSERT_THAT(Set("ams", 375'000), IsOk());
  for (const char* kind : {"requested", "effective"}) {
    EXPECT_EQ(Value("ringshift_migration_v2_ratio{data_center=\"ams\",kind=\"" + std::string(kind) +
                    "\"}"),
              "0.375");
  }
  EXPECT_EQ(Value("ringshift_migration_revision{data_center=\"ams\"}"),
            std::to_string(Table("ams")->migration().revision));
}

TEST_F(MetricsTest, WhatIsFrozenOverriddenRetiredOrNotDurableIsThere) {
  Start();
  const auto value = [this](const std::string& name, const std::string& more = "") {
    return Value("ringshift_migration_" + name + "{data_center=\"ams\"" + more + "}");
  };
  EXPECT_EQ(value("frozen") + value("override") + value("durable"), "001");
  ASSERT_THAT(controller_.Override(testing::OrderFor("ams"), Share::All()), IsOk());
  EXPECT_EQ(value("override"), "1");
  ASSERT_THAT(controller_.Rollback(testing::OrderFor("ams")), IsOk());
  EXPECT_EQ(value("frozen") + value("override") + value("durable"), "100");
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_EQ(value("frozen") + value("durable"), "11");
  ASSERT_THAT(controller_.Retire(testing::OrderFor("ams"), RingVersion::kV2, {}), IsOk());
  EXPECT_EQ(value("retired", ",ring_version=\"v2\""), "1");
  EXPECT_EQ(value("retired", ",ring_version=\"v1\""), "0");
}

TEST_F(MetricsTest, BeforeItIsReadyARouterClaimsNoState) {
  EXPECT_THAT(metrics_.ToText(), AllOf(Not(HasSubstr("ringshift_migration_v2_ratio")),
                                       Not(HasSubstr("ringshift_startup_duration_seconds"))));
}

TEST_F(MetricsTest, EveryCountFromEveryThreadIsThere) {
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([this] {
      const auto reader = routes_.NewReader();
      for (int i = 0; i < 1000; ++i) {
        reader->Use("ams", [](const DataCenterRouteMetrics* counters) {
          counters->CountRoutes(1, "special", RingVersion::kV2, 1);
          counters->CountErrors(absl::StatusCode::kUnavailable, 1);
        });
        routes_.Observe(RoutingMethod::kRoute, std::chrono::nanoseconds(1500));
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
  routes_.Observe(RoutingMethod::kRoute, std::chrono::nanoseconds(0));
  routes_.Observe(RoutingMethod::kRoute, std::chrono::microseconds(1));
  routes_.Observe(RoutingMethod::kRoute, std::chrono::hours(1));
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
  ASSERT_THAT(controller_.Adopt(Built(fleet), {}, Allow), IsOk());
  EXPECT_THAT(
      metrics_.ToText(),
      AllOf(
          HasSubstr("ringshift_ring_points{data_center=\"fleet\",ring_version=\"v1\"} 406400\n"),
          HasSubstr("ringshift_ring_collisions{data_center=\"fleet\",ring_version=\"v1\"} 16\n")));
}

TEST_F(MetricsTest, APoolOfLongWalksShowsThemAndTheMemoryOfItsOwnRing) {
  const auto sparse = Built(DataCenterOfSparsePools("sparse", 1));
  ASSERT_THAT(controller_.Adopt(sparse, {}, Allow), IsOk());
  const PoolRing& pool = sparse->v2()->pools[1];
  ASSERT_NE(pool.own, nullptr);
  const std::string labels = "{data_center=\"sparse\",ring_version=\"v2\",pool=\"p0\"} ";
  const std::string text = metrics_.ToText();
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("ringshift_ring_pool_memory_bytes" + labels +
                    std::to_string(pool.own->memory_bytes()) + "\n"),
          HasSubstr("ringshift_ring_memory_bytes{data_center=\"sparse\",ring_version="
                    "\"v2\"} " +
                    std::to_string(sparse->v2()->ring->memory_bytes() + pool.own->memory_bytes()) +
                    "\n"),
          HasSubstr("ringshift_ring_pool_walk_points" + labels),
          Not(HasSubstr("ringshift_ring_pool_walk_points{data_center=\"sparse\",ring_version="
                        "\"v2\",pool=\"default\"}"))));
  const std::size_t walk = text.find("ringshift_ring_pool_walk_points" + labels);
  EXPECT_NEAR(std::stod(text.substr(text.find("} ", walk) + 2)), pool.walk.mean, 0.001);
}

TEST_F(MetricsTest, UnknownDataCentersShareOneSeries) {
  const std::size_t before = metrics_.Collect()[1].metric.size();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(routes_.NewReader()->Find("nowhere-" + std::to_string(i)), nullptr);
    routes_.other().CountErrors(absl::StatusCode::kNotFound, 1);
  }
  EXPECT_EQ(metrics_.Collect()[1].metric.size(), before);
  EXPECT_THAT(
      metrics_.ToText(),
      HasSubstr("ringshift_route_errors_total{data_center=\"other\",code=\"NOT_FOUND\"} 1000\n"));
}

TEST_F(MetricsTest, AnUnforeseenCodeAppearsOnceItHappened) {
  Start();
  EXPECT_THAT(metrics_.ToText(), Not(HasSubstr("INTERNAL")));
  routes_.NewReader()->Find("ams")->CountErrors(absl::StatusCode::kInternal, 1);
  EXPECT_THAT(metrics_.ToText(),
              HasSubstr("ringshift_route_errors_total{data_center=\"ams\",code=\"INTERNAL\"} 1\n"));
}

TEST_F(MetricsTest, ADataCenterWithoutV1AnswersWithAnotherShareThanItsMigrationHas) {
  Start();
  ASSERT_THAT(controller_.Rename({"ams", "fra", false, "me", ""}), IsOk());
  ASSERT_THAT(Adopt(SmallDataCenter("fra", /*has_v1=*/false)), IsOk());
  EXPECT_EQ(Value("ringshift_migration_v2_ratio{data_center=\"fra\",kind=\"requested\"}"), "0");
  EXPECT_EQ(Value("ringshift_migration_v2_ratio{data_center=\"fra\",kind=\"effective\"}"), "1");
}

// Above 2^53 a double would be another number.
TEST_F(MetricsTest, TheChecksumIsExactlyTheLowest48BitsOfTheTables) {
  Start();
  for (const char* name : {"ams", "new"}) {
    const std::string value =
        Value("ringshift_routing_checksum{data_center=\"" + std::string(name) + "\"}");
    EXPECT_EQ(static_cast<std::uint64_t>(std::stod(value)),
              Table(name)->checksum() & 0xFFFF'FFFF'FFFFu);
  }
  const std::string before = Value("ringshift_routing_checksum{data_center=\"ams\"}");
  ASSERT_THAT(Set("ams", Share::kMaxPpm), IsOk());
  EXPECT_EQ(Value("ringshift_routing_checksum{data_center=\"ams\"}"), before);
}

TEST_F(MetricsTest, WhatIsHeldIsThereWithItsFigureUntilItIsAccepted) {
  Start();
  DataCenterSpec ams = SmallDataCenter("ams");
  ams.nodes[0].weight = 20;
  Load({ams, SmallDataCenter("new", /*has_v1=*/false)});
  const TopologyController::Status status = topology_.status();
  ASSERT_EQ(status.held.size(), 1);
  EXPECT_EQ(Value("ringshift_topology_reload_held{data_center=\"ams\"}"), "1");
  EXPECT_EQ(Value("ringshift_topology_reload_held{data_center=\"new\"}"), "0");
  const double moved = std::stod(Value("ringshift_topology_held_moved_ratio{data_center=\"ams\"}"));
  EXPECT_EQ(moved, status.held[0].difference->Worst(Share::None()).Moved(Share::None()));
  EXPECT_GT(moved, 0.1);
  EXPECT_LT(moved, 0.5);
  EXPECT_EQ(Value("ringshift_topology_reloads_total{result=\"held\"}"), "1");

  ASSERT_THAT(topology_.Accept(status.checksum, {}, "me", ""), IsOk());
  EXPECT_EQ(Value("ringshift_topology_reload_held{data_center=\"ams\"}"), "0");
  EXPECT_EQ(Value("ringshift_topology_held_moved_ratio{data_center=\"ams\"}"), "0");
}

TEST_F(MetricsTest, ABadFileIsShownUntilItIsMended) {
  Start();
  dir_.Write("topology.yaml", "what");
  for (int i = 0; i < 2; ++i) {
    topology_.Reload(ReloadTrigger::kFile, "me").IgnoreError();
    EXPECT_EQ(Value("ringshift_topology_last_reload_successful"), "0");
  }
  Load({SmallDataCenter("ams"), SmallDataCenter("new", /*has_v1=*/false)});
  EXPECT_EQ(Value("ringshift_topology_last_reload_successful"), "1");
  Load({SmallDataCenter("ams")});  // is held
  EXPECT_EQ(Value("ringshift_topology_last_reload_successful"), "1");
}

TEST_F(MetricsTest, OnlyRingsThatAreBuiltCountAsBuilds) {
  Start();
  DataCenterSpec ams = SmallDataCenter("ams");
  const DataCenterSpec other = SmallDataCenter("new", /*has_v1=*/false);
  Load({ams, other});
  ams.nodes[0].name = "renamed";
  Load({ams, other});
  EXPECT_EQ(Value("ringshift_topology_generation"), "2");
  EXPECT_EQ(Value("ringshift_ring_builds_total"), "3");
  ams.v2.points_per_weight += 1;
  Load({ams, other});
  EXPECT_EQ(Value("ringshift_topology_generation"), "3");
  EXPECT_EQ(Value("ringshift_ring_builds_total"), "4");
}

TEST_F(MetricsTest, ADataCenterThatIsGoneHasNoSeriesOnceThatIsAccepted) {
  Start();
  Load({SmallDataCenter("ams")});
  EXPECT_EQ(Value("ringshift_topology_held_moved_ratio{data_center=\"new\"}"), "1");
  ASSERT_THAT(topology_.Accept(topology_.status().checksum, {}, "me", ""), IsOk());
  EXPECT_THAT(metrics_.ToText(), AllOf(Not(HasSubstr("data_center=\"new\"")),
                                       HasSubstr("ringshift_migration_orphans 1\n")));
}

TEST_F(MetricsTest, AStoreThatIsDownSaysSo) {
  Start();
  store_.FailWritesWith(absl::UnavailableError("the disk is full"));
  health_.Check();
  EXPECT_EQ(Value("ringshift_store_up"), "0");
  store_.FailWritesWith(absl::OkStatus());
  health_.Check();
  EXPECT_EQ(Value("ringshift_store_up"), "1");
}

}  // namespace
}  // namespace ringshift
