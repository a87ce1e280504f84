// Forecasts of a real router, held against what happens then.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kKeys = 8'000;

v1::ForecastMigrationRequest To(int ppm, const std::string& data_center = "ams") {
  v1::ForecastMigrationRequest request;
  request.mutable_selector()->add_data_centers(data_center);
  request.set_v2_ppm(ppm);
  return request;
}

class RouterForecastTest : public ::testing::Test {
 protected:
  RouterForecastTest() { router_.WaitUntilReady(); }

  absl::StatusOr<v1::ForecastMigrationResponse> Forecasts(
      const v1::ForecastMigrationRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::ForecastMigrationResponse response;
    const grpc::Status status = migration_->ForecastMigration(&context, request, &response);
    if (status.ok()) return response;
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::string_view(status.error_message()));
  }
  v1::Forecast Forecast(const v1::ForecastMigrationRequest& request) {
    const auto response = Forecasts(request);
    EXPECT_THAT(response.status(), IsOk());
    if (!response.ok() || response->forecasts_size() != 1) return {};
    return response->forecasts(0);
  }

  // The owners of kKeys keys, by their places; a test failure if there are none.
  std::vector<std::string> RouteBatch() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::RouteBatchRequest request;
    request.set_data_center("ams");
    for (int i = 0; i < kKeys; ++i) request.add_keys("/img/" + std::to_string(i) + ".jpg");
    v1::RouteBatchResponse response;
    const grpc::Status status = routing_->RouteBatch(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> owners;
    for (const int index : response.node_indexes()) owners.push_back(response.nodes(index).name());
    return owners;
  }

  // The migration, once the router has counted keys; a test failure if that takes too long.
  v1::Migration WaitUntilMeasured() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      const absl::StatusOr<v1::Migration> migration = client_.GetMigration("ams");
      EXPECT_THAT(migration.status(), IsOk());
      if (migration.ok() && migration->has_measured_v2_ppm()) return *migration;
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no share is measured";
        return {};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  RouterClient client_{router_};
  std::unique_ptr<v1::RoutingService::Stub> routing_ =
      v1::RoutingService::NewStub(router_.PublicChannel());
  std::unique_ptr<v1::MigrationService::Stub> migration_ =
      v1::MigrationService::NewStub(router_.AdminChannel());
};

