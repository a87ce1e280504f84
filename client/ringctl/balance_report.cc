#include "client/ringctl/balance_report.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "routing/topology.h"

namespace ringshift {
namespace {

constexpr std::size_t kLines = 32;      // of a chart of more nodes
constexpr std::size_t kHalfWidth = 24;  // of a bar to one side

absl::StatusOr<NodeMask> NodesOf(const OfflineDataCenter& data_center, std::string_view pool) {
  absl::StatusOr<NodeMask> mask = MakePoolMask(data_center.spec, *data_center.nodes, pool);
  if (mask.ok() && mask->count() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("data center ", data_center.spec.name, ": pool ", std::string(pool),
                     " has no node, so there is nothing to balance"));
  }
  return mask;
}

// What theory expects of a ring of the nodes of `mask` alone.
absl::StatusOr<BalancePrediction> Predict(const NodeSet& nodes, const NodeMask& mask,
                                          const RingParameters& parameters) {
  std::vector<RingNode> pool;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (mask.Contains(node)) pool.push_back(nodes[node]);
  }
  const absl::StatusOr<std::shared_ptr<const NodeSet>> set = NodeSet::Create(std::move(pool));
  if (!set.ok()) return set.status();
  return PredictBalance(**set, parameters);
}

std::string Percent(double ratio) { return FixedPoint(100 * ratio, 4) + "%"; }

double ShareOf(std::uint64_t positions) { return static_cast<double>(positions) / 4294967296.0; }

// A bar from the ideal load in the middle; `far` is the distance at which it is full.
std::string Bar(double load, double far) {
  const double part = far > 0 ? std::min(std::abs(load - 1) / far, 1.0) : 0;
  const auto cells = static_cast<std::size_t>(std::lround(part * kHalfWidth));
  const std::string bar(cells, '#');
  const std::string rest(kHalfWidth - cells, ' ');
  return load < 1 ? rest + bar + "|" : std::string(kHalfWidth, ' ') + "|" + bar;
}

// Where the chart's ends and its middle are.
std::string Scale(double far) {
  const int decimals = far < 0.1 ? 3 : 2;
  const std::string low = FixedPoint(1 - far, decimals);
  const std::string high = FixedPoint(1 + far, decimals);
  std::string scale(2 * kHalfWidth + 1, ' ');
  if (far < 1) scale.replace(0, low.size(), low);  // no load is below 0
  scale[kHalfWidth] = '1';
  scale.replace(scale.size() - high.size(), high.size(), high);
  return scale;
}

void PrintChart(const RingBalance& ring, double total_weight, Output& output) {
  const double far = std::max(ring.max_ratio - 1, 1 - ring.min_ratio);
  if (ring.nodes.size() <= kMostNodesAlone) {
    Table table({{"NODE"},
                 {"WEIGHT", Table::kRight},
                 {"IDEAL", Table::kRight},
                 {"SHARE", Table::kRight},
                 {"LOAD", Table::kRight},
                 {Scale(far)}});
    for (const NodeShare& node : ring.nodes) {
      table.AddRow({node.name, HumanCount(node.weight),
                    Percent(static_cast<double>(node.weight) / total_weight),
                    Percent(ShareOf(node.positions)), FixedPoint(node.load, 4),
                    Bar(node.load, far)});
    }
    table.Print(output);
    return;
  }
  Table table({{"NODES BY LOAD", Table::kRight},
               {"FROM", Table::kRight},
               {"TO", Table::kRight},
               {"MEAN", Table::kRight},
               {Scale(far)}});
  for (std::size_t line = 0; line < kLines; ++line) {
    const std::size_t begin = line * ring.nodes.size() / kLines;
    const std::size_t end = (line + 1) * ring.nodes.size() / kLines;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += ring.nodes[i].load;
    const double mean = sum / static_cast<double>(end - begin);
    table.AddRow(
        {begin + 1 == end ? HumanCount(end) : HumanCount(begin + 1) + " to " + HumanCount(end),
         FixedPoint(ring.nodes[begin].load, 4), FixedPoint(ring.nodes[end - 1].load, 4),
         FixedPoint(mean, 4), Bar(mean, far)});
  }
  table.Print(output);
}

}  // namespace

