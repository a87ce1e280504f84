#include "client/ringctl/ring_diff.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "ring/churn.h"
#include "ring/node_mask.h"
#include "ring/ownership.h"
#include "routing/topology.h"

namespace ringshift {
namespace {

double PartOfKeySpace(std::uint64_t positions) {
  return static_cast<double>(positions) / 4294967296.0;
}

std::string Percent(std::uint64_t positions) { return PercentOfRatio(PartOfKeySpace(positions)); }

absl::StatusOr<NodeMask> PoolOf(const RingSource& source, std::string_view pool) {
  absl::StatusOr<NodeMask> mask =
      MakePoolMask(source.data_center.spec, *source.data_center.nodes, pool);
  if (mask.ok()) return mask;
  return absl::Status(mask.status().code(),
                      absl::StrCat(source.file, ": ", mask.status().message()));
}

RingDiff::Side Describe(const RingSource& source, const NodeMask& eligible) {
  RingDiff::Side side{.file = source.file,
                      .parameters = source.ring.parameters(),
                      .points = source.ring.point_count(),
                      .nodes = eligible.count(),
                      .total_weight = 0,
                      .checksum = source.ring.checksum()};
  const NodeSet& nodes = *source.data_center.nodes;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (eligible.Contains(node)) side.total_weight += nodes[node].weight;
  }
  return side;
}

std::string_view StateOf(const NodeDiff& node) {
  if (node.from.empty()) return "new";
  return node.to.empty() ? "gone" : "kept";
}

std::string NameOf(const NodeDiff& node) {
  if (node.from.empty()) return node.to;
  if (node.to.empty() || node.from == node.to) return node.from;
  return node.from + " -> " + node.to;
}

std::string WeightOf(const NodeDiff& node) {
  const bool changed = StateOf(node) == "kept" && node.from_weight != node.to_weight;
  if (changed) return absl::StrCat(node.from_weight, " -> ", node.to_weight);
  return absl::StrCat(std::max(node.from_weight, node.to_weight));
}

// The nodes of both sides, those that may answer, each once.
std::vector<NodeDiff> DiffNodes(const RingSource& from, const NodeMask& from_eligible,
                                const RingSource& to, const NodeMask& to_eligible,
                                const NodeMatching& same, const Churn& churn) {
  const Ownership before = MeasureOwnership(from.ring, from_eligible);
  const Ownership after = MeasureOwnership(to.ring, to_eligible);
  const NodeSet& from_nodes = *from.data_center.nodes;
  const NodeSet& to_nodes = *to.data_center.nodes;
  const auto add_to = [&](NodeIndex node, NodeDiff& diff) {
    diff.to = to_nodes[node].name;
    diff.to_weight = to_nodes[node].weight;
    diff.to_positions = after.positions[node];
    diff.gained = churn.gained[node];
  };
  std::vector<NodeDiff> nodes;
  NodeMask is_listed(to_nodes.size());
  for (NodeIndex node = 0; node < from_nodes.size(); ++node) {
    if (!from_eligible.Contains(node)) continue;
    NodeDiff& diff = nodes.emplace_back();
    diff.from = from_nodes[node].name;
    diff.from_weight = from_nodes[node].weight;
    diff.from_positions = before.positions[node];
    diff.lost = churn.lost[node];
    if (same[node] && to_eligible.Contains(*same[node])) {
      add_to(*same[node], diff);
      is_listed.Insert(*same[node]);
    }
  }
  for (NodeIndex node = 0; node < to_nodes.size(); ++node) {
    if (to_eligible.Contains(node) && !is_listed.Contains(node)) add_to(node, nodes.emplace_back());
  }
  std::sort(nodes.begin(), nodes.end(), [](const NodeDiff& a, const NodeDiff& b) {
    return std::forward_as_tuple(b.lost + b.gained, a.from, a.to) <
           std::forward_as_tuple(a.lost + a.gained, b.from, b.to);
  });
  return nodes;
}

void PrintSides(const RingDiff& diff, Output& output) {
  Table table({{""}, {"FROM", Table::kRight}, {"TO", Table::kRight}});
  const auto add_row = [&](std::string_view title, const auto& cell) {
    table.AddRow({std::string(title), cell(diff.from), cell(diff.to)});
  };
  using Side = const RingDiff::Side&;
  add_row("nodes", [](Side s) { return HumanCount(s.nodes); });
  add_row("total weight", [](Side s) { return HumanCount(s.total_weight); });
  add_row("points per weight", [](Side s) { return HumanCount(s.parameters.points_per_weight); });
  add_row("points of the ring", [](Side s) { return HumanCount(s.points); });
  add_row("checksum of the ring", [](Side s) { return ChecksumText(s.checksum); });
  table.Print(output);
}

void PrintTotals(const RingDiff& diff, Output& output) {
  Table table({{"OF THE KEY SPACE"}, {"", Table::kRight}, {"POSITIONS", Table::kRight}});
  const auto add_row = [&](std::string_view title, std::uint64_t positions) {
    table.AddRow({std::string(title), Percent(positions), HumanCount(positions)});
  };
  add_row("moves to another node", diff.moved);
  add_row("  between nodes of both sides", diff.moved_between_survivors);
  add_row("  on tied arcs", diff.moved_tied);
  add_row("is on tied arcs", diff.tied);
  table.Print(output);
}

void PrintNodes(const RingDiff& diff, Output& output) {
  Table table({{"NODE"},
               {"IS"},
               {"WEIGHT", Table::kRight},
               {"BEFORE", Table::kRight},
               {"AFTER", Table::kRight},
               {"LOSES", Table::kRight},
               {"GAINS", Table::kRight}});
  std::size_t unchanged = 0;
  for (const NodeDiff& node : diff.nodes) {
    const std::string_view state = StateOf(node);
    if (node.lost + node.gained == 0 && state == "kept" && node.from_weight == node.to_weight) {
      ++unchanged;
      continue;
    }
    table.AddRow({NameOf(node), std::string(state), WeightOf(node), Percent(node.from_positions),
                  Percent(node.to_positions), Percent(node.lost), Percent(node.gained)});
  }
  if (table.pending_rows() > 0) {
    output.Write("\n");
    table.Print(output);
  }
  if (unchanged > 0) {
    output.Write(absl::StrCat("\n", HumanCount(unchanged),
                              unchanged == 1 ? " node keeps" : " nodes keep",
                              " exactly what they have.\n"));
  }
}

void WriteSide(const RingDiff::Side& side, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(side.file);
  json.Key("ring_version").String(RingVersionName(side.parameters.version));
  json.Key("points_per_weight").Uint(side.parameters.points_per_weight);
  json.Key("points").Uint(side.points);
  json.Key("nodes").Uint(side.nodes);
  json.Key("total_weight").Uint(side.total_weight);
  json.Key("checksum").String(ChecksumText(side.checksum));
  json.EndObject();
}

void WriteNodeDiff(const NodeDiff& node, JsonWriter& json) {
  json.BeginObject();
  json.Key("from").String(node.from);
  json.Key("to").String(node.to);
  json.Key("state").String(StateOf(node));
  json.Key("from_weight").Uint(node.from_weight);
  json.Key("to_weight").Uint(node.to_weight);
  json.Key("from_positions").Uint(node.from_positions);
  json.Key("to_positions").Uint(node.to_positions);
  json.Key("from_ratio").Double(PartOfKeySpace(node.from_positions));
  json.Key("to_ratio").Double(PartOfKeySpace(node.to_positions));
  json.Key("lost_positions").Uint(node.lost);
  json.Key("gained_positions").Uint(node.gained);
  json.EndObject();
}

}  // namespace

