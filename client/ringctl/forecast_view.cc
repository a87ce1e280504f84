#include "client/ringctl/forecast_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

// "12,345", "3.2": of something a second. "-" for what is no such number.
std::string Rate(double per_second) {
  if (!(per_second >= 0 && per_second < 1e15)) return "-";
  if (per_second == 0) return "0";
  if (per_second < 0.1) return "<0.1";
  const double tenths = std::round(per_second * 10);
  if (tenths < 100) return FixedPoint(tenths / 10, 1);
  return HumanCount(static_cast<std::uint64_t>(std::llround(per_second)));
}

std::string Percent(double ratio) { return FixedPoint(100 * ratio, 2) + "%"; }

std::string Bytes(std::int64_t bytes) {
  return HumanBytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

// "13.51% (12.02% to 15.00%)": an estimate and its interval.
template <typename ToText>
std::string WithInterval(const v1::EstimatedRatio& estimate, ToText to_text) {
  return absl::StrCat(to_text(estimate.value()), " (", to_text(estimate.low()), " to ",
                      to_text(estimate.high()), ")");
}

std::string MemoryText(const v1::Forecast& forecast) {
  const std::string before = Bytes(forecast.ring_memory_bytes_before());
  return forecast.ring_memory_bytes_after() == forecast.ring_memory_bytes_before()
             ? before
             : absl::StrCat(before, " -> ", Bytes(forecast.ring_memory_bytes_after()));
}

std::string HitRatioText(const v1::Forecast& forecast) {
  if (!forecast.has_hit_ratio()) return "not known: nothing is said of misses";
  return absl::StrCat(Percent(forecast.hit_ratio()), ", ", forecast.hit_ratio_source());
}

// The line about what is missing; "" where nothing is.
std::string Gap(const v1::Forecast& forecast) {
  if (forecast.unavailable_reason().empty()) return "";
  return absl::StrCat(ForTerminal(forecast.data_center()), ": what changes owner is not known: ",
                      ForTerminal(forecast.unavailable_reason()), "\n");
}

void PrintNodes(const v1::Forecast& forecast, Output& output) {
  if (forecast.nodes().empty()) return;
  Table table(
      {{"NODE"}, {"BEFORE", Table::kRight}, {"AFTER", Table::kRight}, {"CHANGE", Table::kRight}});
  for (const v1::NodeForecast& node : forecast.nodes()) {
    const double change = node.share_after() - node.share_before();
    table.AddRow({node.name(), PercentOfRatio(node.share_before()),
                  PercentOfRatio(node.share_after()),
                  (change < 0 ? "-" : "+") + FixedPoint(100 * std::abs(change), 4) + "%"});
  }
  output.Write("\n");
  table.Print(output);
}

void PrintForecast(const v1::Forecast& forecast, Output& output) {
  const bool is_known = forecast.unavailable_reason().empty();
  const double ring_change = static_cast<double>(forecast.ring_change_ppm()) / Share::kMaxPpm;
  Table table({{""}, {""}});
  table.AddRow({"data center", forecast.data_center()});
  table.AddRow({"share of v2", absl::StrCat(PercentOfPpm(forecast.from_v2_ppm()), " -> ",
                                            PercentOfPpm(forecast.to_v2_ppm()))});
  table.AddRow({"other ring", absl::StrCat(PercentOfRatio(ring_change), " of the requests")});
  table.AddRow(
      {"other owner",
       is_known ? absl::StrCat(PercentOfRatio(forecast.churn()), " of the key space") : "-"});
  if (forecast.has_routed_churn()) {
    table.AddRow({"", absl::StrCat(WithInterval(forecast.routed_churn(), Percent),
                                   " of the requests, by the keys that were routed last")});
  }
  table.AddRow({"requests", absl::StrCat(Rate(forecast.requests_per_second()), " a second")});
  table.AddRow({"hit ratio", HitRatioText(forecast)});
  if (forecast.has_extra_misses_per_second()) {
    table.AddRow(
        {"extra misses", absl::StrCat(WithInterval(forecast.extra_misses_per_second(), Rate),
                                      " a second at first")});
  }
  if (!forecast.has_extra_misses_per_second() && forecast.has_hit_ratio()) {
    table.AddRow({"extra misses", "not known: no key was routed in the last minute"});
  }
  if (forecast.has_extra_misses_per_second_with_previous_owner()) {
    table.AddRow(
        {"",
         absl::StrCat(WithInterval(forecast.extra_misses_per_second_with_previous_owner(), Rate),
                      " where caches ask the previous owner")});
  }
  table.AddRow({"rings", MemoryText(forecast)});
  table.Print(output);
  if (const std::string gap = Gap(forecast); !gap.empty()) output.Write("\n" + gap);
  PrintNodes(forecast, output);
}

// What several forecasts are together.
struct Totals {
  double requests = 0;
  double misses = 0;
  double misses_with_previous_owner = 0;
  bool has_misses = true;  // every one has
  std::int64_t memory_before = 0;
  std::int64_t memory_after = 0;

  void Add(const v1::Forecast& forecast) {
    requests += forecast.requests_per_second();
    has_misses = has_misses && forecast.has_extra_misses_per_second();
    misses += forecast.extra_misses_per_second().value();
    misses_with_previous_owner += forecast.extra_misses_per_second_with_previous_owner().value();
    memory_before += forecast.ring_memory_bytes_before();
    memory_after += forecast.ring_memory_bytes_after();
  }
};

void PrintForecastTable(const v1::ForecastMigrationResponse& response, Output& output) {
  Table table({{"DATA CENTER"},
               {"V2", Table::kRight},
               {"THEN", Table::kRight},
               {"OTHER OWNER", Table::kRight},
               {"ROUTED", Table::kRight},
               {"REQUESTS/S", Table::kRight},
               {"HIT RATIO", Table::kRight},
               {"MISSES/S", Table::kRight},
               {"WITH PREVIOUS", Table::kRight},
               {"RINGS", Table::kRight}});
  Totals totals;
  std::string gaps;
  for (const v1::Forecast& forecast : response.forecasts()) {
    const bool is_known = forecast.unavailable_reason().empty();
    const bool has_misses = forecast.has_extra_misses_per_second();
    table.AddRow(
        {forecast.data_center(), PercentOfPpm(forecast.from_v2_ppm()),
         PercentOfPpm(forecast.to_v2_ppm()), is_known ? PercentOfRatio(forecast.churn()) : "-",
         forecast.has_routed_churn() ? WithInterval(forecast.routed_churn(), Percent) : "-",
         Rate(forecast.requests_per_second()),
         forecast.has_hit_ratio() ? Percent(forecast.hit_ratio()) : "-",
         has_misses ? "+" + Rate(forecast.extra_misses_per_second().value()) : "-",
         has_misses ? "+" + Rate(forecast.extra_misses_per_second_with_previous_owner().value())
                    : "-",
         MemoryText(forecast)});
    totals.Add(forecast);
    gaps += Gap(forecast);
  }
  table.Print(output);
  absl::StrAppend(&gaps, "Together: ", Rate(totals.requests), " requests a second");
  if (totals.has_misses) {
    absl::StrAppend(&gaps, ", of which ", Rate(totals.misses), " more than now miss at first, ",
                    Rate(totals.misses_with_previous_owner),
                    " where caches ask the previous owner");
  }
  absl::StrAppend(&gaps, "; rings of ", Bytes(totals.memory_before));
  if (totals.memory_after != totals.memory_before) {
    absl::StrAppend(&gaps, ", then ", Bytes(totals.memory_after));
  }
  output.Write("\n" + gaps + ".\n");
}

void WriteRatio(bool is_known, double ratio, JsonWriter& json) {
  if (is_known) {
    json.Double(ratio);
  } else {
    json.Null();
  }
}

void WriteEstimate(bool is_present, const v1::EstimatedRatio& estimate, JsonWriter& json) {
  if (!is_present) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("value").Double(estimate.value());
  json.Key("low").Double(estimate.low());
  json.Key("high").Double(estimate.high());
  json.EndObject();
}

}  // namespace

