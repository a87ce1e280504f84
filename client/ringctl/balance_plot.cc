#include "client/ringctl/balance_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/svg.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

constexpr int kWidth = 960;
constexpr double kLeft = 80, kRight = 56, kPlotHeight = 330;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
// Blue and vermilion, which readers with any colour vision tell apart.
constexpr std::array<std::string_view, 2> kColours = {"#0072b2", "#d55e00"};
constexpr std::string_view kAxis = "#222222";
constexpr std::string_view kGrid = "#dddddd";

// Round values from at most `low` to at least `high`, some six of them.
struct Ticks {
  double first = 0;
  double step = 1;
  int count = 1;
  int decimals = 0;

  double value(int i) const { return first + i * step; }
  double last() const { return value(count - 1); }
};

Ticks MakeTicks(double low, double high) {
  const double rough = (high - low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  Ticks ticks;
  ticks.step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  ticks.first = std::floor(low / ticks.step + 1e-9) * ticks.step;
  ticks.count = 1 + static_cast<int>(std::ceil((high - ticks.first) / ticks.step - 1e-9));
  ticks.decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(ticks.step) - 1e-9)));
  return ticks;
}

Ticks LoadTicks(const BalanceReport& report) {
  double low = 1, high = 1;
  for (const RingBalance& ring : report.rings) {
    low = std::min(low, ring.min_ratio);
    high = std::max(high, ring.max_ratio);
  }
  if (high - low < 1e-6) low = 0.9, high = 1.1;  // a single node
  return MakeTicks(low, high);
}

std::string LegendOf(const RingBalance& ring) {
  return absl::StrCat(std::string(RingVersionName(ring.parameters.version)), ": ",
                      HumanCount(ring.parameters.points_per_weight),
                      ring.parameters.points_per_weight == 1 ? " point" : " points", " a weight, ",
                      HumanCount(ring.points), " points, CV ", FixedPoint(100 * ring.cv, 2),
                      "% (in theory ", FixedPoint(100 * ring.predicted.cv, 2), "%), max/mean ",
                      FixedPoint(ring.max_ratio, 3));
}

class Plot {
 public:
  explicit Plot(const BalanceReport& report)
      : report_(report),
        loads_(LoadTicks(report)),
        top_(60 + 20 * static_cast<double>(report.rings.size())),
        title_(absl::StrCat("Load of each node of ", report.data_center, ", pool ", report.pool,
                            ": ", HumanCount(report.nodes),
                            report.nodes == 1 ? " node" : " nodes")),
        svg_(kWidth, static_cast<int>(Bottom() + (has_bars() ? NamesHeight() : 60)), title_) {}

  std::string Draw() {
    svg_.Text({kLeft, 32}, title_, {.size = 18, .is_bold = true});
    DrawLegend();
    DrawLoadAxis();
    if (has_bars()) {
      DrawBars();
    } else {
      DrawCurves();
    }
    svg_.Line({kLeft, top_}, {kLeft, Bottom()}, kAxis);
    svg_.Line({kLeft, Bottom()}, {kWidth - kRight, Bottom()}, kAxis);
    return svg_.Finish();
  }

 private:
  bool has_bars() const { return report_.nodes <= kMostNodesAlone; }
  double Bottom() const { return top_ + kPlotHeight; }
  // Of the names below the bars, which are written upwards.
  double NamesHeight() const {
    std::size_t longest = 0;
    for (const NodeShare& node : report_.rings.front().nodes) {
      longest = std::max(longest, ShownName(node.name).size());
    }
    return 50 + 6.5 * static_cast<double>(longest);
  }
  static std::string ShownName(const std::string& name) {
    constexpr std::size_t kLongest = 24;
    std::size_t end = 0;
    while (end < name.size()) {
      const std::size_t length = FirstCharacter(std::string_view(name).substr(end)).length;
      if (end + length > kLongest) return name.substr(0, end) + "...";
      end += length;
    }
    return name;
  }

  double YOf(double load) const {
    return Bottom() - (load - loads_.first) / (loads_.last() - loads_.first) * kPlotHeight;
  }

