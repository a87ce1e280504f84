#include "client/command_ring.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/offline.h"
#include "client/output.h"
#include "client/ring_report.h"

namespace ringshift {
namespace {

struct StatsOptions {
  std::string topology_file;
  std::string data_center;
  bool json = false;
};

ExitCode Stats(const StatsOptions& options) {
  const absl::StatusOr<OfflineDataCenter> data_center =
      LoadDataCenter(options.topology_file, options.data_center);
  if (!data_center.ok()) return FailOffline(data_center.status());
  for (const std::string& warning : data_center->warnings) Warn(warning);

  std::vector<RingParameters> wanted;
  if (data_center->spec.v1) wanted.push_back(*data_center->spec.v1);
  wanted.push_back(data_center->spec.v2);
  std::vector<RingReport> reports;
  for (const RingParameters& parameters : wanted) {
    // One ring at a time: each is gone before the next is built.
    const absl::StatusOr<TimedRing> built = BuildRing(*data_center, parameters);
    if (!built.ok()) return FailOffline(built.status());
    absl::StatusOr<RingReport> report = ReportRing(*data_center, *built);
    if (!report.ok()) return FailOffline(report.status());
    reports.push_back(*std::move(report));
  }

  Output output(STDOUT_FILENO);
  if (options.json) {
    output.Write(RingReportsAsJson(*data_center, reports));
  } else {
    PrintRingReports(*data_center, reports, output);
  }
  return output.Finish();
}

}  // namespace

void AddRingCommand(CLI::App& ringctl, ExitCode& result) {
  CLI::App* ring =
      ringctl.add_subcommand("ring", "Looks at the rings of a topology file (offline)");
  ring->require_subcommand(1);
  auto options = std::make_shared<StatsOptions>();
  CLI::App* stats =
      ring->add_subcommand("stats", "Size, memory and balance of a data center's rings");
  stats->add_option("--topology", options->topology_file, "The topology file")
      ->required()
      ->type_name("FILE");
  stats->add_option("--data-center", options->data_center, "The data center, as the file names it")
      ->required()
      ->type_name("NAME");
  stats->add_flag("--json", options->json, "One JSON object instead of tables");
  stats->footer(
      R"(Builds each ring of the data center and measures, exactly, which part of the key space every node
owns. The load of a node is its part divided by its part of the weight; 1 is its fair share. CV is
the coefficient of variation of the loads, max/mean and min/mean the highest and the lowest load.

Examples:
  ringctl ring stats --topology topology.yaml --data-center ams
  ringctl ring stats --topology topology.yaml --data-center ams --json | jq '.rings[].memory_bytes')");
  stats->callback([options, &result] { result = Stats(*options); });
}

}  // namespace ringshift