TEST_F(RouterForecastTest, WhatIsForecastOfRoutedKeysHappensToThem) {
  const std::vector<std::string> before = RouteBatch();
  ASSERT_EQ(before.size(), static_cast<std::size_t>(kKeys));
  const v1::Forecast forecast = Forecast(To(400'000));
  ASSERT_THAT(client_.SetShare("ams", 400'000).status(), IsOk());
  const std::vector<std::string> after = RouteBatch();
  ASSERT_EQ(after.size(), before.size());
  int moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i];
  EXPECT_DOUBLE_EQ(forecast.routed_churn().value(), static_cast<double>(moved) / kKeys);
  EXPECT_NEAR(forecast.churn(), static_cast<double>(moved) / kKeys, 0.02);
  EXPECT_LE(forecast.routed_churn().low(), forecast.churn());
  EXPECT_GE(forecast.routed_churn().high(), forecast.churn());
  EXPECT_EQ(forecast.from_v2_ppm(), 0);
  EXPECT_EQ(forecast.to_v2_ppm(), 400'000);
  EXPECT_EQ(forecast.ring_change_ppm(), 400'000);
  EXPECT_GT(forecast.nodes_size(), 0);
  EXPECT_GT(forecast.ring_memory_bytes_before(), 0);
  // Asking changes nothing, and the way back moves the same keys.
  EXPECT_DOUBLE_EQ(Forecast(To(0)).churn(), forecast.churn());
  EXPECT_EQ(client_.GetMigration("ams")->v2_ppm(), 400'000);
}

TEST_F(RouterForecastTest, MissesAreThoseOfTheHitRatioThatIsGiven) {
  RouteBatch();
  const v1::Migration migration = WaitUntilMeasured();
  EXPECT_EQ(migration.measured_v2_ppm(), 0);
  EXPECT_GT(migration.requests_per_second(), 0);
  v1::ForecastMigrationRequest request = To(500'000);
  EXPECT_FALSE(Forecast(request).has_extra_misses_per_second());
  request.set_hit_ratio(0.9);
  const v1::Forecast forecast = Forecast(request);
  EXPECT_EQ(forecast.hit_ratio_source(), "given");
  EXPECT_GT(forecast.requests_per_second(), 0);
  EXPECT_NEAR(forecast.extra_misses_per_second().value(),
              forecast.requests_per_second() * 0.9 * forecast.routed_churn().value(), 1e-6);
  EXPECT_EQ(forecast.extra_misses_per_second_with_previous_owner().value(), 0);
}

TEST_F(RouterForecastTest, TheMeasuredShareIsThatOfTheKeysThatWereRouted) {
  EXPECT_THAT(router_.Get("/metrics"), Not(HasSubstr("ringshift_migration_measured_share{")));
  EXPECT_FALSE(client_.GetMigration("ams")->has_measured_v2_ppm());
  ASSERT_THAT(client_.SetShare("ams", 1'000'000).status(), IsOk());
  RouteBatch();
  EXPECT_EQ(WaitUntilMeasured().measured_v2_ppm(), 1'000'000);
  EXPECT_THAT(router_.Get("/metrics"),
              HasSubstr("ringshift_migration_measured_share{data_center=\"ams\"} 1\n"));
}

TEST_F(RouterForecastTest, ASelectorNamesDataCentersOrATierOrAll) {
  v1::ForecastMigrationRequest request;
  request.set_v2_ppm(1'000'000);
  request.mutable_selector()->set_all(true);
  const auto all = Forecasts(request);
  ASSERT_THAT(all.status(), IsOk());
  ASSERT_EQ(all->forecasts_size(), 3);
  EXPECT_EQ(all->forecasts(0).data_center(), "ams");
  EXPECT_GT(all->forecasts(0).churn(), 0.1);
  EXPECT_EQ(all->forecasts(2).data_center(), "new");
  EXPECT_EQ(all->forecasts(2).churn(), 0);
  request.mutable_selector()->set_tier("large");
  EXPECT_THAT(Forecasts(request).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("selector")));
  request.mutable_selector()->set_all(false);
  const auto tier = Forecasts(request);
  ASSERT_THAT(tier.status(), IsOk());
  ASSERT_EQ(tier->forecasts_size(), 1);
  EXPECT_EQ(tier->forecasts(0).data_center(), "fra");
}

TEST_F(RouterForecastTest, WhatMakesNoSenseIsRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Forecasts({}).status(), StatusIs(kInvalid, HasSubstr("selector")));
  EXPECT_THAT(Forecasts(To(1'000'001)).status(), StatusIs(kInvalid, HasSubstr("1000001")));
  v1::ForecastMigrationRequest request = To(1);
  request.clear_v2_ppm();
  EXPECT_THAT(Forecasts(request).status(), StatusIs(kInvalid, HasSubstr("v2_ppm")));
  for (const double ratio : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    request = To(1);
    request.set_hit_ratio(ratio);
    EXPECT_THAT(Forecasts(request).status(),
                StatusIs(kInvalid, AllOf(HasSubstr("hit_ratio"), HasSubstr("0 to 1"))));
  }
  EXPECT_THAT(Forecasts(To(1, "xyz")).status(),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("xyz"), HasSubstr("ams"))));
}

TEST_F(RouterForecastTest, AShareThatMovesMoreThanTheLimitIsRefused) {
  const double churn = Forecast(To(500'000)).churn();
  const int churn_ppm = static_cast<int>(churn * 1e6);
  const auto set = [&](int max_churn_ppm) -> absl::Status {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers("ams");
    request.set_v2_ppm(500'000);
    request.set_max_churn_ppm(max_churn_ppm);
    v1::SetMigrationResponse response;
    const grpc::Status status = migration_->SetMigration(&context, request, &response);
    return {static_cast<absl::StatusCode>(status.error_code()),
            absl::string_view(status.error_message())};
  };
  EXPECT_THAT(set(churn_ppm - 1),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ams")));
  EXPECT_EQ(client_.GetMigration("ams")->v2_ppm(), 0);
  EXPECT_THAT(set(churn_ppm + 1), IsOk());
  EXPECT_EQ(client_.GetMigration("ams")->v2_ppm(), 500'000);
}

}  // namespace
}  // namespace ringshift::testing
