#include "client/ringctl/command_topology.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/ringctl/change_topology.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/topology_check.h"
#include "client/ringctl/topology_client.h"
#include "client/ringctl/topology_view.h"

namespace ringshift {
namespace {

// Rings are built: 200 million points take a good half minute.
constexpr std::string_view kChangeTimeout = "5m";

struct ShowOptions {
  RemoteOptions remote;
  std::string data_center;  // empty: all of them, a line each
  bool json = false;
};

ExitCode ShowAll(const ShowOptions& options) {
  const Remote remote(options.remote);
  std::vector<v1::DataCenterSummary> data_centers;
  const grpc::Status status = TopologyClient(remote).List(data_centers);
  if (!status.ok()) return remote.FailCall(status);
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Key("data_centers").BeginArray();
    for (const v1::DataCenterSummary& data_center : data_centers) {
      WriteDataCenter(data_center, json);
    }
    json.EndArray().EndObject();
    output.Write(json.TakeLine());
  } else {
    PrintDataCenters(data_centers, output);
  }
  return output.Finish();
}

ExitCode ShowOne(const ShowOptions& options) {
  const Remote remote(options.remote);
  v1::GetTopologyResponse topology;
  const grpc::Status status = TopologyClient(remote).Get(options.data_center, topology);
  if (!status.ok()) return remote.FailCall(status);
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    WriteTopology(topology, json);
    output.Write(json.TakeLine());
  } else {
    PrintTopology(topology, output);
  }
  return output.Finish();
}

void AddShow(CLI::App& topology, ExitCode& result) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = topology.add_subcommand("show", "What a router serves now");
  command
      ->add_option("--data-center", options->data_center,
                   "This one, with its rings, pools and nodes (default: all, a line each)")
      ->type_name("NAME")
      ->check(CheckUtf8);
  command->add_flag("--json", options->json, "One JSON object instead of tables");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(R"(Examples:
  ringctl topology show
  ringctl topology show --data-center ams
  ringctl topology show --data-center ams --json | jq -r '.nodes[].address')");
  command->callback([options, &result] {
    result = options->data_center.empty() ? ShowAll(*options) : ShowOne(*options);
  });
}

void AddReload(CLI::App& topology, ExitCode& result) {
  auto options = std::make_shared<ReloadTopologyOptions>();
  CLI::App* command =
      topology.add_subcommand("reload", "Has a router read its topology file and take it up");
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin, kChangeTimeout);
  command->footer(
      R"(Exits with 0 if all of the file serves, with 1 if a data center is held because it would change more
than the router's limits (`ringctl topology accept` takes it up), with 5 if the file was refused, or if
a data center could not be changed.

Examples:
  ringctl topology reload
  ringctl topology reload --json | jq '.changes[] | select(.outcome == "held")')");
  command->callback([options, &result] { result = ReloadTopology(*options); });
}

void AddAccept(CLI::App& topology, ExitCode& result) {
  auto options = std::make_shared<AcceptTopologyOptions>();
  CLI::App* command =
      topology.add_subcommand("accept", "Has a router take up what is held of its topology file");
  command
      ->add_option("CHECKSUM", options->checksum,
                   "That of the topology file, as `ringctl status` shows it")
      ->required()
      ->check(CheckUtf8);
  command
      ->add_option("--data-center", options->data_centers,
                   "Only this one; may be given several times (default: all that are held)")
      ->type_name("NAME")
      ->allow_extra_args(false)  // one each time, so that the checksum may come behind it
      ->check(CheckUtf8);
  command->add_option("--reason", options->reason, "Why, for the history")
      ->type_name("TEXT")
      ->check(CheckUtf8);
  command->add_flag("--yes", options->yes, "Do not ask before changing");
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin, kChangeTimeout);
  command->footer(
      R"(Shows what is held, and asks; without a terminal to ask on it needs --yes. If the file has changed since,
it has another checksum and nothing is accepted.

Examples:
  ringctl topology accept 0123456789abcdef
  ringctl topology accept 0123456789abcdef --data-center ams --reason "rack r1 is gone" --yes)");
  command->callback([options, &result] { result = AcceptTopology(*options); });
}

}  // namespace

void AddTopologyCommand(CLI::App& ringctl, ExitCode& result) {
  CLI::App* topology = ringctl.add_subcommand(
      "topology", "Looks at and changes what a router serves, and checks topology files");
  topology->require_subcommand(1);
  topology->footer(R"(Examples:
  ringctl topology check topology.yaml
  ringctl topology show --data-center ams
  ringctl topology reload
  ringctl topology accept 0123456789abcdef)");
  AddTopologyCheckCommand(*topology, result);
  AddShow(*topology, result);
  AddReload(*topology, result);
  AddAccept(*topology, result);
}

}  // namespace ringshift
