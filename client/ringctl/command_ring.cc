#include "client/ringctl/command_ring.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/ringctl/build_progress.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/command_ring_balance.h"
#include "client/ringctl/command_ring_diff.h"
#include "client/ringctl/command_ring_plan.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/ring_report.h"
#include "client/ringctl/ring_stats_client.h"

namespace ringshift {
namespace {

struct StatsOptions {
  RemoteOptions remote;
  std::optional<std::string> topology_file;  // none: ask the router
  std::string data_center;
  bool json = false;
};

// Measures the rings of the topology file. kOk, or says what went wrong.
ExitCode MeasureOffline(const StatsOptions& options, DataCenterReport& report) {
  const absl::StatusOr<OfflineDataCenter> data_center =
      LoadDataCenter(*options.topology_file, options.data_center);
  if (!data_center.ok()) return FailOffline(data_center.status());
  for (const std::string& warning : data_center->warnings) Warn(warning);

  report.data_center = data_center->spec.name;
  report.nodes = data_center->nodes->size();
  report.total_weight = data_center->nodes->total_weight();
  std::vector<RingParameters> wanted;
  if (data_center->spec.v1) wanted.push_back(*data_center->spec.v1);
  wanted.push_back(data_center->spec.v2);
  for (const RingParameters& parameters : wanted) {
    // One ring at a time: each is gone before the next is built.
    const absl::StatusOr<TimedRing> built = BuildRing(*data_center, parameters);
    if (!built.ok()) return FailOffline(built.status());
    const BuildProgress progress("measuring " + std::string(RingVersionName(parameters.version)));
    absl::StatusOr<RingReport> ring = ReportRing(*data_center, *built);
    if (!ring.ok()) return FailOffline(ring.status());
    report.rings.push_back(*std::move(ring));
  }
  return ExitCode::kOk;
}

ExitCode Stats(const StatsOptions& options) {
  DataCenterReport report;
  if (options.topology_file) {
    const ExitCode measured = MeasureOffline(options, report);
    if (measured != ExitCode::kOk) return measured;
  } else {
    const Remote remote(options.remote);
    const grpc::Status status = GetRingStats(remote, options.data_center, report);
    if (!status.ok()) return remote.FailCall(status);
  }
  Output output(STDOUT_FILENO);
  if (options.json) {
    output.Write(ReportAsJson(report));
  } else {
    PrintReport(report, output);
  }
  return output.Finish();
}

void AddStats(CLI::App& ring, ExitCode& result) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* command =
      ring.add_subcommand("stats", "Size, memory and balance of a data center's rings");
  const CLI::Option* topology =
      command
          ->add_option("--topology", options->topology_file,
                       "Build the rings of this topology file, and ask no router")
          ->type_name("FILE");
  command->add_option("--data-center", options->data_center, "The data center")
      ->required()
      ->type_name("NAME")
      ->check(CheckUtf8);
  command->add_flag("--json", options->json, "One JSON object instead of tables");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin, kDefaultTimeout, topology);
  command->footer(
      R"(Measures, exactly, which part of the key space every node owns: on the rings that a router serves,
or, with --topology, on rings that it builds from a file. The load of a node is its part divided by
its part of the weight; 1 is its fair share. CV is the coefficient of variation of the loads,
max/mean and min/mean the highest and the lowest load.

Examples:
  ringctl ring stats --data-center ams
  ringctl ring stats --topology topology.yaml --data-center ams
  ringctl ring stats --topology topology.yaml --data-center ams --json | jq '.rings[].memory_bytes')");
  command->callback([options, command, &result] {
    if (options->topology_file && command->count("--server") > 0) {
      result = Fail(ExitCode::kUsage, "--topology and --server exclude each other",
                    "see `ringctl ring stats --help`");
      return;
    }
    result = Stats(*options);
  });
}

}  // namespace

void AddRingCommand(CLI::App& ringctl, ExitCode& result) {
  CLI::App* ring =
      ringctl.add_subcommand("ring", "Measures rings, and what moves from one ring to another");
  ring->require_subcommand(1);
  ring->footer(R"(Examples:
  ringctl ring stats --data-center ams
  ringctl ring balance --topology topology.yaml --data-center ams --plot ams.svg
  ringctl ring plan --topology topology.yaml --data-center ams --target-cv 2%
  ringctl ring diff --from old.yaml --to new.yaml --data-center ams)");
  AddStats(*ring, result);
  AddRingBalanceCommand(*ring, result);
  AddRingPlanCommand(*ring, result);
  AddRingDiffCommand(*ring, result);
}

}  // namespace ringshift
