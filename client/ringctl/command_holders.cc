#include "client/ringctl/command_holders.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/argument_keys.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/routed_node.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "ringshift/v1/routing.grpc.pb.h"

namespace ringshift {
namespace {

struct HoldersOptions {
  RemoteOptions remote;
  std::string data_center;
  std::string pool;
  std::int32_t next_nodes = 0;  // 0: the router's default
  bool hex = false;
  bool json = false;
  std::vector<std::string> keys;  // as they are given
};

std::string_view ReasonText(v1::HolderReason reason) {
  switch (reason) {
    case v1::HOLDER_REASON_OWNER:
      return "owner";
    case v1::HOLDER_REASON_PREVIOUS_OWNER:
      return "previous_owner";
    case v1::HOLDER_REASON_OTHER_RING:
      return "other_ring";
    case v1::HOLDER_REASON_NEXT_NODE:
      return "next_node";
    default:
      return "unknown";
  }
}

void WriteHolders(const v1::RouteHoldersRequest& request, const v1::RouteHoldersResponse& response,
                  bool as_hex, JsonWriter& json) {
  json.BeginObject();
  json.RoutedKey(request.key(), as_hex);
  json.Key("data_center").String(request.data_center());
  json.Key("holders").BeginArray();
  for (const v1::Holder& holder : response.holders()) {
    json.BeginObject().Key("node");
    WriteNode(holder.node(), json);
    json.Key("reason").String(ReasonText(holder.reason()));
    json.EndObject();
  }
  json.EndArray();
  json.Key("table_checksum").String(ChecksumText(response.table().checksum()));
  json.Key("migration_revision").Int(response.table().migration_revision());
  json.Key("v2_ppm").Int(response.table().v2_ppm());
  json.EndObject();
}

ExitCode Holders(const HoldersOptions& options) {
  const absl::StatusOr<std::vector<std::string>> keys = DecodeKeys(options.keys, options.hex);
  if (!keys.ok()) {
    return Fail(ExitCode::kUsage, std::string(keys.status().message()),
                "write two hex digits for each byte of a key");
  }
  const Remote remote(options.remote);
  const auto stub = v1::RoutingService::NewStub(remote.channel());
  Output output(STDOUT_FILENO);
  Table table({{"KEY"}, {"NODE"}, {"ADDRESS"}, {"WHY"}});
  JsonWriter json;
  ExitCode result = ExitCode::kOk;
  for (std::size_t i = 0; i < keys->size() && result == ExitCode::kOk; ++i) {
    v1::RouteHoldersRequest request;
    request.set_data_center(options.data_center);
    request.set_pool(options.pool);
    request.set_next_nodes(options.next_nodes);
    request.set_key((*keys)[i]);
    grpc::ClientContext context;
    remote.SetDeadline(context);
    v1::RouteHoldersResponse response;
    const grpc::Status status = stub->RouteHolders(&context, request, &response);
    if (!status.ok()) {
      result = remote.FailCall(status, keys->size() == 1 ? "" : absl::StrCat("key ", i + 1, ": "));
    } else if (options.json) {
      WriteHolders(request, response, options.hex, json);
      output.Write(json.TakeLine());
    } else {
      for (const v1::Holder& holder : response.holders()) {
        table.AddRow({options.keys[i], holder.node().name(), holder.node().address(),
                      std::string(ReasonText(holder.reason()))});
      }
    }
  }
  if (table.pending_rows() > 0) table.Print(output);
  const ExitCode written = output.Finish();
  return result == ExitCode::kOk ? written : result;
}

}  // namespace

void AddHoldersCommand(CLI::App& ringctl, const std::vector<std::string>& verbatim_keys,
                       ExitCode& result) {
  auto options = std::make_shared<HoldersOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "holders",
      "Every node that may hold an object, to purge it: ringctl holders [OPTIONS] KEY...");
  command->add_option("--data-center", options->data_center, "The data center whose rings to ask")
      ->required()
      ->type_name("NAME")
      ->check(CheckUtf8);
  command->add_option("--pool", options->pool, "The pool whose nodes may own (default: every node)")
      ->type_name("NAME")
      ->check(CheckUtf8);
  command
      ->add_option("--next-nodes", options->next_nodes,
                   "How many nodes of each ring to name behind the owner, at most 16 (default: 2)")
      ->type_name("COUNT")
      ->check(CheckWholeNumber(1, 16));
  command->add_flag("--hex", options->hex, "The keys are given as their bytes in hex");
  command->add_flag("--json", options->json, "A JSON object for each key, one a line");
  // The keys are what CLI11 leaves: a positional of its own would split a key such as "[a,b]".
  command->allow_extras();
  AddRemoteOptions(*command, options->remote, RouterPort::kPublic);
  command->footer(
      R"(The owner on either ring, the previous owner, and the nodes that follow: those that answered while the
ones before them were gone. An object that is purged only where it is owned now comes back after a
rollback or a failure.

Examples:
  ringctl holders --data-center ams /img/1.jpg
  ringctl holders --data-center ams --next-nodes 4 --json /img/1.jpg | jq -r '.holders[].node.address'
  ringctl holders --data-center ams -- --a-key-that-starts-with-dashes)");
  command->callback([options, command, &verbatim_keys, &result] {
    options->keys = command->remaining();
    if (const absl::Status status = CheckNoOptions(options->keys); !status.ok()) {
      result = Fail(ExitCode::kUsage, std::string(status.message()),
                    "see `ringctl holders --help`; if it is a key, put it behind --");
      return;
    }
    options->keys.insert(options->keys.end(), verbatim_keys.begin(), verbatim_keys.end());
    if (options->keys.empty()) {
      result = Fail(ExitCode::kUsage, "there is no key", "see `ringctl holders --help`");
      return;
    }
    result = Holders(*options);
  });
}

}  // namespace ringshift
