#include "client/ringctl/ring_report.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "client/ringctl/json_writer.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "ring/node_mask.h"
#include "ring/pool_rings.h"
#include "ring/ring.h"
#include "routing/data_center.h"

namespace ringshift {
namespace {

std::uint64_t OwnRingBytes(const RingReport& report) {
  std::uint64_t bytes = 0;
  for (const PoolReport& pool : report.pools) bytes += pool.own_ring_bytes;
  return std::min(bytes, report.memory_bytes);
}

// Of the whole ring.
double BytesPerPoint(const RingReport& report) {
  return static_cast<double>(report.memory_bytes - OwnRingBytes(report)) /
         static_cast<double>(report.points);
}

// "0.95 to 1.05", "under 0.50", "1.50 and more".
std::string LoadClassName(std::size_t index) {
  if (index == 0) return "under " + FixedPoint(kLoadClasses[1], 2);
  if (index + 1 == kLoadClasses.size()) return FixedPoint(kLoadClasses[index], 2) + " and more";
  return FixedPoint(kLoadClasses[index], 2) + " to " + FixedPoint(kLoadClasses[index + 1], 2);
}

void PrintRings(const std::vector<RingReport>& reports, Output& output) {
  std::vector<Table::Column> columns = {{"RING"}};
  for (const RingReport& report : reports) {
    columns.push_back({report.ring_version, Table::kRight});
  }
  Table table(std::move(columns));
  const auto add_row = [&](std::string_view title, const auto& cell) {
    std::vector<std::string> cells = {std::string(title)};
    for (const RingReport& report : reports) cells.push_back(cell(report));
    table.AddRow(std::move(cells));
  };
  using Report = const RingReport&;
  add_row("points per weight", [](Report r) { return HumanCount(r.points_per_weight); });
  add_row("layout", [](Report r) { return r.layout; });
  add_row("points", [](Report r) { return HumanCount(r.points); });
  add_row("memory", [](Report r) { return HumanBytes(r.memory_bytes); });
  add_row("memory, bytes", [](Report r) { return HumanCount(r.memory_bytes); });
  if (std::any_of(reports.begin(), reports.end(), OwnRingBytes)) {
    add_row("of that, own rings of pools", [](Report r) { return HumanBytes(OwnRingBytes(r)); });
  }
  add_row("bytes per point", [](Report r) { return FixedPoint(BytesPerPoint(r), 2); });
  add_row("collisions", [](Report r) { return HumanCount(r.collisions); });
  add_row("build time", [](Report r) {
    return r.build_seconds < 1 ? FixedPoint(r.build_seconds * 1000, 1) + " ms"
                               : FixedPoint(r.build_seconds, 1) + " s";
  });
  add_row("checksum", [](Report r) { return ChecksumText(r.checksum); });
  table.Print(output);
}

void PrintPools(const std::vector<RingReport>& reports, Output& output) {
  Table table({{"POOL"},
               {"RING"},
               {"NODES", Table::kRight},
               {"CV", Table::kRight},
               {"MAX/MEAN", Table::kRight},
               {"MIN/MEAN", Table::kRight},
               {"HIGHEST LOAD"},
               {"LOWEST LOAD"}});
  for (std::size_t i = 0; i < reports.front().pools.size(); ++i) {
    for (const RingReport& report : reports) {
      const PoolBalance& pool = report.pools[i].balance;
      std::vector<std::string> cells = {pool.pool, report.ring_version, HumanCount(pool.nodes)};
      if (pool.nodes == 0) {
        cells.insert(cells.end(), 5, "-");
      } else {
        cells.insert(cells.end(), {FixedPoint(pool.cv, 4), FixedPoint(pool.max_ratio, 3),
                                   FixedPoint(pool.min_ratio, 3), pool.max_node, pool.min_node});
      }
      table.AddRow(std::move(cells));
    }
  }
  table.Print(output);
}

std::string OwnRingOf(const PoolReport& pool) {
  if (pool.own_ring_bytes > 0) return HumanBytes(pool.own_ring_bytes);
  return pool.lacks_own_ring ? "no memory left" : "not needed";
}

// How far lookups in the pools of the topology walk. In `default`, nothing is skipped.
void PrintWalks(const std::vector<RingReport>& reports, Output& output) {
  Table table({{"POOL"},
               {"RING"},
               {"POINTS", Table::kRight},
               {"MEAN WALK", Table::kRight},
               {"LONGEST", Table::kRight},
               {"OWN RING"}});
  bool is_lacking = false;
  for (std::size_t i = 1; i < reports.front().pools.size(); ++i) {
    for (const RingReport& report : reports) {
      const PoolReport& pool = report.pools[i];
      is_lacking = is_lacking || pool.lacks_own_ring;
      std::vector<std::string> cells = {pool.balance.pool, report.ring_version,
                                        HumanCount(pool.walk.points)};
      if (pool.balance.nodes == 0) {
        cells.insert(cells.end(), 3, "-");
      } else {
        cells.insert(cells.end(), {FixedPoint(pool.walk.mean, 1), HumanCount(pool.walk.longest),
                                   OwnRingOf(pool)});
      }
      table.AddRow(std::move(cells));
    }
  }
  output.Write("\nHow many points of the ring a lookup in a pool looks at\n\n");
  table.Print(output);
  if (!is_lacking) return;
  output.Write(
      "\nPools with a mean walk above " + HumanCount(static_cast<std::uint64_t>(kLongMeanWalk)) +
      " points have a ring of their own, the farthest first, as long as all of these take\n"
      "less than 1/" +
      HumanCount(kPoolRingsPart) +
      " of the ring. Where no memory is left for one, lookups take about a nanosecond a "
      "point.\n");
}

// How many nodes carry which load, in the pool `default`.
void PrintLoads(const std::vector<RingReport>& reports, Output& output) {
  constexpr std::size_t kBarWidth = 24;
  std::vector<Table::Column> columns = {{"LOAD OF A NODE"}};
  for (const RingReport& report : reports) {
    columns.push_back({report.ring_version + " NODES", Table::kRight});
    columns.push_back({""});
  }
  Table table(std::move(columns));
  for (std::size_t i = 0; i < kLoadClasses.size(); ++i) {
    std::vector<std::string> cells = {LoadClassName(i)};
    for (const RingReport& report : reports) {
      const PoolBalance& pool = report.pools.front().balance;
      const std::size_t count = pool.nodes_by_load[i];
      cells.push_back(HumanCount(count));
      // Rounded up, so that a single node of many is seen.
      const std::size_t bar =
          pool.nodes == 0 ? 0 : (count * kBarWidth + pool.nodes - 1) / pool.nodes;
      cells.emplace_back(std::min(bar, kBarWidth), '#');
    }
    table.AddRow(std::move(cells));
  }
  table.Print(output);
}

}  // namespace

absl::StatusOr<RingReport> ReportRing(const OfflineDataCenter& data_center,
                                      const TimedRing& built) {
  const Ring& ring = *built.ring;
  RingReport report{.ring_version = std::string(RingVersionName(ring.parameters().version)),
                    .points_per_weight = ring.parameters().points_per_weight,
                    .layout = std::string(RingLayoutName(ring.parameters().layout)),
                    .points = ring.point_count(),
                    .memory_bytes = ring.memory_bytes(),
                    .collisions = ring.collision_count(),
                    .checksum = ring.checksum(),
                    .build_seconds = built.build_time.count(),
                    .pools = {}};
  const absl::StatusOr<std::vector<DataCenter::Pool>> pools =
      DataCenter::MakePools(data_center.spec, *data_center.nodes);
  if (!pools.ok()) return pools.status();
  std::vector<const NodeMask*> views;
  for (const DataCenter::Pool& pool : *pools) views.push_back(&pool.nodes);
  const absl::StatusOr<std::vector<PoolRing>> rings =
      BuildPoolRings(data_center.nodes, ring, views);
  if (!rings.ok()) return rings.status();
  for (std::size_t i = 0; i < pools->size(); ++i) {
    const DataCenter::Pool& pool = (*pools)[i];
    const PoolRing& own = (*rings)[i];
    report.pools.push_back({MeasurePoolBalance(ring, *data_center.nodes, pool.name, pool.nodes),
                            own.walk, own.own_bytes(), own.lacks_own()});
    report.memory_bytes += own.own_bytes();
  }
  return report;
}

void PrintReport(const DataCenterReport& report, Output& output) {
  output.Write("Data center " + ForTerminal(report.data_center) + ": " + HumanCount(report.nodes) +
               " nodes, total weight " + HumanCount(report.total_weight) + "\n\n");
  PrintRings(report.rings, output);
  output.Write("\n");
  PrintPools(report.rings, output);
  if (report.rings.front().pools.size() > 1) PrintWalks(report.rings, output);
  output.Write("\n");
  PrintLoads(report.rings, output);
  if (report.rings.size() < 2) return;
  const RingReport& v1 = report.rings.front();
  const RingReport& v2 = report.rings.back();
  const double part = static_cast<double>(v2.memory_bytes) / static_cast<double>(v1.memory_bytes);
  const bool saves = v2.memory_bytes <= v1.memory_bytes;
  const std::uint64_t difference =
      saves ? v1.memory_bytes - v2.memory_bytes : v2.memory_bytes - v1.memory_bytes;
  output.Write("\nv2 takes " + FixedPoint(100 * part, 1) + "% of the memory of v1: it " +
               (saves ? "saves " : "costs ") + HumanBytes(difference) + (saves ? "" : " more") +
               ".\n");
}

std::string ReportAsJson(const DataCenterReport& data_center) {
  JsonWriter json;
  json.BeginObject();
  json.Key("data_center").String(data_center.data_center);
  json.Key("nodes").Uint(data_center.nodes);
  json.Key("total_weight").Uint(data_center.total_weight);
  json.Key("rings").BeginArray();
  for (const RingReport& report : data_center.rings) {
    json.BeginObject();
    json.Key("ring_version").String(report.ring_version);
    json.Key("points_per_weight").Uint(report.points_per_weight);
    json.Key("layout").String(report.layout);
    json.Key("points").Uint(report.points);
    json.Key("memory_bytes").Uint(report.memory_bytes);
    json.Key("bytes_per_point").Double(BytesPerPoint(report));
    json.Key("collisions").Uint(report.collisions);
    json.Key("build_seconds").Double(report.build_seconds);
    json.Key("checksum").String(ChecksumText(report.checksum));
    json.Key("pools").BeginArray();
    for (const PoolReport& report_of_pool : report.pools) {
      const PoolBalance& pool = report_of_pool.balance;
      json.BeginObject();
      json.Key("pool").String(pool.pool);
      json.Key("nodes").Uint(pool.nodes);
      json.Key("cv").Double(pool.cv);
      json.Key("max_ratio").Double(pool.max_ratio);
      json.Key("min_ratio").Double(pool.min_ratio);
      json.Key("max_node").String(pool.max_node);
      json.Key("min_node").String(pool.min_node);
      json.Key("points").Uint(report_of_pool.walk.points);
      json.Key("mean_walk").Double(report_of_pool.walk.mean);
      json.Key("longest_walk").Uint(report_of_pool.walk.longest);
      json.Key("own_ring_memory_bytes").Uint(report_of_pool.own_ring_bytes);
      json.Key("lacks_own_ring").Bool(report_of_pool.lacks_own_ring);
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
