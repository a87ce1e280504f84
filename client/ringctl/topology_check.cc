#include "client/ringctl/topology_check.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/build_estimate.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "ring/ownership.h"
#include "ring/pool_rings.h"
#include "ring/ring.h"
#include "routing/data_center.h"
#include "routing/topology.h"
#include "routing/topology_loader.h"

namespace ringshift {
namespace {

struct CheckOptions {
  std::string file;
  std::optional<std::string> data_center;  // none: all
  bool json = false;
};

// What a ring will be, without building it.
struct PlannedRing {
  RingParameters parameters;
  RingSize size;  // with what sparse pools' own rings take at the most
  double build_seconds = 0;
  BalancePrediction balance;
};

struct PlannedPool {
  std::string name;
  std::size_t nodes = 0;
};

struct PlannedDataCenter {
  std::string name;
  std::string tier;
  std::size_t nodes = 0;
  std::uint64_t total_weight = 0;
  std::vector<PlannedPool> pools;  // `default` first
  std::vector<PlannedRing> rings;  // v1, unless there is none, then v2
  std::uint64_t build_bytes = 0;   // that building them takes at the peak
};

absl::StatusOr<PlannedDataCenter> Plan(const DataCenterSpec& spec, BuildEstimate& estimate) {
  const absl::StatusOr<std::shared_ptr<const NodeSet>> nodes = MakeNodeSet(spec);
  if (!nodes.ok()) return nodes.status();
  PlannedDataCenter planned{.name = spec.name,
                            .tier = spec.tier,
                            .nodes = (*nodes)->size(),
                            .total_weight = (*nodes)->total_weight(),
                            .pools = {},
                            .rings = {},
                            .build_bytes = 0};
  const absl::StatusOr<BuildMemory> memory = DataCenter::MeasureBuild(spec);
  if (!memory.ok()) return memory.status();
  planned.build_bytes = memory->peak_bytes;
  const absl::StatusOr<std::vector<DataCenter::Pool>> pools = DataCenter::MakePools(spec, **nodes);
  if (!pools.ok()) return pools.status();
  std::vector<const NodeMask*> masks;
  for (const DataCenter::Pool& pool : *pools) {
    planned.pools.push_back({pool.name, pool.nodes.count()});
    masks.push_back(&pool.nodes);
  }
  std::vector<RingParameters> wanted;
  if (spec.v1) wanted.push_back(*spec.v1);
  wanted.push_back(spec.v2);
  for (const RingParameters& parameters : wanted) {
    absl::StatusOr<RingSize> size = Ring::Measure(**nodes, parameters);
    if (!size.ok()) return size.status();
    const absl::StatusOr<std::uint64_t> pool_rings = MeasurePoolRings(**nodes, parameters, masks);
    if (!pool_rings.ok()) return pool_rings.status();
    size->bytes += *pool_rings;
    const auto time = estimate.For(size->points, parameters.layout);
    if (!time.ok()) return time.status();
    planned.rings.push_back(
        {parameters, *size, time->count(), PredictBalance(**nodes, parameters)});
  }
  return planned;
}

std::string HumanSeconds(double seconds) {
  return seconds < 1 ? FixedPoint(seconds * 1000, 0) + " ms" : FixedPoint(seconds, 1) + " s";
}

void PrintPlan(const std::vector<PlannedDataCenter>& data_centers, std::size_t warnings,
               Output& output) {
  Table table({{"DATA CENTER"},
               {"NODES", Table::kRight},
               {"POOLS", Table::kRight},
               {"RING"},
               {"POINTS", Table::kRight},
               {"LAYOUT"},
               {"MEMORY", Table::kRight},
               {"BUILD", Table::kRight},
               {"CV", Table::kRight},
               {"MAX/MEAN", Table::kRight}});
  std::uint64_t bytes = 0;
  double seconds = 0;
  const PlannedDataCenter* largest = &data_centers.front();
  for (const PlannedDataCenter& data_center : data_centers) {
    if (data_center.build_bytes > largest->build_bytes) largest = &data_center;
    for (const PlannedRing& ring : data_center.rings) {
      bytes += ring.size.bytes;
      seconds += ring.build_seconds;
      const bool is_first = &ring == &data_center.rings.front();
      table.AddRow({is_first ? data_center.name : "", is_first ? HumanCount(data_center.nodes) : "",
                    is_first ? HumanCount(data_center.pools.size()) : "",
                    std::string(RingVersionName(ring.parameters.version)),
                    HumanCount(ring.size.points),
                    std::string(RingLayoutName(ring.parameters.layout)),
                    HumanBytes(ring.size.bytes), HumanSeconds(ring.build_seconds),
                    FixedPoint(ring.balance.cv, 4), FixedPoint(ring.balance.max_ratio, 3)});
    }
  }
  table.Print(output);
  output.Write(absl::StrCat("\nThe topology is good, with ", HumanCount(warnings),
                            warnings == 1 ? " warning" : " warnings", ". Its rings take ",
                            HumanBytes(bytes), " and, on this machine, about ",
                            HumanSeconds(seconds), " to build. To change the largest, ",
                            largest->name, ", a router needs up to ",
                            HumanBytes(largest->build_bytes), " more for a while.\n"));
}

std::string PlanAsJson(const std::vector<PlannedDataCenter>& data_centers,
                       const std::vector<std::string>& warnings) {
  JsonWriter json;
  json.BeginObject();
  json.Key("data_centers").BeginArray();
  for (const PlannedDataCenter& data_center : data_centers) {
    json.BeginObject();
    json.Key("data_center").String(data_center.name);
    json.Key("tier").String(data_center.tier);
    json.Key("nodes").Uint(data_center.nodes);
    json.Key("total_weight").Uint(data_center.total_weight);
    json.Key("pools").BeginArray();
    for (const PlannedPool& pool : data_center.pools) {
      json.BeginObject();
      json.Key("pool").String(pool.name);
      json.Key("nodes").Uint(pool.nodes);
      json.EndObject();
    }
    json.EndArray();
    json.Key("rings").BeginArray();
    for (const PlannedRing& ring : data_center.rings) {
      json.BeginObject();
      json.Key("ring_version").String(RingVersionName(ring.parameters.version));
      json.Key("points_per_weight").Uint(ring.parameters.points_per_weight);
      json.Key("layout").String(RingLayoutName(ring.parameters.layout));
      json.Key("points").Uint(ring.size.points);
      json.Key("memory_bytes").Uint(ring.size.bytes);
      json.Key("estimated_build_seconds").Double(ring.build_seconds);
      json.Key("predicted_cv").Double(ring.balance.cv);
      json.Key("predicted_max_ratio").Double(ring.balance.max_ratio);
      json.EndObject();
    }
    json.EndArray();
    json.Key("build_memory_bytes").Uint(data_center.build_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Key("warnings").BeginArray();
  for (const std::string& warning : warnings) json.String(warning);
  json.EndArray();
  json.EndObject();
  return json.TakeLine();
}

ExitCode Check(const CheckOptions& options) {
  const absl::StatusOr<LoadedTopology> loaded = LoadTopologyFile(options.file);
  if (!loaded.ok()) return FailOffline(loaded.status());
  std::vector<std::string> warnings = loaded->warnings;
  if (options.data_center) {
    const absl::StatusOr<OfflineDataCenter> found =
        FindDataCenter(*loaded, options.file, *options.data_center);
    if (!found.ok()) return FailOffline(found.status());
    warnings = found->warnings;
  }
  std::vector<PlannedDataCenter> planned;
  BuildEstimate estimate;
  for (const DataCenterSpec& spec : loaded->topology.data_centers) {
    if (options.data_center && spec.name != *options.data_center) continue;
    absl::StatusOr<PlannedDataCenter> data_center = Plan(spec, estimate);
    if (!data_center.ok()) return FailOffline(data_center.status());
    planned.push_back(*std::move(data_center));
  }

  Output output(STDOUT_FILENO);
  if (options.json) {
    output.Write(PlanAsJson(planned, warnings));
  } else {
    PrintPlan(planned, warnings.size(), output);
  }
  const ExitCode written = output.Finish();
  if (!options.json) {
    for (const std::string& warning : warnings) Warn(warning);
  }
  return written;
}

}  // namespace

void AddTopologyCheckCommand(CLI::App& topology, ExitCode& result) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = topology.add_subcommand(
      "check", "Whether a topology file is good, and what its rings will take (offline)");
  command->add_option("FILE", options->file, "The topology file")->required()->type_name("");
  command
      ->add_option("--data-center", options->data_center,
                   "Describe this one only (default: all); the file is checked whole")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  command->footer(
      R"(Reads the file as a router does, and says where and why it is wrong (exit code 3). For a good one:
points, memory, build time and balance of every ring, without building any. The build time is
reckoned from a small ring that is built here and now; CV and MAX/MEAN are what theory expects of so
many points. Everything that deserves attention is a warning on stderr (in JSON, in the object).

Examples:
  ringctl topology check topology.yaml
  ringctl topology check topology.yaml --data-center ams
  ringctl topology check topology.yaml --json | jq '[.data_centers[].rings[].memory_bytes] | add')");
  command->callback([options, &result] { result = Check(*options); });
}

}  // namespace ringshift
