#include "client/ringctl/ring_plan_view.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// True where the CV in theory is below what the rule for ties adds: a node of v2 wins between all
// and none of its ties, by its address, and points / 2^32 of its points are tied.
bool TiesDecide(const PlanOption& option) {
  const double tied = static_cast<double>(option.points) / 4294967296.0;
  return option.version == RingVersion::kV2 && option.predicted.cv > 0 &&  // 0: one node
         tied * tied / 12 > option.predicted.cv * option.predicted.cv;
}

std::string Describe(const PlanOption& option) {
  return absl::StrCat(std::string(RingVersionName(option.version)), " with ",
                      HumanCount(option.points_per_weight),
                      option.points_per_weight == 1 ? " point" : " points", " a weight");
}

void PrintOptions(const RingPlan& plan, Output& output) {
  std::vector<Table::Column> columns = {
      {"RING"}, {"POINTS/WEIGHT", Table::kRight}, {"POINTS", Table::kRight}};
  for (const RingLayout layout : kRingLayouts) {
    columns.push_back({absl::AsciiStrToUpper(std::string(RingLayoutName(layout))), Table::kRight});
  }
  for (const char* title : {"CV", "IN THEORY", "MAX/MEAN", "COLLISIONS", "MOVES"}) {
    columns.push_back({title, Table::kRight});
  }
  columns.push_back({""});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < plan.options.size(); ++i) {
    const PlanOption& option = plan.options[i];
    std::vector<std::string> cells = {std::string(RingVersionName(option.version)),
                                      HumanCount(option.points_per_weight),
                                      HumanCount(option.points)};
    for (const std::uint64_t bytes : option.layout_bytes) cells.push_back(HumanBytes(bytes));
    cells.insert(cells.end(), {FixedPoint(option.cv, 4), FixedPoint(option.predicted.cv, 4),
                               FixedPoint(option.max_ratio, 3), HumanCount(option.collisions),
                               PercentOfRatio(option.moved_ratio)});
    std::string mark = i == 0 ? "today" : "";
    if (plan.recommended && plan.recommended->option == i) {
      mark += i == 0 ? ", recommended" : "recommended";
    }
    if (plan.next && plan.next->option == i) mark += "next";
    cells.push_back(std::move(mark));
    table.AddRow(std::move(cells));
  }
  table.Print(output);
}

void PrintChoice(std::string_view title, const PlanChoice& choice, const RingPlan& plan,
                 Output& output) {
  const PlanOption& option = plan.options[choice.option];
  const std::string layout(RingLayoutName(choice.layout));
  output.Write(absl::StrCat(
      "\n", std::string(title), Describe(option), ", layout ", layout, ", ",
      HumanBytes(choice.bytes), ":\n", absl::StrReplaceAll(choice.reason, {{"; ", ";\n"}}),
      ".\n\n    rings:\n      ", std::string(RingVersionName(option.version)),
      ": {points_per_weight: ", option.points_per_weight, ", layout: ", layout, "}\n"));
}

void WriteChoice(const std::optional<PlanChoice>& choice, const RingPlan& plan, JsonWriter& json) {
  if (!choice) {
    json.Null();
    return;
  }
  const PlanOption& option = plan.options[choice->option];
  json.BeginObject();
  json.Key("ring_version").String(RingVersionName(option.version));
  json.Key("points_per_weight").Uint(option.points_per_weight);
  json.Key("layout").String(RingLayoutName(choice->layout));
  json.Key("memory_bytes").Uint(choice->bytes);
  json.Key("cv").Double(option.cv);
  json.Key("moved_ratio").Double(option.moved_ratio);
  json.Key("reason").String(choice->reason);
  json.EndObject();
}

void WriteOption(const PlanOption& option, JsonWriter& json) {
  json.BeginObject();
  json.Key("ring_version").String(RingVersionName(option.version));
  json.Key("points_per_weight").Uint(option.points_per_weight);
  json.Key("points").Uint(option.points);
  json.Key("layouts").BeginArray();
  for (std::size_t i = 0; i < std::size(kRingLayouts); ++i) {
    json.BeginObject();
    json.Key("layout").String(RingLayoutName(kRingLayouts[i]));
    json.Key("memory_bytes").Uint(option.layout_bytes[i]);
    json.EndObject();
  }
  json.EndArray();
  json.Key("cv").Double(option.cv);
  json.Key("predicted_cv").Double(option.predicted.cv);
  json.Key("max_ratio").Double(option.max_ratio);
  json.Key("predicted_max_ratio").Double(option.predicted.max_ratio);
  json.Key("min_ratio").Double(option.min_ratio);
  json.Key("collisions").Uint(option.collisions);
  json.Key("moved_ratio").Double(option.moved_ratio);
  json.EndObject();
}

}  // namespace

std::string GoalText(const PlanGoal& goal) {
  return goal.bytes
             ? "at most " + HumanBytes(*goal.bytes)
             : "a CV of at most " + FixedPoint(100 * *goal.cv, *goal.cv < 0.0001 ? 4 : 2) + "%";
}

void PrintPlan(const RingPlan& plan, Output& output) {
  output.Write(
      absl::StrCat("Data center ", ForTerminal(plan.data_center), ": ", HumanCount(plan.nodes),
                   plan.nodes == 1 ? " node" : " nodes", ", total weight ",
                   HumanCount(plan.total_weight), "\nToday: ", Describe(plan.options.front()),
                   ", layout ", std::string(RingLayoutName(plan.today.layout)), ", ",
                   HumanBytes(plan.today_bytes), "\nWanted: ", GoalText(plan.goal), "\n\n"));
  PrintOptions(plan, output);
  if (plan.has_pool_rings) {
    output.Write(
        "\nThe memory is with the small rings of sparse pools: what these take, or in layouts that "
        "were not built at the most take.\n");
  }
  if (std::any_of(plan.options.begin(), plan.options.end(), TiesDecide)) {
    output.Write(
        "\nv2 gives every tie to the lowest address. On a ring of so many points that makes the CV "
        "higher than in theory:\ndocs/algorithm.md has how many are best.\n");
  }
  if (plan.recommended) PrintChoice("Recommended: ", *plan.recommended, plan, output);
  if (plan.next) PrintChoice("If that is not small enough: ", *plan.next, plan, output);
}

std::string PlanAsJson(const RingPlan& plan) {
  JsonWriter json;
  json.BeginObject();
  json.Key("data_center").String(plan.data_center);
  json.Key("nodes").Uint(plan.nodes);
  json.Key("total_weight").Uint(plan.total_weight);
  json.Key("today").BeginObject();
  json.Key("ring_version").String(RingVersionName(plan.today.version));
  json.Key("points_per_weight").Uint(plan.today.points_per_weight);
  json.Key("layout").String(RingLayoutName(plan.today.layout));
  json.Key("memory_bytes").Uint(plan.today_bytes);
  json.EndObject();
  json.Key("target_cv");
  plan.goal.cv ? json.Double(*plan.goal.cv) : json.Null();
  json.Key("max_memory_bytes");
  plan.goal.bytes ? json.Uint(*plan.goal.bytes) : json.Null();
  json.Key("options").BeginArray();
  for (const PlanOption& option : plan.options) WriteOption(option, json);
  json.EndArray();
  json.Key("recommended");
  WriteChoice(plan.recommended, plan, json);
  json.Key("next");
  WriteChoice(plan.next, plan, json);
  json.EndObject();
  return json.TakeLine();
}

}  // namespace ringshift
