#include "client/ringctl/watch_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Printed;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// 2026-01-31 12:00:00 and an hour later.
constexpr std::int64_t kThen = 1'769'860'800;
const absl::Time kNow = absl::FromUnixSeconds(kThen + 3600);

v1::Migration Ams(int ppm, int revision) {
  v1::Migration migration;
  migration.set_data_center("ams");
  migration.set_v2_ppm(ppm);
  migration.set_effective_v2_ppm(ppm);
  migration.set_revision(revision);
  migration.mutable_update_time()->set_seconds(kThen);
  migration.set_actor("ops@host");
  migration.set_reason("next");
  return migration;
}

v1::WatchMigrationsResponse With(const v1::Migration& migration, bool is_snapshot = false) {
  v1::WatchMigrationsResponse response;
  response.set_is_snapshot(is_snapshot);
  *response.add_migrations() = migration;
  response.set_cursor("c");
  return response;
}

class WatchViewTest : public ::testing::Test {
 protected:
  std::string Add(const v1::WatchMigrationsResponse& response) {
    return Printed([&](Output& output) { view_.Add(response, kNow, output); });
  }
  WatchView view_{/*as_json=*/false};
};

TEST_F(WatchViewTest, ALineHasTimeDataCenterShareAndWhy) {
  EXPECT_EQ(Add(With(Ams(0, 7), true)), "2026-01-31 12:00:00Z  ams  0%, by ops@host: next\n");
  EXPECT_EQ(Add(With(Ams(125'000, 8))),
            "2026-01-31 12:00:00Z  ams  0% -> 12.5%, by ops@host: next\n");
}

TEST_F(WatchViewTest, WhatTheStoreDidNotDoHasTheTimeOfNow) {
  Add(With(Ams(125'000, 7), true));
  v1::Migration building = Ams(125'000, 7);
  building.set_effective_v2_ppm(0);
  building.set_effective_reason("v2 is being\nbuilt");
  EXPECT_EQ(Add(With(building)),
            "2026-01-31 13:00:00Z  ams  12.5%, answers with 0%: v2 is being\\nbuilt\n");
  v1::Migration frozen = Ams(0, 8);
  frozen.set_is_frozen(true);
  EXPECT_EQ(Add(With(frozen)),
            "2026-01-31 12:00:00Z  ams  12.5% -> 0%, frozen, by ops@host: next\n");
}

TEST_F(WatchViewTest, AnOverrideIsNotByWhoSetTheShare) {
  Add(With(Ams(125'000, 7), true));
  v1::Migration overridden = Ams(125'000, 7);
  overridden.mutable_share_override()->set_v2_ppm(0);
  overridden.set_effective_v2_ppm(0);
  overridden.set_effective_reason("overridden on this router by sre@host: store down");
  EXPECT_EQ(Add(With(overridden)),
            "2026-01-31 13:00:00Z  ams  12.5%, answers with 0%: overridden on this router by "
            "sre@host: store down, override\n");
  EXPECT_EQ(Add(With(Ams(125'000, 7))), "2026-01-31 13:00:00Z  ams  12.5%, override ended\n");
}

TEST_F(WatchViewTest, ARollbackThatTheStoreHasNotIsByWhoMadeIt) {
  Add(With(Ams(125'000, 7), true));
  v1::Migration back = Ams(0, 7);
  back.set_actor("sre@host");
  back.set_is_not_durable(true);
  EXPECT_EQ(Add(With(back)),
            "2026-01-31 13:00:00Z  ams  12.5% -> 0%, not durable, by sre@host: next\n");
}

TEST_F(WatchViewTest, WhatIsMeasuredIsNoChange) {
  Add(With(Ams(125'000, 7), true));
  v1::Migration measured = Ams(125'000, 7);
  measured.set_measured_v2_ppm(124'000);
  measured.set_requests_per_second(17);
  measured.set_errors_per_second(1);
  measured.mutable_v1_outcomes()->set_hit(12);
  measured.mutable_v2_outcomes()->set_hit(2);
  EXPECT_EQ(Add(With(measured)), "");
}

TEST_F(WatchViewTest, ASnapshotThatComesAgainShowsOnlyWhatIsNewAndWhatIsGone) {
  v1::WatchMigrationsResponse both = With(Ams(0, 7), true);
  v1::Migration fra = Ams(0, 7);
  fra.set_data_center("fra");
  *both.add_migrations() = fra;
  Add(both);
  EXPECT_EQ(Add(both), "");
  EXPECT_EQ(Add(With(Ams(10'000, 8), true)),
            "2026-01-31 13:00:00Z  fra  gone\n"
            "2026-01-31 12:00:00Z  ams  0% -> 1%, by ops@host: next\n");
  EXPECT_EQ(Add(With(fra)), "2026-01-31 12:00:00Z  fra  0%, by ops@host: next\n");
}

TEST_F(WatchViewTest, WhatComesInPartsIsShownWhenItIsWhole) {
  v1::Migration fra = Ams(0, 7);
  fra.set_data_center("fra");
  Add(With(Ams(0, 7), true));
  Add(With(fra));
  v1::WatchMigrationsResponse first = With(Ams(10'000, 8), true);
  first.clear_cursor();
  EXPECT_EQ(Add(first), "");
  EXPECT_EQ(Add(With(fra)), "2026-01-31 12:00:00Z  ams  0% -> 1%, by ops@host: next\n");
}

TEST_F(WatchViewTest, WhatIsCutOffIsDropped) {
  v1::Migration fra = Ams(0, 7);
  fra.set_data_center("fra");
  Add(With(fra));
  v1::WatchMigrationsResponse first = With(Ams(10'000, 8), true);
  first.clear_cursor();
  EXPECT_EQ(Add(first), "");
  view_.BeginCall();
  EXPECT_EQ(Add(With(Ams(20'000, 9))), "2026-01-31 12:00:00Z  ams  2%, by ops@host: next\n");
}

TEST(WatchViewJsonTest, EveryEventIsAnObject) {
  WatchView view(/*as_json=*/true);
  const auto add = [&view](const v1::WatchMigrationsResponse& response) {
    return Printed([&](Output& output) { view.Add(response, kNow, output); });
  };
  EXPECT_THAT(add(With(Ams(0, 7), true)),
              StartsWith(R"({"event":"present","previous_v2_ppm":null,"migration":{"data_center":)"
                         R"("ams",)"));
  EXPECT_THAT(add(With(Ams(5, 8))), HasSubstr(R"("event":"changed","previous_v2_ppm":0,)"));
  v1::WatchMigrationsResponse gone;
  gone.add_removed("ams");
  gone.set_cursor("c");
  EXPECT_EQ(add(gone), "{\"event\":\"removed\",\"data_center\":\"ams\"}\n");
}

}  // namespace
}  // namespace ringshift
