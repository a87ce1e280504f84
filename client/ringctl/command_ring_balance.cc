#include "client/ringctl/command_ring_balance.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/balance_plot.h"
#include "client/ringctl/balance_report.h"
#include "client/ringctl/build_progress.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/ring_of_file.h"
#include "ring/ring.h"

namespace ringshift {
namespace {

struct BalanceOptions {
  std::string topology_file;
  std::string data_center;
  std::string ring;  // empty: those that there are
  std::string pool;
  std::string plot;  // empty: none
  bool json = false;
};

absl::StatusOr<BalanceReport> Measure(const BalanceOptions& options,
                                      const OfflineDataCenter& data_center) {
  absl::StatusOr<BalanceReport> report = StartBalance(data_center, options.pool);
  if (!report.ok()) return report;
  std::vector<RingParameters> wanted;
  if (data_center.spec.v1 && options.ring != "v2") wanted.push_back(*data_center.spec.v1);
  if (options.ring != "v1") wanted.push_back(data_center.spec.v2);
  for (const RingParameters& parameters : wanted) {
    // One ring at a time: each is gone before the next is built.
    const absl::StatusOr<TimedRing> built = BuildRing(data_center, parameters);
    if (!built.ok()) return built.status();
    const BuildProgress progress("measuring " + std::string(RingVersionName(parameters.version)));
    absl::StatusOr<RingBalance> balance = MeasureBalance(data_center, *built->ring, options.pool);
    if (!balance.ok()) return balance.status();
    report->rings.push_back(*std::move(balance));
  }
  return report;
}

ExitCode WritePlot(const BalanceReport& report, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << BalanceAsSvg(report);
  if (file.flush()) return ExitCode::kOk;
  return Fail(ExitCode::kInput, absl::StrCat("cannot write ", path, ": ", std::strerror(errno)),
              "give --plot a file that can be written");
}

ExitCode Balance(const BalanceOptions& options) {
  const absl::StatusOr<OfflineDataCenter> data_center =
      LoadDataCenter(options.topology_file, options.data_center);
  if (!data_center.ok()) return FailOffline(data_center.status());
  for (const std::string& warning : data_center->warnings) Warn(warning);
  if (options.ring == "v1" && !data_center->spec.v1) return FailNoV1(options.data_center);
  const absl::StatusOr<BalanceReport> report = Measure(options, *data_center);
  if (!report.ok()) return FailOffline(report.status());
  Output output(STDOUT_FILENO);
  if (options.json) {
    output.Write(BalanceAsJson(*report));
  } else {
    PrintBalance(*report, output);
  }
  const ExitCode written = output.Finish();
  // Last, so that what was measured is not lost where the picture cannot be written.
  if (written != ExitCode::kOk || options.plot.empty()) return written;
  return WritePlot(*report, options.plot);
}

}  // namespace

void AddRingBalanceCommand(CLI::App& ring, ExitCode& result) {
  auto options = std::make_shared<BalanceOptions>();
  CLI::App* command = ring.add_subcommand(
      "balance", "The share of every node against its ideal one, as a chart (offline)");
  AddDataCenterOfFileOptions(*command, options->topology_file, options->data_center);
  command->add_option("--ring", options->ring, "v1 or v2 alone (default: those that there are)")
      ->type_name("v1|v2")
      ->check(CheckOneOf({"v1", "v2"}));
  command->add_option("--pool", options->pool, "The pool whose nodes may own (default: every node)")
      ->type_name("NAME");
  command->add_option("--plot", options->plot, "Also write a picture of it to this file, as SVG")
      ->type_name("FILE")
      ->check(CheckFileName);
  command->add_flag("--json", options->json, "One JSON object instead of charts");
  command->footer(
      R"(Builds the rings of the file one after the other and measures, exactly, which share of the key
space every node owns. The load of a node is its share divided by its ideal one, which is its part of
the weight: 1 is perfect. CV is the coefficient of variation of the loads; IN THEORY is what that
many points promise. Of more than 48 nodes, those with about one load share a line.

Examples:
  ringctl ring balance --topology topology.yaml --data-center ams
  ringctl ring balance --topology topology.yaml --data-center ams --plot ams.svg
  ringctl ring balance --topology topology.yaml --data-center ams --ring v2 --pool fedramp --json |
    jq '.rings[].nodes[0]')");
  command->callback([options, &result] { result = Balance(*options); });
}

}  // namespace ringshift
