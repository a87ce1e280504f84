#include "client/ringctl/command_route.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ringctl/argument_keys.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/key_answers.h"
#include "client/ringctl/key_query.h"
#include "client/ringctl/key_reader.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/route_pipeline.h"
#include "client/ringctl/routed_node.h"
#include "client/ringctl/table.h"

namespace ringshift {
namespace {

struct RouteOptions {
  RemoteOptions remote;
  KeyQuery query;  // no keys: from standard input
};

// Prints answers as they come. Thread safety: thread-compatible.
class RoutePrinter {
 public:
  RoutePrinter(const RouteOptions& options, Output& output)
      : options_(options),
        output_(output),
        table_({{"KEY"}, {"RING"}, {"OWNER"}, {"ADDRESS"}, {"REPLICAS"}, {"PREVIOUS OWNER"}}) {}

  void Add(const RoutePipeline::Answer& answer) {
    if (options_.query.json) {
      AddJson(answer);
    } else {
      AddRow(answer);
    }
  }

  // Hands out what was added so far.
  void Flush() {
    if (table_.pending_rows() > 0) table_.Print(output_);
    output_.Flush();
  }

 private:
  void AddRow(const RoutePipeline::Answer& answer) {
    constexpr std::size_t kRowsAtOnce = 1000;
    std::string replicas;
    for (const v1::RoutedNode& node : answer.response.replicas()) {
      absl::StrAppend(&replicas, replicas.empty() ? "" : " ", node.address());
    }
    table_.AddRow({std::string(answer.text),
                   std::string(RingVersionText(answer.response.ring_version())),
                   answer.response.owner().name(), answer.response.owner().address(), replicas,
                   answer.response.previous_owner().address()});
    if (table_.pending_rows() >= kRowsAtOnce) table_.Print(output_);
  }

  void AddJson(const RoutePipeline::Answer& answer) {
    json_.BeginObject();
    json_.RoutedKey(answer.request.key(), options_.query.hex);
    json_.Key("data_center").String(answer.request.data_center());
    json_.Key("ring_version").String(RingVersionText(answer.response.ring_version()));
    json_.Key("owner");
    WriteNode(answer.response.owner(), json_);
    json_.Key("replicas").BeginArray();
    for (const v1::RoutedNode& node : answer.response.replicas()) WriteNode(node, json_);
    json_.EndArray();
    json_.Key("previous_owner");
    WriteOptionalNode(answer.response.has_previous_owner(), answer.response.previous_owner(),
                      json_);
    json_.Key("is_short").Bool(answer.response.is_short());
    json_.Key("table_checksum")
        .String(absl::StrFormat("%016x", answer.response.table().checksum()));
    json_.Key("migration_revision").Int(answer.response.table().migration_revision());
    json_.Key("v2_ppm").Int(answer.response.table().v2_ppm());
    json_.EndObject();
    output_.Write(json_.TakeLine());
  }

  const RouteOptions& options_;
  Output& output_;
  Table table_;
  JsonWriter json_;
};

ExitCode Route(const RouteOptions& options) {
  const absl::StatusOr<std::vector<std::string>> keys =
      DecodeKeys(options.query.keys, options.query.hex);
  if (!keys.ok()) {
    return Fail(ExitCode::kUsage, std::string(keys.status().message()),
                "write two hex digits for each byte of a key");
  }
  v1::RouteRequest request;
  request.set_data_center(options.query.data_center);
  request.set_pool(options.query.pool);
  request.set_replicas(options.query.replicas);

  Output output(STDOUT_FILENO);
  RoutePrinter printer(options, output);
  Remote remote(options.remote);
  ExitCode result = ExitCode::kOk;
  const std::string_view what = keys->empty() ? "line " : "key ";
  RoutePipeline pipeline(remote, [&](const RoutePipeline::Answer& answer) {
    if (answer.status.ok()) {
      printer.Add(answer);
      return output.ok();
    }
    printer.Flush();
    result = remote.FailCall(answer.status, absl::StrCat(std::string(what), answer.number, ": "));
    return false;
  });

  absl::Status read;
  if (keys->empty()) {
    KeyReader reader(STDIN_FILENO, options.query.hex, [&] {
      const bool go_on = pipeline.Drain();
      printer.Flush();
      return go_on && output.ok();
    });
    while (reader.Next()) {
      request.set_key(reader.key().data(), reader.key().size());
      // There may be any number of keys, and they may come slowly: each has the whole timeout.
      remote.RestartClock();
      if (!pipeline.Send(reader.text(), request)) break;
    }
    read = reader.status();
  } else {
    for (std::size_t i = 0; i < keys->size(); ++i) {
      request.set_key((*keys)[i]);
      if (!pipeline.Send(options.query.keys[i], request)) break;
    }
  }
  pipeline.Drain();
  printer.Flush();
  const ExitCode finished =
      FinishAnswers(output, result == ExitCode::kOk ? read : absl::OkStatus());
  return finished == ExitCode::kOk ? result : finished;
}

}  // namespace

void AddRouteCommand(CLI::App& ringctl, const std::vector<std::string>& verbatim_keys,
                     ExitCode& result) {
  auto options = std::make_shared<RouteOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "route", "Asks a router for the owners of keys: ringctl route [OPTIONS] [KEY...]");
  AddKeyQueryOptions(*command, options->query, "The data center whose ring answers");
  AddRemoteOptions(*command, options->remote, RouterPort::kPublic);
  command->footer(
      R"(Without a KEY, reads keys from standard input, one a line.

The timeout is for the whole command; with keys from standard input it is for each answer, since
there may be any number of them. Up to 64 calls are under way at a time, and the answers come in the
order of the keys. The first key that gets no answer ends the command.

Examples:
  ringctl route --data-center ams /img/1.jpg /img/2.jpg
  ringctl route --data-center ams --replicas 3 --json /img/1.jpg
  ringctl route --data-center ams --hex 00ff
  ringctl route --data-center ams --server 10.0.0.5:7400 --timeout 500ms < keys.txt
  ringctl route --data-center ams -- --a-key-that-starts-with-dashes)");
  command->callback([options, command, &verbatim_keys, &result] {
    options->query.keys = command->remaining();
    const absl::Status status = CheckNoOptions(options->query.keys);
    if (!status.ok()) {
      result = Fail(ExitCode::kUsage, std::string(status.message()),
                    "see `ringctl route --help`; if it is a key, put it behind --");
      return;
    }
    options->query.keys.insert(options->query.keys.end(), verbatim_keys.begin(),
                               verbatim_keys.end());
    result = Route(*options);
  });
}

}  // namespace ringshift