void PrintForecasts(const v1::ForecastMigrationResponse& response, Output& output) {
  if (response.forecasts_size() == 1) {
    PrintForecast(response.forecasts(0), output);
  } else {
    PrintForecastTable(response, output);
  }
}

void WriteForecast(const v1::Forecast& forecast, JsonWriter& json) {
  json.BeginObject();
  json.Key("data_center").String(forecast.data_center());
  json.Key("from_v2_ppm").Int(forecast.from_v2_ppm());
  json.Key("to_v2_ppm").Int(forecast.to_v2_ppm());
  json.Key("revision").Int(forecast.revision());
  json.Key("ring_change_ppm").Int(forecast.ring_change_ppm());
  json.Key("churn");
  WriteRatio(forecast.unavailable_reason().empty(), forecast.churn(), json);
  json.Key("routed_churn");
  WriteEstimate(forecast.has_routed_churn(), forecast.routed_churn(), json);
  json.Key("requests_per_second").Double(forecast.requests_per_second());
  json.Key("hit_ratio");
  WriteRatio(forecast.has_hit_ratio(), forecast.hit_ratio(), json);
  json.Key("hit_ratio_source").String(forecast.hit_ratio_source());
  json.Key("extra_misses_per_second");
  WriteEstimate(forecast.has_extra_misses_per_second(), forecast.extra_misses_per_second(), json);
  json.Key("extra_misses_per_second_with_previous_owner");
  WriteEstimate(forecast.has_extra_misses_per_second_with_previous_owner(),
                forecast.extra_misses_per_second_with_previous_owner(), json);
  json.Key("nodes").BeginArray();
  for (const v1::NodeForecast& node : forecast.nodes()) {
    json.BeginObject();
    json.Key("name").String(node.name());
    json.Key("share_before").Double(node.share_before());
    json.Key("share_after").Double(node.share_after());
    json.EndObject();
  }
  json.EndArray();
  json.Key("ring_memory_bytes_before").Int(forecast.ring_memory_bytes_before());
  json.Key("ring_memory_bytes_after").Int(forecast.ring_memory_bytes_after());
  json.Key("unavailable_reason").String(forecast.unavailable_reason());
  json.EndObject();
}

}  // namespace ringshift
