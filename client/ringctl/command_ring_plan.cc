#include "client/ringctl/command_ring_plan.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/ring_of_file.h"
#include "client/ringctl/ring_plan.h"
#include "client/ringctl/ring_plan_view.h"
#include "client/ringctl/text.h"
#include "ring/ring.h"
#include "routing/byte_size.h"

namespace ringshift {
namespace {

struct PlanOptions {
  std::string topology_file;
  std::string data_center;
  std::string ring;  // empty: v1 if there is one
  std::string target_cv;
  std::string max_memory;
  bool json = false;
};

// "0.02" or "2%", above 0 and at most 1; none if it is neither.
std::optional<double> ParseCv(std::string text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.pop_back();
  double value = 0;
  if (text.find_first_not_of("0123456789.") != std::string::npos ||
      !absl::SimpleAtod(text, &value)) {
    return std::nullopt;
  }
  if (is_percent) value /= 100;
  if (!(value > 0) || value > 1) return std::nullopt;
  return value;
}

std::string CheckCv(const std::string& text) {
  return ParseCv(text) ? ""
                       : "\"" + ForTerminal(text) +
                             "\" is not a CV above 0 and up to 1: for example 0.02, or 2%";
}

std::string CheckMemory(const std::string& text) {
  return std::string(ParseByteSize(text).status().message());
}

ExitCode Plan(const PlanOptions& options) {
  const absl::StatusOr<OfflineDataCenter> data_center =
      LoadDataCenter(options.topology_file, options.data_center);
  if (!data_center.ok()) return FailOffline(data_center.status());
  for (const std::string& warning : data_center->warnings) Warn(warning);
  const DataCenterSpec& spec = data_center->spec;
  if (options.ring == "v1" && !spec.v1) return FailNoV1(options.data_center);
  const RingParameters today = spec.v1 && options.ring != "v2" ? *spec.v1 : spec.v2;
  PlanGoal goal;
  if (!options.target_cv.empty()) goal.cv = ParseCv(options.target_cv);
  if (!options.max_memory.empty()) goal.bytes = ParseByteSize(options.max_memory).value();

  const absl::StatusOr<RingPlan> plan = PlanRings(*data_center, today, goal);
  if (!plan.ok()) return FailOffline(plan.status());
  Output output(STDOUT_FILENO);
  if (options.json) {
    output.Write(PlanAsJson(*plan));
  } else {
    PrintPlan(*plan, output);
  }
  const ExitCode written = output.Finish();
  if (written != ExitCode::kOk || plan->recommended) return written;
  return Fail(ExitCode::kDeclined,
              absl::StrCat("no ring of up to ", HumanCount(kMostPlannedPoints),
                           " points reaches the goal, ", GoalText(plan->goal)),
              plan->goal.bytes ? "allow more memory" : "allow a higher CV");
}

}  // namespace

void AddRingPlanCommand(CLI::App& ring, ExitCode& result) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = ring.add_subcommand(
      "plan", "Which ring to take for a balance, or for an amount of memory (offline)");
  AddDataCenterOfFileOptions(*command, options->topology_file, options->data_center);
  command
      ->add_option("--ring", options->ring,
                   "The ring that answers today (default: v1, or v2 where there is no v1)")
      ->type_name("v1|v2")
      ->check(CheckOneOf({"v1", "v2"}));
  CLI::Option* target_cv =
      command
          ->add_option("--target-cv", options->target_cv,
                       "The highest coefficient of variation of the loads: 0.02, or 2%")
          ->type_name("CV")
          ->check(CheckCv);
  CLI::Option* max_memory = command
                                ->add_option("--max-memory", options->max_memory,
                                             "The most that the ring may take: 512MiB")
                                ->type_name("BYTES")
                                ->check(CheckMemory);
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  command->footer(
      R"(Builds today's ring and others with fewer and more points, and measures all of them: the memory in
every layout, the balance (CV, max/mean) beside what theory expects, the hashes that several nodes
share, and the part of the keys that moves from today's ring. Nothing is changed.

Recommended is, first of all, what moves no key: today's ring in its smallest layout. Where that does
not reach the goal, it is the smallest of these with the CV, or the most even one that fits. Without a
goal it is a CV of at most 1%, or of today's ring where that is higher. Exit code 1: nothing does.

Large rings take seconds each; the line on the terminal says which one is being built.

Examples:
  ringctl ring plan --topology topology.yaml --data-center ams
  ringctl ring plan --topology topology.yaml --data-center ams --target-cv 2%
  ringctl ring plan --topology topology.yaml --data-center ams --max-memory 512MiB --json |
    jq '.recommended')");
  command->callback([options, target_cv, max_memory, &result] {
    if (target_cv->count() > 0 && max_memory->count() > 0) {
      result = Fail(ExitCode::kUsage, "--target-cv and --max-memory exclude each other",
                    "see `ringctl ring plan --help`");
      return;
    }
    result = Plan(*options);
  });
}

}  // namespace ringshift
