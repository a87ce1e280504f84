#include "client/ringctl/command_explain.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/argument_keys.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/explain_offline.h"
#include "client/ringctl/explain_view.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/key_query.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "migration/share.h"
#include "ringshift/v1/routing.grpc.pb.h"

namespace ringshift {
namespace {

struct ExplainOptions {
  RemoteOptions remote;
  KeyQuery query;
  std::optional<std::string> topology_file;  // none: ask the router
  std::string percent;
  std::optional<std::string> salt;
};

// Prints explanations one after the other.
class ExplanationPrinter {
 public:
  ExplanationPrinter(const ExplainOptions& options, Output& output)
      : options_(options), output_(output) {}

  void Print(const v1::ExplainRouteRequest& request, const v1::ExplainRouteResponse& response) {
    if (options_.query.json) {
      WriteExplanation(request, response, options_.query.hex, json_);
      output_.Write(json_.TakeLine());
      return;
    }
    if (!is_first_) output_.Write("\n\n");
    is_first_ = false;
    PrintExplanation(request, response, options_.query.hex, output_);
  }

 private:
  const ExplainOptions& options_;
  Output& output_;
  JsonWriter json_;
  bool is_first_ = true;
};

// "key 3: " where there are several.
std::string Prefix(std::size_t index, std::size_t count) {
  return count == 1 ? "" : absl::StrCat("key ", index + 1, ": ");
}

v1::ExplainRouteRequest RequestFor(const ExplainOptions& options, const std::string& key) {
  v1::ExplainRouteRequest request;
  request.set_data_center(options.query.data_center);
  request.set_pool(options.query.pool);
  request.set_replicas(options.query.replicas);
  request.set_key(key);
  return request;
}

ExitCode ExplainOnline(const ExplainOptions& options, const std::vector<std::string>& keys,
                       ExplanationPrinter& printer) {
  const Remote remote(options.remote);
  const auto stub = v1::RoutingService::NewStub(remote.channel());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const v1::ExplainRouteRequest request = RequestFor(options, keys[i]);
    grpc::ClientContext context;
    remote.SetDeadline(context);
    v1::ExplainRouteResponse response;
    const grpc::Status status = stub->ExplainRoute(&context, request, &response);
    if (!status.ok()) return remote.FailCall(status, Prefix(i, keys.size()));
    printer.Print(request, response);
  }
  return ExitCode::kOk;
}

ExitCode ExplainOffline(const ExplainOptions& options, const std::vector<std::string>& keys,
                        ExplanationPrinter& printer) {
  const absl::StatusOr<OfflineExplainer> explainer =
      OfflineExplainer::Create(*options.topology_file, options.query.data_center,
                               Share::ParsePercent(options.percent).value(), options.salt);
  if (!explainer.ok()) return FailOffline(explainer.status());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const v1::ExplainRouteRequest request = RequestFor(options, keys[i]);
    const absl::StatusOr<v1::ExplainRouteResponse> response = explainer->Explain(request);
    if (!response.ok()) {
      return Fail(ExitCode::kInput,
                  absl::StrCat(Prefix(i, keys.size()), response.status().message()),
                  "correct the arguments and run it again");
    }
    printer.Print(request, *response);
  }
  return ExitCode::kOk;
}

ExitCode Explain(const ExplainOptions& options) {
  const absl::StatusOr<std::vector<std::string>> keys =
      DecodeKeys(options.query.keys, options.query.hex);
  if (!keys.ok()) {
    return Fail(ExitCode::kUsage, std::string(keys.status().message()),
                "write two hex digits for each byte of a key");
  }
  Output output(STDOUT_FILENO);
  ExplanationPrinter printer(options, output);
  const ExitCode result = options.topology_file ? ExplainOffline(options, *keys, printer)
                                                : ExplainOnline(options, *keys, printer);
  const ExitCode written = output.Finish();
  return result == ExitCode::kOk ? written : result;
}

// What is wrong with the options together, "" if nothing is.
std::string CheckTogether(const CLI::App& command) {
  const auto is_given = [&command](const char* option) { return command.count(option) > 0; };
  if (is_given("--topology")) {
    if (!is_given("--percent")) return "--topology needs --percent, the share of v2";
    if (is_given("--server")) return "--topology and --server exclude each other";
    return "";
  }
  if (is_given("--percent")) return "--percent needs --topology: a router has a share of its own";
  if (is_given("--salt")) return "--salt needs --topology: a router has a salt of its own";
  return "";
}

}  // namespace

void AddExplainCommand(CLI::App& ringctl, const std::vector<std::string>& verbatim_keys,
                       ExitCode& result) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "explain", "Why a key goes where it goes: ringctl explain [OPTIONS] KEY...");
  AddKeyQueryOptions(*command, options->query, "The data center whose rings to ask");
  const CLI::Option* topology =
      command
          ->add_option("--topology", options->topology_file,
                       "Explain with the rings of this topology file, and ask no router")
          ->type_name("FILE");
  command
      ->add_option("--percent", options->percent,
                   "With --topology: the share of v2, 0 to 100, up to four decimals")
      ->type_name("PERCENT")
      ->check(CheckPercent);
  command
      ->add_option("--salt", options->salt,
                   "With --topology: the salt of the decision (default: the data center's name)")
      ->type_name("TEXT")
      ->check(CheckUtf8);
  AddRemoteOptions(*command, options->remote, RouterPort::kPublic, kDefaultTimeout, topology);
  command->footer(
      R"(Shows every step from a key to its owner: the decision between the rings, and on both of them the
first point at or after the key's position, the nodes that the walk passed over and why, and the
nodes that it found. With --topology it is what a router would answer at that share; nothing is sent.

Examples:
  ringctl explain --data-center ams /img/1.jpg
  ringctl explain --data-center ams --pool fedramp --replicas 3 --json /img/1.jpg
  ringctl explain --data-center ams --topology topology.yaml --percent 12.5 /img/1.jpg
  ringctl explain --data-center ams --hex 00ff
  ringctl explain --data-center ams -- --a-key-that-starts-with-dashes)");
  command->callback([options, command, &verbatim_keys, &result] {
    const auto fail = [&result](const std::string& what) {
      result = Fail(ExitCode::kUsage, what, "see `ringctl explain --help`");
    };
    options->query.keys = command->remaining();
    if (const absl::Status status = CheckNoOptions(options->query.keys); !status.ok()) {
      return fail(std::string(status.message()));
    }
    options->query.keys.insert(options->query.keys.end(), verbatim_keys.begin(),
                               verbatim_keys.end());
    if (options->query.keys.empty()) return fail("there is no key to explain");
    if (const std::string wrong = CheckTogether(*command); !wrong.empty()) return fail(wrong);
    result = Explain(*options);
  });
}

}  // namespace ringshift
