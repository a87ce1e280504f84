#include "server/forecaster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "ring/churn.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::IsOkAndHolds;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::HasSubstr;

Share Ppm(std::int32_t ppm) { return Share::FromPpm(ppm).value(); }

// Of a data center `ams` with three nodes, and the pool `special` of one of them.
class ForecasterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    data_center_ = Built(SmallDataCenter("ams"));
    metrics_.Serve(*data_center_);
  }

  std::shared_ptr<const RoutingTable> Table(std::int32_t ppm, RouterState state = {}) const {
    return TableOf(data_center_, ppm, RetiredRing::kNone, std::move(state));
  }
  static std::shared_ptr<const RoutingTable> TableOf(std::shared_ptr<const DataCenter> data_center,
                                                     std::int32_t ppm,
                                                     RetiredRing retired = RetiredRing::kNone,
                                                     RouterState state = {}) {
    Migration migration;
    migration.data_center = data_center->name();
    migration.share = Ppm(ppm);
    migration.salt = "salt";
    migration.decision_algorithm = std::string(kDecisionAlgorithm);
    migration.revision = 17;
    migration.retired = retired;
    return RoutingTable::Create(std::move(data_center), std::move(migration), std::move(state))
        .value();
  }

  // Routes the keys 0, 1, ... in `seconds` seconds, as a router would count and sample them.
  void Route(int keys, int seconds, std::size_t pool = 0) {
    rates_.Sample();
    const Decision decision("salt");
    const auto reader = metrics_.NewReader();
    reader->Use("ams", [&](const DataCenterRouteMetrics* counters) {
      const std::string& name = data_center_->pools()[pool].name;
      counters->CountRoutes(pool, name, RingVersion::kV1, static_cast<std::uint64_t>(keys));
      counters->SampleKeys(pool, name, 0, decision.seed(), static_cast<std::size_t>(keys),
                           [&decision](std::size_t i) {
                             const std::string key = absl::StrCat(i);
                             return RoutedKey{Ring::Position(key), decision.Bucket(key), 0};
                           });
    });
    now_ += std::chrono::seconds(seconds);
    rates_.Sample();
  }

  double RingChurn() const {
    const NodeSet& nodes = data_center_->node_set();
    const NodeMask all = NodeMask::All(nodes.size());
    return MeasureChurn({*data_center_->v1()->ring, all}, {*data_center_->v2()->ring, all},
                        MatchNodes(nodes, nodes))
        .moved_ratio();
  }

  std::shared_ptr<const DataCenter> data_center_;
  std::chrono::steady_clock::time_point now_;
  RouteMetrics metrics_;
  RoutingDirectory directory_;
  OutcomeCounts outcomes_{directory_};
  RateWindow rates_{metrics_, outcomes_, [this] { return now_; }};
  std::optional<double> reported_;
  Forecaster forecaster_{metrics_, rates_, [this](std::string_view data_center) {
                           EXPECT_EQ(data_center, "ams");
                           return reported_;
                         }};
};

TEST_F(ForecasterTest, ChurnIsThatOfTheRingsForTheBucketsThatChange) {
  const double churn = RingChurn();
  ASSERT_GT(churn, 0.1);
  EXPECT_THAT(forecaster_.Churn(*Table(0), Ppm(0), Ppm(1'000'000)), IsOkAndHolds(DoubleEq(churn)));
  EXPECT_THAT(forecaster_.Churn(*Table(0), Ppm(400'000), Ppm(150'000)),
              IsOkAndHolds(DoubleEq(churn / 4)));
  EXPECT_THAT(forecaster_.Churn(*Table(0), Ppm(7), Ppm(7)), IsOkAndHolds(0));
}