absl::StatusOr<RingDiff> DiffRings(const RingSource& from, const RingSource& to,
                                   std::string_view pool) {
  const absl::StatusOr<NodeMask> from_eligible = PoolOf(from, pool);
  if (!from_eligible.ok()) return from_eligible.status();
  const absl::StatusOr<NodeMask> to_eligible = PoolOf(to, pool);
  if (!to_eligible.ok()) return to_eligible.status();
  const NodeMatching same = MatchNodes(*from.data_center.nodes, *to.data_center.nodes);
  const Churn churn = MeasureChurn({from.ring, *from_eligible}, {to.ring, *to_eligible}, same);
  return RingDiff{.data_center = to.data_center.spec.name,
                  .pool = std::string(pool.empty() ? kDefaultPool : pool),
                  .from = Describe(from, *from_eligible),
                  .to = Describe(to, *to_eligible),
                  .moved = churn.moved,
                  .moved_between_survivors = churn.moved_between_survivors,
                  .tied = churn.tied,
                  .moved_tied = churn.moved_tied,
                  .nodes = DiffNodes(from, *from_eligible, to, *to_eligible, same, churn)};
}

void PrintDiff(const RingDiff& diff, Output& output) {
  const auto ring = [](const RingDiff::Side& side) {
    return std::string(RingVersionName(side.parameters.version)) + " of " + ForTerminal(side.file);
  };
  output.Write("Data center " + ForTerminal(diff.data_center) + ", pool " + ForTerminal(diff.pool) +
               ": from " + ring(diff.from) + " to " + ring(diff.to) + "\n\n");
  PrintSides(diff, output);
  output.Write("\n");
  PrintTotals(diff, output);
  PrintNodes(diff, output);
}

void WriteDiff(const RingDiff& diff, JsonWriter& json) {
  json.BeginObject();
  json.Key("from");
  WriteSide(diff.from, json);
  json.Key("to");
  WriteSide(diff.to, json);
  json.Key("moved_positions").Uint(diff.moved);
  json.Key("moved_ratio").Double(diff.moved_ratio());
  json.Key("moved_between_survivors_positions").Uint(diff.moved_between_survivors);
  json.Key("tied_positions").Uint(diff.tied);
  json.Key("moved_tied_positions").Uint(diff.moved_tied);
  json.Key("nodes").BeginArray();
  for (const NodeDiff& node : diff.nodes) WriteNodeDiff(node, json);
  json.EndArray();
  json.EndObject();
}

}  // namespace ringshift
