#include "client/ringctl/topology_view.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/routed_node.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// Counts and sizes are never below 0.
std::uint64_t Unsigned(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

std::string Count(std::int64_t value) { return HumanCount(Unsigned(value)); }

void PrintSummary(const v1::GetTopologyResponse& topology, Output& output) {
  const v1::DataCenterSummary& data_center = topology.data_center();
  std::string effective = EffectiveShare(data_center);
  if (!data_center.effective_reason().empty()) {
    absl::StrAppend(&effective, ": ", data_center.effective_reason());
  }
  Table table({{""}, {""}});
  table.AddRow({"data center", data_center.name()});
  table.AddRow({"tier", OrDash(data_center.tier())});
  table.AddRow({"nodes", Count(data_center.nodes())});
  table.AddRow({"total weight", Count(data_center.total_weight())});
  table.AddRow({"share of v2", RequestedShare(data_center)});
  table.AddRow({"effective", effective});
  table.AddRow({"identity style", topology.identity_style()});
  table.AddRow({"checksum", ChecksumText(data_center.checksum())});
  table.AddRow({"held", data_center.is_held()
                            ? "yes: the topology file has another one, see `ringctl status`"
                            : "no"});
  table.Print(output);
}

void PrintRings(const v1::DataCenterSummary& data_center, Output& output) {
  std::vector<Table::Column> columns = {{"RING"}};
  for (const v1::RingSummary& ring : data_center.rings()) {
    columns.push_back({std::string(RingVersionText(ring.ring_version())), Table::kRight});
  }
  Table table(std::move(columns));
  const auto add_row = [&](std::string_view title, const auto& cell) {
    std::vector<std::string> cells = {std::string(title)};
    for (const v1::RingSummary& ring : data_center.rings()) cells.push_back(cell(ring));
    table.AddRow(std::move(cells));
  };
  using Ring = const v1::RingSummary&;
  add_row("points per weight", [](Ring ring) { return Count(ring.points_per_weight()); });
  add_row("layout", [](Ring ring) { return std::string(RingLayoutText(ring.layout())); });
  add_row("points", [](Ring ring) { return Count(ring.points()); });
  add_row("memory", [](Ring ring) { return HumanBytes(Unsigned(ring.memory_bytes())); });
  add_row("collisions", [](Ring ring) { return Count(ring.collisions()); });
  add_row("CV of the loads", [](Ring ring) { return FixedPoint(ring.cv(), 4); });
  add_row("highest load", [](Ring ring) { return FixedPoint(ring.max_ratio(), 3); });
  add_row("lowest load", [](Ring ring) { return FixedPoint(ring.min_ratio(), 3); });
  add_row("build time", [](Ring ring) {
    return ring.build_seconds() < 1 ? FixedPoint(ring.build_seconds() * 1000, 1) + " ms"
                                    : FixedPoint(ring.build_seconds(), 1) + " s";
  });
  add_row("checksum", [](Ring ring) { return ChecksumText(ring.checksum()); });
  table.Print(output);
}

void PrintPools(const v1::GetTopologyResponse& topology, Output& output) {
  Table table({{"POOL"}, {"NODES", Table::kRight}, {"REQUIRED FEATURES"}});
  for (const v1::Pool& pool : topology.pools()) {
    table.AddRow(
        {pool.name(), Count(pool.nodes()), OrDash(absl::StrJoin(pool.required_features(), ", "))});
  }
  table.Print(output);
}

void PrintNodes(const v1::GetTopologyResponse& topology, Output& output) {
  Table table({{"NODE"},
               {"ADDRESS"},
               {"WEIGHT", Table::kRight},
               {"ZONE"},
               {"FEATURES"},
               {"RING IDENTITY"}});
  for (const v1::Node& node : topology.nodes()) {
    table.AddRow({node.name(), node.address(), absl::StrCat(node.weight()), OrDash(node.zone()),
                  OrDash(absl::StrJoin(node.features(), ",")), node.ring_identity()});
  }
  table.Print(output);
}

void WriteRing(const v1::RingSummary& ring, JsonWriter& json) {
  json.BeginObject();
  json.Key("ring_version").String(RingVersionText(ring.ring_version()));
  json.Key("points_per_weight").Int(ring.points_per_weight());
  json.Key("layout").String(RingLayoutText(ring.layout()));
  json.Key("points").Int(ring.points());
  json.Key("memory_bytes").Int(ring.memory_bytes());
  json.Key("collisions").Int(ring.collisions());
  json.Key("build_seconds").Double(ring.build_seconds());
  json.Key("checksum").String(ChecksumText(ring.checksum()));
  json.Key("cv").Double(ring.cv());
  json.Key("max_ratio").Double(ring.max_ratio());
  json.Key("min_ratio").Double(ring.min_ratio());
  json.EndObject();
}

template <typename Texts>
void WriteTexts(const Texts& texts, JsonWriter& json) {
  json.BeginArray();
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

}  // namespace

const v1::RingSummary* FindRing(const v1::DataCenterSummary& data_center, v1::RingVersion version) {
  for (const v1::RingSummary& ring : data_center.rings()) {
    if (ring.ring_version() == version) return &ring;
  }
  return nullptr;
}

std::string MemoryOf(const v1::RingSummary* ring) {
  return ring == nullptr ? "-" : HumanBytes(Unsigned(ring->memory_bytes()));
}

std::string RequestedShare(const v1::DataCenterSummary& data_center) {
  return data_center.has_requested_v2_ppm() ? PercentOfPpm(data_center.requested_v2_ppm()) : "-";
}

std::string EffectiveShare(const v1::DataCenterSummary& data_center) {
  return data_center.has_effective_v2_ppm() ? PercentOfPpm(data_center.effective_v2_ppm()) : "-";
}

std::string ShareNotes(const std::vector<v1::DataCenterSummary>& data_centers) {
  std::string notes;
  for (const v1::DataCenterSummary& data_center : data_centers) {
    if (data_center.effective_reason().empty()) continue;
    const bool is_other = EffectiveShare(data_center) != RequestedShare(data_center);
    absl::StrAppend(&notes, ForTerminal(data_center.name()), " answers with ",
                    EffectiveShare(data_center), is_other ? ", not " : "",
                    is_other ? RequestedShare(data_center) : "", ": ",
                    ForTerminal(data_center.effective_reason()), "\n");
  }
  return notes;
}

void PrintDataCenters(const std::vector<v1::DataCenterSummary>& data_centers, Output& output) {
  Table table({{"DATA CENTER"},
               {"TIER"},
               {"NODES", Table::kRight},
               {"WEIGHT", Table::kRight},
               {"POOLS", Table::kRight},
               {"V2", Table::kRight},
               {"EFFECTIVE", Table::kRight},
               {"V1 MEMORY", Table::kRight},
               {"V2 MEMORY", Table::kRight},
               {"CHECKSUM"},
               {"HELD"}});
  for (const v1::DataCenterSummary& data_center : data_centers) {
    table.AddRow({data_center.name(), OrDash(data_center.tier()), Count(data_center.nodes()),
                  Count(data_center.total_weight()), Count(data_center.pools()),
                  RequestedShare(data_center), EffectiveShare(data_center),
                  MemoryOf(FindRing(data_center, v1::RING_VERSION_V1)),
                  MemoryOf(FindRing(data_center, v1::RING_VERSION_V2)),
                  ChecksumText(data_center.checksum()), data_center.is_held() ? "held" : "-"});
  }
  table.Print(output);
  const std::string notes = ShareNotes(data_centers);
  if (!notes.empty()) output.Write("\n" + notes);
}

void PrintTopology(const v1::GetTopologyResponse& topology, Output& output) {
  PrintSummary(topology, output);
  output.Write("\n");
  PrintRings(topology.data_center(), output);
  output.Write("\n");
  PrintPools(topology, output);
  output.Write("\n");
  PrintNodes(topology, output);
}

void WriteDataCenter(const v1::DataCenterSummary& data_center, JsonWriter& json) {
  json.BeginObject();
  json.Key("data_center").String(data_center.name());
  json.Key("tier").String(data_center.tier());
  json.Key("nodes").Int(data_center.nodes());
  json.Key("total_weight").Int(data_center.total_weight());
  json.Key("pools").Int(data_center.pools());
  json.Key("requested_v2_ppm");
  WritePpm(data_center.has_requested_v2_ppm(), data_center.requested_v2_ppm(), json);
  json.Key("effective_v2_ppm");
  WritePpm(data_center.has_effective_v2_ppm(), data_center.effective_v2_ppm(), json);
  json.Key("effective_reason").String(data_center.effective_reason());
  json.Key("checksum").String(ChecksumText(data_center.checksum()));
  json.Key("is_held").Bool(data_center.is_held());
  json.Key("rings").BeginArray();
  for (const v1::RingSummary& ring : data_center.rings()) WriteRing(ring, json);
  json.EndArray();
  json.EndObject();
}

void WriteTopology(const v1::GetTopologyResponse& topology, JsonWriter& json) {
  json.BeginObject();
  json.Key("summary");
  WriteDataCenter(topology.data_center(), json);
  json.Key("identity_style").String(topology.identity_style());
  json.Key("pools").BeginArray();
  for (const v1::Pool& pool : topology.pools()) {
    json.BeginObject();
    json.Key("name").String(pool.name());
    json.Key("nodes").Int(pool.nodes());
    json.Key("required_features");
    WriteTexts(pool.required_features(), json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("nodes").BeginArray();
  for (const v1::Node& node : topology.nodes()) {
    json.BeginObject();
    json.Key("name").String(node.name());
    json.Key("address").String(node.address());
    json.Key("weight").Int(node.weight());
    json.Key("zone").String(node.zone());
    json.Key("features");
    WriteTexts(node.features(), json);
    json.Key("ring_identity").String(node.ring_identity());
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace ringshift