TEST_F(ForecasterTest, WithoutV1NothingMovesAndTheShareStaysAll) {
  const auto table = TableOf(Built(SmallDataCenter("ams", /*has_v1=*/false)), 0);
  EXPECT_THAT(forecaster_.Churn(*table, Ppm(0), Ppm(1'000'000)), IsOkAndHolds(0));
  const v1::Forecast forecast = forecaster_.Forecast(*table, Ppm(500'000), 0.5);
  EXPECT_EQ(forecast.from_v2_ppm(), 1'000'000);
  EXPECT_EQ(forecast.to_v2_ppm(), 1'000'000);
  EXPECT_EQ(forecast.ring_change_ppm(), 0);
  EXPECT_EQ(forecast.churn(), 0);
  EXPECT_EQ(forecast.unavailable_reason(), "");
  EXPECT_EQ(forecast.ring_memory_bytes_after(), forecast.ring_memory_bytes_before());
}

TEST_F(ForecasterTest, AnOverrideHidesTheShareThatIsChanged) {
  RouterState state;
  state.share_override = ShareOverride{Ppm(600'000), "the canary burns", "sre", {}};
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center_, Table(200'000)->migration(), state));
  EXPECT_EQ(table->share(), Ppm(600'000));
  const v1::Forecast forecast = forecaster_.Forecast(*table, Ppm(210'000), std::nullopt);
  EXPECT_EQ(forecast.from_v2_ppm(), 200'000);
  EXPECT_EQ(forecast.ring_change_ppm(), 10'000);
}

TEST_F(ForecasterTest, AForecastHasWhatMovesAndWhoGainsAndLoses) {
  const v1::Forecast forecast = forecaster_.Forecast(*Table(100'000), Ppm(600'000), std::nullopt);
  EXPECT_EQ(forecast.data_center(), "ams");
  EXPECT_EQ(forecast.from_v2_ppm(), 100'000);
  EXPECT_EQ(forecast.to_v2_ppm(), 600'000);
  EXPECT_EQ(forecast.revision(), 17);
  EXPECT_EQ(forecast.ring_change_ppm(), 500'000);
  EXPECT_DOUBLE_EQ(forecast.churn(), RingChurn() / 2);
  EXPECT_EQ(forecast.unavailable_reason(), "");
  ASSERT_EQ(forecast.nodes_size(), 3);
  double change = 0;
  for (const v1::NodeForecast& node : forecast.nodes()) {
    change += node.share_after() - node.share_before();
  }
  EXPECT_NEAR(change, 0, 1e-9);
  EXPECT_GT(forecast.nodes(0).share_after(), forecast.nodes(0).share_before());
  EXPECT_LT(forecast.nodes(2).share_after(), forecast.nodes(2).share_before());
  const auto bytes = static_cast<std::int64_t>(data_center_->v1()->memory_bytes() +
                                               data_center_->v2()->memory_bytes());
  EXPECT_EQ(forecast.ring_memory_bytes_before(), bytes);
  EXPECT_EQ(forecast.ring_memory_bytes_after(), bytes);
  // Nobody has routed a key or knows a hit ratio.
  EXPECT_FALSE(forecast.has_routed_churn());
  EXPECT_FALSE(forecast.has_hit_ratio());
  EXPECT_FALSE(forecast.has_extra_misses_per_second());
  EXPECT_FALSE(forecast.has_extra_misses_per_second_with_previous_owner());
}

TEST_F(ForecasterTest, MissesAreTheHitsOfKeysThatMove) {
  Route(20'000, 10);
  reported_ = 0.9;
  const v1::Forecast forecast = forecaster_.Forecast(*Table(0), Ppm(500'000), std::nullopt);
  EXPECT_DOUBLE_EQ(forecast.requests_per_second(), 2000);
  EXPECT_EQ(forecast.hit_ratio_source(), "reported");
  EXPECT_EQ(forecast.hit_ratio(), 0.9);
  ASSERT_TRUE(forecast.has_routed_churn());
  const v1::EstimatedRatio& routed = forecast.routed_churn();
  EXPECT_NEAR(routed.value(), forecast.churn(), 0.02);
  EXPECT_LT(routed.low(), routed.value());
  EXPECT_GT(routed.high(), routed.value());
  EXPECT_DOUBLE_EQ(forecast.extra_misses_per_second().value(), 1800 * routed.value());
  EXPECT_DOUBLE_EQ(forecast.extra_misses_per_second().low(), 1800 * routed.low());
  EXPECT_DOUBLE_EQ(forecast.extra_misses_per_second().high(), 1800 * routed.high());
  // No node is young, so every old owner is asked.
  ASSERT_TRUE(forecast.has_extra_misses_per_second_with_previous_owner());
  EXPECT_EQ(forecast.extra_misses_per_second_with_previous_owner().high(), 0);

  const v1::Forecast given = forecaster_.Forecast(*Table(0), Ppm(500'000), 0.5);
  EXPECT_EQ(given.hit_ratio_source(), "given");
  EXPECT_DOUBLE_EQ(given.extra_misses_per_second().value(), 1000 * routed.value());
}

TEST_F(ForecasterTest, KeysOfYoungOwnersMissAlsoWherePreviousOwnersAreAsked) {
  Route(20'000, 10);
  RouterState state;
  NodeMask settled = NodeMask::All(3);
  settled.Erase(1);
  state.settled = std::make_shared<const NodeMask>(settled);
  const v1::Forecast forecast = forecaster_.Forecast(*Table(0, state), Ppm(500'000), 1);
  const double without = forecast.extra_misses_per_second().value();
  const double with = forecast.extra_misses_per_second_with_previous_owner().value();
  EXPECT_GT(with, 0.1 * without);
  EXPECT_LT(with, 0.6 * without);
}

TEST_F(ForecasterTest, KeysAreJudgedInTheirPools) {
  // A pool of one node: its keys never move.
  Route(1'000, 10, 1);
  const v1::Forecast forecast = forecaster_.Forecast(*Table(0), Ppm(1'000'000), 1);
  EXPECT_GT(forecast.churn(), 0.1);
  ASSERT_TRUE(forecast.has_routed_churn());
  EXPECT_EQ(forecast.routed_churn().value(), 0);
  EXPECT_GT(forecast.requests_per_second(), 0);
}

TEST_F(ForecasterTest, WithoutAKeyOfThePresentSaltTheKeySpaceIsTaken) {
  Route(1'000, 10);
  Migration migration = Table(0)->migration();
  migration.salt = "another";
  const auto table = RoutingTable::Create(data_center_, migration).value();
  const v1::Forecast forecast = forecaster_.Forecast(*table, Ppm(500'000), 1);
  EXPECT_FALSE(forecast.has_routed_churn());
  EXPECT_DOUBLE_EQ(forecast.extra_misses_per_second().value(), 100 * forecast.churn());
  EXPECT_EQ(forecast.extra_misses_per_second_with_previous_owner().high(), 0);
}

TEST_F(ForecasterTest, OfARetiredRingNothingIsForecastButItsMemory) {
  const auto without = data_center_->Without(RetiredRing::kV1);
  const auto table = TableOf(without, 1'000'000, RetiredRing::kV1);
  const v1::Forecast forecast = forecaster_.Forecast(*table, Ppm(900'000), 0.9);
  EXPECT_THAT(forecast.unavailable_reason(), HasSubstr("ring v1 is retired"));
  EXPECT_EQ(forecast.churn(), 0);
  EXPECT_EQ(forecast.nodes_size(), 0);
  EXPECT_FALSE(forecast.has_extra_misses_per_second());
  EXPECT_EQ(forecast.ring_change_ppm(), 100'000);
  EXPECT_EQ(forecast.ring_memory_bytes_before(),
            static_cast<std::int64_t>(data_center_->v2()->memory_bytes()));
  EXPECT_EQ(forecast.ring_memory_bytes_after(),
            static_cast<std::int64_t>(data_center_->v1()->memory_bytes() +
                                      data_center_->v2()->memory_bytes()));
  EXPECT_THAT(forecaster_.Churn(*table, Ppm(1'000'000), Ppm(900'000)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("what would move is not known: ring v1 is retired")));
  // The share that it has needs nothing.
  const v1::Forecast same = forecaster_.Forecast(*table, Ppm(1'000'000), 0.9);
  EXPECT_EQ(same.unavailable_reason(), "");
  EXPECT_EQ(same.ring_memory_bytes_after(), same.ring_memory_bytes_before());
}

TEST_F(ForecasterTest, ManyMayAskAtOnce) {
  const auto table = Table(0);
  const double churn = RingChurn();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      EXPECT_THAT(forecaster_.Churn(*table, Ppm(0), Ppm(1'000'000)), IsOkAndHolds(DoubleEq(churn)));
      EXPECT_DOUBLE_EQ(forecaster_.Forecast(*table, Ppm(500'000), 1).churn(), churn / 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ringshift
