#include "client/ringctl/forecast_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Json;
using ::ringshift::testing::Printed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void Set(double value, double low, double high, v1::EstimatedRatio& estimate) {
  estimate.set_value(value);
  estimate.set_low(low);
  estimate.set_high(high);
}

void AddNode(const std::string& name, double before, double after, v1::Forecast& forecast) {
  v1::NodeForecast& node = *forecast.add_nodes();
  node.set_name(name);
  node.set_share_before(before);
  node.set_share_after(after);
}

v1::Forecast Ams() {
  v1::Forecast forecast;
  forecast.set_data_center("ams");
  forecast.set_from_v2_ppm(100'000);
  forecast.set_to_v2_ppm(250'000);
  forecast.set_revision(17);
  forecast.set_ring_change_ppm(150'000);
  forecast.set_churn(0.135021);
  Set(0.121, 0.102, 0.14, *forecast.mutable_routed_churn());
  forecast.set_requests_per_second(101'234.4);
  forecast.set_hit_ratio(0.95);
  forecast.set_hit_ratio_source("reported");
  Set(11'637, 9'810, 13'464, *forecast.mutable_extra_misses_per_second());
  Set(2.04, 0, 7.31, *forecast.mutable_extra_misses_per_second_with_previous_owner());
  AddNode("c1", 0.1, 0.1125, forecast);
  AddNode("c2", 0.2, 0.1875, forecast);
  forecast.set_ring_memory_bytes_before(1536 << 20);
  forecast.set_ring_memory_bytes_after(1536 << 20);
  return forecast;
}

// Of a data center without traffic, whose v1 is retired.
v1::Forecast Fra() {
  v1::Forecast forecast;
  forecast.set_data_center("fra");
  forecast.set_from_v2_ppm(1'000'000);
  forecast.set_to_v2_ppm(250'000);
  forecast.set_ring_change_ppm(750'000);
  forecast.set_ring_memory_bytes_before(1 << 20);
  forecast.set_ring_memory_bytes_after(3 << 20);
  forecast.set_unavailable_reason("ring v1 is retired");
  return forecast;
}

std::string Print(const std::vector<v1::Forecast>& forecasts) {
  v1::ForecastMigrationResponse response;
  for (const v1::Forecast& forecast : forecasts) *response.add_forecasts() = forecast;
  return Printed([&](Output& output) { PrintForecasts(response, output); });
}

TEST(ForecastViewTest, OneDataCenterHasALineForEachFactAndItsNodes) {
  EXPECT_EQ(Print({Ams()}),
            "data center   ams\n"
            "share of v2   10% -> 25%\n"
            "other ring    15.0000% of the requests\n"
            "other owner   13.5021% of the key space\n"
            "              12.10% (10.20% to 14.00%) of the requests, by the keys that were routed "
            "last\n"
            "requests      101,234 a second\n"
            "hit ratio     95.00%, reported\n"
            "extra misses  11,637 (9,810 to 13,464) a second at first\n"
            "              2.0 (0 to 7.3) where caches ask the previous owner\n"
            "rings         1.5 GiB\n"
            "\n"
            "NODE    BEFORE     AFTER    CHANGE\n"
            "c1    10.0000%  11.2500%  +1.2500%\n"
            "c2    20.0000%  18.7500%  -1.2500%\n");
}

TEST(ForecastViewTest, WhatIsNotKnownIsSaid) {
  EXPECT_EQ(Print({Fra()}),
            "data center  fra\n"
            "share of v2  100% -> 25%\n"
            "other ring   75.0000% of the requests\n"
            "other owner  -\n"
            "requests     0 a second\n"
            "hit ratio    not known: nothing is said of misses\n"
            "rings        1.0 MiB -> 3.0 MiB\n"
            "\n"
            "fra: what changes owner is not known: ring v1 is retired\n");
}

TEST(ForecastViewTest, SeveralDataCentersHaveALineEachAndASum) {
  v1::Forecast small = Ams();
  small.set_data_center("lhr");
  small.set_requests_per_second(3.24);
  Set(0.04, 0, 1, *small.mutable_extra_misses_per_second());
  Set(0, 0, 0, *small.mutable_extra_misses_per_second_with_previous_owner());
  EXPECT_EQ(
      Print({Ams(), small}),
      "DATA CENTER   V2  THEN  OTHER OWNER                     ROUTED  REQUESTS/S  HIT RATIO  "
      "MISSES/S  WITH PREVIOUS    RINGS\n"
      "ams          10%   25%     13.5021%  12.10% (10.20% to 14.00%)     101,234     95.00%   "
      "+11,637           +2.0  1.5 GiB\n"
      "lhr          10%   25%     13.5021%  12.10% (10.20% to 14.00%)         3.2     95.00%     "
      "+<0.1             +0  1.5 GiB\n"
      "\n"
      "Together: 101,238 requests a second, of which 11,637 more than now miss at first, 2.0 where "
      "caches ask the previous owner; rings of 3.0 GiB.\n");
}

TEST(ForecastViewTest, TheSumHasNoMissesWhereThoseOfOneAreNotKnown) {
  EXPECT_THAT(Print({Ams(), Fra()}),
              AllOf(HasSubstr("fra: what changes owner is not known: ring v1 is retired\n"),
                    HasSubstr("Together: 101,234 requests a second; rings of 1.5 GiB, then 1.5 "
                              "GiB.\n"),
                    Not(HasSubstr("more than now"))));
}

TEST(ForecastViewTest, WhatARouterSendsCannotSteerTheTerminal) {
  v1::Forecast forecast = Fra();
  forecast.set_data_center("\x1b[2J");
  forecast.set_unavailable_reason("a\nforged line");
  forecast.set_requests_per_second(-1);
  forecast.set_ring_memory_bytes_before(-1);
  for (const std::string& printed : {Print({forecast}), Print({forecast, forecast})}) {
    EXPECT_THAT(printed, AllOf(HasSubstr("\\x1b[2J"), HasSubstr("a\\nforged line"),
                               Not(HasSubstr("\x1b")), Not(HasSubstr("\nforged"))));
  }
}

TEST(ForecastViewTest, JsonHasEveryMemberWhateverItsValue) {
  EXPECT_EQ(Json([](JsonWriter& json) { WriteForecast(Ams(), json); }),
            R"({"data_center":"ams","from_v2_ppm":100000,"to_v2_ppm":250000,"revision":17,)"
            R"("ring_change_ppm":150000,"churn":0.135021,)"
            R"("routed_churn":{"value":0.121,"low":0.102,"high":0.14},)"
            R"("requests_per_second":101234.4,"hit_ratio":0.95,"hit_ratio_source":"reported",)"
            R"("extra_misses_per_second":{"value":11637,"low":9810,"high":13464},)"
            R"("extra_misses_per_second_with_previous_owner":{"value":2.04,"low":0,"high":7.31},)"
            R"("nodes":[{"name":"c1","share_before":0.1,"share_after":0.1125},)"
            R"({"name":"c2","share_before":0.2,"share_after":0.1875}],)"
            R"("ring_memory_bytes_before":1610612736,"ring_memory_bytes_after":1610612736,)"
            R"("unavailable_reason":""})"
            "\n");
  EXPECT_EQ(Json([](JsonWriter& json) { WriteForecast(Fra(), json); }),
            R"({"data_center":"fra","from_v2_ppm":1000000,"to_v2_ppm":250000,"revision":0,)"
            R"("ring_change_ppm":750000,"churn":null,"routed_churn":null,"requests_per_second":0,)"
            R"("hit_ratio":null,"hit_ratio_source":"","extra_misses_per_second":null,)"
            R"("extra_misses_per_second_with_previous_owner":null,"nodes":[],)"
            R"("ring_memory_bytes_before":1048576,"ring_memory_bytes_after":3145728,)"
            R"("unavailable_reason":"ring v1 is retired"})"
            "\n");
}

}  // namespace
}  // namespace ringshift
