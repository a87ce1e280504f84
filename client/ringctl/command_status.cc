#include "client/ringctl/command_status.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/status_view.h"
#include "client/ringctl/topology_client.h"

namespace ringshift {
namespace {

struct StatusOptions {
  RemoteOptions remote;
  bool json = false;
};

// Fills in what a router lists. Errors: those of the calls.
grpc::Status ReadLists(const Remote& remote, TopologyClient& topology, RouterView& router) {
  grpc::Status status = topology.List(router.data_centers);
  if (!status.ok()) return status;
  std::vector<v1::Migration> migrations;
  status = MigrationClient(remote).List(migrations);
  for (v1::Migration& migration : migrations) {
    if (migration.is_orphaned()) router.orphans.push_back(std::move(migration));
  }
  return status;
}

ExitCode Status(const StatusOptions& options) {
  const Remote remote(options.remote);
  TopologyClient topology(remote);
  RouterView router;
  router.server = remote.server();
  router.server_flag = remote.ServerFlag();
  const grpc::Status status = topology.GetStatus(router.status);
  if (!status.ok()) return remote.FailCall(status);
  if (const grpc::Status lists = ReadLists(remote, topology, router); !lists.ok()) {
    if (!remote.IsAnswer(lists)) return remote.FailCall(lists);
    router.data_centers.clear();
    router.orphans.clear();
    router.incomplete_reason =
        absl::StrCat(absl::StatusCodeToString(static_cast<absl::StatusCode>(lists.error_code())),
                     ": ", lists.error_message());
  }
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    WriteStatus(router, json);
    output.Write(json.TakeLine());
  } else {
    PrintStatus(router, absl::Now(), output);
  }
  return output.Finish();
}

}  // namespace

void AddStatusCommand(CLI::App& ringctl, ExitCode& result) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "status", "A router on one screen: store, topology, data centers, shares, rings");
  command->add_flag("--json", options->json, "One JSON object instead of a screen");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(
      R"(Answers while the router starts, too. Exits with 0 if the router answers, whatever its phase is.

Examples:
  ringctl status
  ringctl status --json | jq -e '.phase == "serving"'
  ringctl status --server 10.0.0.5:7401 --json | jq '.topology.held')");
  command->callback([options, &result] { result = Status(*options); });
}

}  // namespace ringshift
