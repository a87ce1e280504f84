#include "client/ringctl/command_top.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/interrupt.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/screen.h"
#include "client/ringctl/text.h"
#include "client/ringctl/top_view.h"
#include "client/ringctl/topology_client.h"

namespace ringshift {
namespace {

struct TopOptions {
  RemoteOptions remote;
  std::string interval = "1s";        // as ParseTimeout reads it
  std::optional<std::int64_t> count;  // none: without end on a terminal, else 1
  bool json = false;
};

std::string CheckInterval(const std::string& text) {
  return std::string(ParseTimeout(text).status().message());
}

// Reads all of it. Errors: those of the calls.
grpc::Status Read(Remote& remote, TopView& view) {
  remote.RestartClock();
  TopView now;
  now.server = remote.server();
  TopologyClient topology(remote);
  grpc::Status status = topology.GetStatus(now.status);
  if (status.ok()) status = topology.List(now.data_centers);
  if (status.ok()) status = MigrationClient(remote).List(now.migrations);
  if (!status.ok()) return status;
  now.time = absl::Now();
  view = std::move(now);
  return status;
}

// Calls `show(view)` at each interval, until it returns false or has been called often enough.
// Once a router has answered, an error is shown, and does not end it.
template <typename Show>
ExitCode Repeat(const TopOptions& options, std::int64_t count, const Show& show) {
  Remote remote(options.remote);
  const absl::Duration interval = ParseTimeout(options.interval).value();
  TopView view;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) absl::SleepFor(interval);
    const grpc::Status status = Read(remote, view);
    if (!status.ok() && i == 0) return remote.FailCall(status);
    if (!status.ok()) view.error = remote.Describe(status);
    if (!show(view)) break;
  }
  return ExitCode::kOk;
}

// A terminal that can be drawn on.
bool IsScreen(int fd) {
  const char* const term = std::getenv("TERM");
  return ::isatty(fd) != 0 && term != nullptr && *term != '\0' && std::strcmp(term, "dumb") != 0;
}

ExitCode Top(const TopOptions& options) {
  constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
  if (!options.json && IsScreen(STDOUT_FILENO)) {
    Screen screen(STDOUT_FILENO);
    const Interrupt interrupt([&screen] { screen.Close(); });
    return Repeat(options, options.count.value_or(kForEver), [&screen](const TopView& view) {
      return screen.Draw(TopLines(view, screen.size()));
    });
  }
  Output output(STDOUT_FILENO);
  const Interrupt interrupt([] {});
  bool is_first = true;
  const ExitCode result = Repeat(options, options.count.value_or(1), [&](const TopView& view) {
    if (options.json) {
      JsonWriter json;
      WriteTop(view, json);
      output.Write(json.TakeLine());
    } else {
      if (!std::exchange(is_first, false)) output.Write("\n");
      for (const std::string& line : TopLines(view, Screen::kNoLimit)) {
        output.Write(line + "\n");
      }
    }
    output.Flush();
    return output.ok();
  });
  const ExitCode written = output.Finish();
  return result == ExitCode::kOk ? written : result;
}

}  // namespace

void AddTopCommand(CLI::App& ringctl, ExitCode& result) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "top", "A router's shares, keys and errors a second, outcomes, and memory: a live table");
  command->add_option("--interval", options->interval, "Between two looks (default: 1s)")
      ->type_name("DURATION")
      ->check(CheckInterval);
  command
      ->add_option("--count", options->count,
                   "End after so many looks (default: never on a terminal, else 1)")
      ->type_name("COUNT")
      ->check(CheckWholeNumber(1, std::numeric_limits<std::int64_t>::max()));
  command->add_flag("--json", options->json, "One JSON object for each look, one a line");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(
      R"(On a terminal it draws in place until Ctrl-C, and gives the terminal back as it was, with the last table.
Where that is narrow, columns at the right are left out; where it has no room for all data centers, those
that do not answer as they shall come first, then those that are on their way, then the busiest.
Elsewhere it prints one table and ends. Rates, outcomes and measured shares are those of the last 60
seconds. There are columns for outcomes where edge services report some: the parts of each ring's
reported requests that came from the origin, and that found no connection to their node.

Examples:
  ringctl top
  ringctl top --interval 5s --server 10.0.0.5:7401
  ringctl top --count 60 --json | jq -r '.data_centers[] | [.migration.data_center, .v2_per_second] | @tsv')");
  command->callback([options, &result] { result = Top(*options); });
}

}  // namespace ringshift