absl::StatusOr<BalanceReport> StartBalance(const OfflineDataCenter& data_center,
                                           std::string_view pool) {
  const absl::StatusOr<NodeMask> mask = NodesOf(data_center, pool);
  if (!mask.ok()) return mask.status();
  BalanceReport report{.data_center = data_center.spec.name,
                       .pool = std::string(pool.empty() ? kDefaultPool : pool),
                       .nodes = mask->count(),
                       .total_weight = 0,
                       .rings = {}};
  const NodeSet& nodes = *data_center.nodes;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (mask->Contains(node)) report.total_weight += nodes[node].weight;
  }
  return report;
}

absl::StatusOr<RingBalance> MeasureBalance(const OfflineDataCenter& data_center, const Ring& ring,
                                           std::string_view pool) {
  const absl::StatusOr<NodeMask> mask = NodesOf(data_center, pool);
  if (!mask.ok()) return mask.status();
  const absl::StatusOr<BalancePrediction> predicted =
      Predict(*data_center.nodes, *mask, ring.parameters());
  if (!predicted.ok()) return predicted.status();
  const Ownership ownership = MeasureOwnership(ring, *mask);
  RingBalance balance{.parameters = ring.parameters(),
                      .points = ring.point_count(),
                      .predicted = *predicted,
                      .cv = ownership.cv,
                      .max_ratio = ownership.max_ratio,
                      .min_ratio = ownership.min_ratio,
                      .nodes = {}};
  const NodeSet& nodes = *data_center.nodes;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (!mask->Contains(node)) continue;
    balance.nodes.push_back(
        {nodes[node].name, nodes[node].weight, ownership.positions[node], ownership.loads[node]});
  }
  std::stable_sort(balance.nodes.begin(), balance.nodes.end(),
                   [](const NodeShare& a, const NodeShare& b) { return a.load > b.load; });
  return balance;
}

void PrintBalance(const BalanceReport& report, Output& output) {
  output.Write("Data center " + ForTerminal(report.data_center) + ", pool " +
               ForTerminal(report.pool) + ": " + HumanCount(report.nodes) +
               (report.nodes == 1 ? " node" : " nodes") + ", total weight " +
               HumanCount(report.total_weight) + "\n\n");
  Table table({{"RING"},
               {"POINTS/WEIGHT", Table::kRight},
               {"POINTS", Table::kRight},
               {"CV", Table::kRight},
               {"IN THEORY", Table::kRight},
               {"MAX/MEAN", Table::kRight},
               {"IN THEORY", Table::kRight},
               {"MIN/MEAN", Table::kRight}});
  for (const RingBalance& ring : report.rings) {
    table.AddRow({std::string(RingVersionName(ring.parameters.version)),
                  HumanCount(ring.parameters.points_per_weight), HumanCount(ring.points),
                  FixedPoint(ring.cv, 4), FixedPoint(ring.predicted.cv, 4),
                  FixedPoint(ring.max_ratio, 3), FixedPoint(ring.predicted.max_ratio, 3),
                  FixedPoint(ring.min_ratio, 3)});
  }
  table.Print(output);
  for (const RingBalance& ring : report.rings) {
    output.Write("\n" + std::string(RingVersionName(ring.parameters.version)) +
                 ", the load of each node: its share of the keys divided by its ideal one\n\n");
    PrintChart(ring, static_cast<double>(report.total_weight), output);
  }
}

std::string BalanceAsJson(const BalanceReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("data_center").String(report.data_center);
  json.Key("pool").String(report.pool);
  json.Key("nodes").Uint(report.nodes);
  json.Key("total_weight").Uint(report.total_weight);
  json.Key("rings").BeginArray();
  for (const RingBalance& ring : report.rings) {
    json.BeginObject();
    json.Key("ring_version").String(RingVersionName(ring.parameters.version));
    json.Key("points_per_weight").Uint(ring.parameters.points_per_weight);
    json.Key("points").Uint(ring.points);
    json.Key("cv").Double(ring.cv);
    json.Key("predicted_cv").Double(ring.predicted.cv);
    json.Key("max_ratio").Double(ring.max_ratio);
    json.Key("predicted_max_ratio").Double(ring.predicted.max_ratio);
    json.Key("min_ratio").Double(ring.min_ratio);
    json.Key("nodes").BeginArray();
    for (const NodeShare& node : ring.nodes) {
      json.BeginObject();
      json.Key("node").String(node.name);
      json.Key("weight").Uint(node.weight);
      json.Key("ideal_ratio")
          .Double(static_cast<double>(node.weight) / static_cast<double>(report.total_weight));
      json.Key("ratio").Double(ShareOf(node.positions));
      json.Key("positions").Uint(node.positions);
      json.Key("load").Double(node.load);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeLine();
}

}  // namespace ringshift
