#include "client/ringctl/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Screen::Size kWide = Screen::kNoLimit;

Screen::Size Columns(std::size_t columns) { return {columns, kWide.rows}; }

TopView View() {
  TopView view;
  view.server = "r1:7401";
  view.time = absl::FromUnixSeconds(1'769'860'800);
  view.status.set_phase(v1::ROUTER_PHASE_SERVING);
  view.status.mutable_store()->set_is_up(true);
  view.status.set_ring_memory_bytes(1024);
  v1::Migration& ams = view.migrations.emplace_back();
  ams.set_data_center("ams");
  ams.set_v2_ppm(500'000);
  ams.set_effective_v2_ppm(0);
  ams.set_effective_reason("v2 is being built");
  ams.set_measured_v2_ppm(0);
  ams.set_requests_per_second(12.34);
  ams.set_errors_per_second(0.56);
  v1::Migration& idle = view.migrations.emplace_back();
  idle.set_data_center("idle");
  idle.set_effective_v2_ppm(0);
  v1::Migration& orphan = view.migrations.emplace_back();
  orphan.set_data_center("old");
  orphan.set_is_orphaned(true);
  v1::DataCenterSummary& summary = view.data_centers.emplace_back();
  summary.set_name("ams");
  summary.add_rings()->set_memory_bytes(1024);
  return view;
}

TEST(TopViewTest, ATableOfWhatIsServedAndTheReasonsBelow) {
  EXPECT_THAT(
      TopLines(View(), kWide),
      ElementsAre("12:00:00Z  r1:7401  serving  store up  12.3 keys/s  rings 1.0 KiB", "",
                  "DATA CENTER   V2  EFFECTIVE  MEASURED  STATE  V1/S  V2/S  ERR/S   MEMORY",
                  "ams          50%         0%        0%  -      12.3   0.0    0.6  1.0 KiB  "
                  "[....................]",
                  "idle          0%         0%         -  -         -     -    0.0      0 B  "
                  "[....................]",
                  "", "ams answers with 0%: v2 is being built"));
}

TEST(TopViewTest, OutcomesHaveColumnsWhereSomeWereReported) {
  TopView view = View();
  v1::OutcomeRates& on_v2 = *view.migrations[0].mutable_v2_outcomes();
  on_v2.set_hit(70);
  on_v2.set_previous_owner_hit(10);
  on_v2.set_origin(15);
  on_v2.set_connect_error(1);
  on_v2.set_error(4);
  const std::vector<std::string> lines = TopLines(view, kWide);
  EXPECT_THAT(lines[2],
              EndsWith("  ERR/S  V1 ORIGIN  V2 ORIGIN  V1 CONN ERR  V2 CONN ERR   MEMORY"));
  EXPECT_THAT(lines[3],
              HasSubstr("    0.6          -     15.00%            -        1.00%  1.0 KiB"));
  EXPECT_THAT(lines[4],
              HasSubstr("    0.0          -          -            -            -      0 B"));
  EXPECT_THAT(TopLines(view, Columns(90))[2], EndsWith("  ERR/S  V1 ORIGIN  V2 ORIGIN"));
}

TEST(TopViewTest, NoLineIsWiderThanTheTerminal) {
  TopView view = View();
  view.error = std::string(200, 'e');
  for (std::size_t width = 1; width < 120; ++width) {
    for (const std::string& line : TopLines(view, Columns(width))) EXPECT_LE(line.size(), width);
  }
  const std::vector<std::string> narrow = TopLines(View(), Columns(40));
  EXPECT_EQ(narrow[2], "DATA CENTER   V2  EFFECTIVE  MEASURED");
}

// 300 data centers, the later the busier.
TopView ManyDataCenters() {
  TopView view = View();
  view.migrations.clear();
  for (int i = 100; i < 400; ++i) {
    v1::Migration& migration = view.migrations.emplace_back();
    migration.set_data_center("dc" + std::to_string(i));
    migration.set_effective_v2_ppm(0);
    migration.set_requests_per_second(i);
  }
  return view;
}

TEST(TopViewTest, WithoutRoomForAllTheUnusualOnesComeFirstAndTheRestIsCounted) {
  TopView view = ManyDataCenters();
  view.migrations[50].set_is_frozen(true);
  view.migrations[60].set_v2_ppm(10'000);
  view.migrations[60].set_effective_reason("v2 is being built");
  view.migrations[70].set_effective_v2_ppm(20'000);
  const std::vector<std::string> lines = TopLines(view, {80, 12});
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_THAT(lines[3], AllOf(HasSubstr("dc160"), HasSubstr("1%")));
  EXPECT_THAT(lines[4], AllOf(HasSubstr("dc150"), HasSubstr("frozen")));
  EXPECT_THAT(lines[5], AllOf(HasSubstr("dc170"), HasSubstr("2%")));
  EXPECT_THAT(lines[6], HasSubstr("dc399"));
  EXPECT_THAT(lines[7], HasSubstr("dc398"));
  EXPECT_EQ(lines[9], "and 294 more: see `ringctl migration list`");
  EXPECT_EQ(lines[11], "dc160 answers with 0%: v2 is being built");
}

TEST(TopViewTest, NothingIsTallerThanTheTerminal) {
  TopView view = ManyDataCenters();
  for (v1::Migration& migration : view.migrations) {
    migration.set_v2_ppm(10'000);
    migration.set_effective_reason("v2 is being built");
  }
  for (std::size_t rows = 5; rows < 400; rows += 13) {
    EXPECT_LE(TopLines(view, {80, rows}).size(), rows);
  }
}

TEST(TopViewTest, WhatHasRoomIsInTheOrderOfNames) {
  TopView view = ManyDataCenters();
  EXPECT_EQ(TopLines(view, {80, 303}).size(), 303U);
  EXPECT_THAT(TopLines(view, {80, 303})[3], HasSubstr("dc100"));
  EXPECT_THAT(TopLines(view, {80, 302})[3], HasSubstr("dc399"));
}

TEST(TopViewTest, ALongNameLeavesRoomForTheState) {
  TopView view = View();
  view.migrations[0].set_data_center(std::string(63, 'x'));
  view.migrations[0].set_is_frozen(true);
  EXPECT_THAT(TopLines(view, Columns(80))[3], AllOf(HasSubstr("xxx..."), HasSubstr("frozen")));
  EXPECT_THAT(TopLines(view, kWide)[3], HasSubstr(std::string(63, 'x')));
}

TEST(TopViewTest, WhatIsNotNewSaysSo) {
  TopView view = View();
  view.error = "no answer\033 from r1:7401";
  view.status.mutable_store()->set_is_up(false);
  const std::vector<std::string> lines = TopLines(view, kWide);
  EXPECT_THAT(lines[0], HasSubstr("store DOWN"));
  EXPECT_EQ(lines[1], "NOT NEWER: no answer\\x1b from r1:7401");
}

TEST(TopViewTest, JsonHasTheRatesOfBothRings) {
  TopView view = View();
  view.migrations[0].set_measured_v2_ppm(250'000);
  view.migrations[0].set_requests_per_second(4000);
  view.migrations[0].mutable_v1_outcomes()->set_origin(2);
  EXPECT_THAT(Json([&](JsonWriter& json) { WriteTop(view, json); }),
              AllOf(HasSubstr(R"({"server":"r1:7401","time":"2026-01-31T12:00:00.000000Z",)"
                              R"("error":"","phase":"serving","store_is_up":true,)"
                              R"("ring_memory_bytes":1024,"data_centers":[{"migration":{)"),
                    HasSubstr(R"("errors_per_second":0.56,"v1_outcomes":{"hit":0,)"
                              R"("previous_owner_hit":0,"origin":2,)"),
                    HasSubstr(R"("v1_per_second":3000,"v2_per_second":1000,)"
                              R"("ring_memory_bytes":1024})"),
                    Not(HasSubstr("\"old\""))));
}

}  // namespace
}  // namespace ringshift