  void DrawLegend() {
    for (std::size_t i = 0; i < report_.rings.size(); ++i) {
      const double y = 56 + 20 * static_cast<double>(i);
      svg_.Rectangle({kLeft, y - 10}, 12, 12, kColours[i]);
      svg_.Text({kLeft + 20, y}, LegendOf(report_.rings[i]), {.size = 13});
    }
  }

  void DrawLoadAxis() {
    for (int i = 0; i < loads_.count; ++i) {
      const double y = YOf(loads_.value(i));
      svg_.Line({kLeft - 5, y}, {kLeft, y}, kAxis);
      svg_.Line({kLeft, y}, {kWidth - kRight, y}, kGrid);
      svg_.Text({kLeft - 9, y + 4}, FixedPoint(loads_.value(i), loads_.decimals),
                {.anchor = "end"});
    }
    svg_.DashedLine({kLeft, YOf(1)}, {kWidth - kRight, YOf(1)}, kAxis);
    svg_.Text({kWidth - kRight + 8, YOf(1) + 4}, "ideal", {});
    svg_.Text({22, top_ + kPlotHeight / 2}, "load: share of the keys / ideal share",
              {.size = 13, .anchor = "middle", .turned = -90});
  }

  void DrawBars() {
    const std::vector<NodeShare>& nodes = report_.rings.front().nodes;
    const double slot = kPlotWidth / static_cast<double>(nodes.size());
    const double width = 0.8 * slot / static_cast<double>(report_.rings.size());
    std::unordered_map<std::string_view, std::size_t> place;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      place.emplace(nodes[i].name, i);
      const double middle = kLeft + (static_cast<double>(i) + 0.5) * slot;
      svg_.Text({middle + 4, Bottom() + 10}, ShownName(nodes[i].name),
                {.anchor = "end", .turned = -90});
    }
    for (std::size_t ring = 0; ring < report_.rings.size(); ++ring) {
      for (const NodeShare& node : report_.rings[ring].nodes) {
        const double left = kLeft + (static_cast<double>(place.at(node.name)) + 0.1) * slot +
                            static_cast<double>(ring) * width;
        const double y = YOf(node.load);
        svg_.Rectangle({left, std::min(y, YOf(1))}, width, std::abs(y - YOf(1)), kColours[ring]);
      }
    }
    svg_.Text(
        {kLeft + kPlotWidth / 2, Bottom() + NamesHeight() - 14},
        report_.rings.size() > 1 ? "node, by its load on the first ring" : "node, by its load",
        {.size = 13, .anchor = "middle"});
  }

  void DrawCurves() {
    const auto count = static_cast<double>(report_.nodes);
    const Ticks ranks = MakeTicks(0, count);
    for (int i = 0; i < ranks.count && ranks.value(i) <= count; ++i) {
      const double x = kLeft + ranks.value(i) / count * kPlotWidth;
      svg_.Line({x, Bottom()}, {x, Bottom() + 5}, kAxis);
      svg_.Text({x, Bottom() + 20}, HumanCount(static_cast<std::uint64_t>(ranks.value(i))),
                {.anchor = "middle"});
    }
    for (std::size_t ring = 0; ring < report_.rings.size(); ++ring) {
      const std::vector<NodeShare>& nodes = report_.rings[ring].nodes;
      std::vector<Svg::Point> points;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const double x = kLeft + (static_cast<double>(i) + 0.5) / count * kPlotWidth;
        // What is within a pixel of the last one cannot be seen.
        const bool is_end = i == 0 || i + 1 == nodes.size();
        if (is_end || x - points.back().x >= 1) points.push_back({x, YOf(nodes[i].load)});
      }
      svg_.Polyline(points, kColours[ring]);
    }
    svg_.Text({kLeft + kPlotWidth / 2, Bottom() + 44}, "nodes, the most loaded first",
              {.size = 13, .anchor = "middle"});
  }

  const BalanceReport& report_;
  const Ticks loads_;
  const double top_;
  const std::string title_;
  Svg svg_;
};

}  // namespace

std::string BalanceAsSvg(const BalanceReport& report) { return Plot(report).Draw(); }

}  // namespace ringshift
