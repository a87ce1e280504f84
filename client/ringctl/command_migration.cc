#include "client/ringctl/command_migration.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/command_migration_change.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/watch_migrations.h"

namespace ringshift {
namespace {

// More than anybody reads at once; `--limit` has them all.
constexpr std::int32_t kDefaultHistory = 50;

struct ReadOptions {
  RemoteOptions remote;
  std::string data_center;
  bool json = false;
};

ExitCode Get(const ReadOptions& options) {
  const Remote remote(options.remote);
  v1::Migration migration;
  const grpc::Status status = MigrationClient(remote).Get(options.data_center, migration);
  if (!status.ok()) return remote.FailCall(status);
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    WriteMigration(migration, json);
    output.Write(json.TakeLine());
  } else {
    PrintMigration(migration, output);
  }
  return output.Finish();
}

ExitCode List(const ReadOptions& options) {
  const Remote remote(options.remote);
  std::vector<v1::Migration> migrations;
  const grpc::Status status = MigrationClient(remote).List(migrations);
  if (!status.ok()) return remote.FailCall(status);
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Key("migrations");
    WriteMigrations(migrations, json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    PrintMigrations(migrations, output);
  }
  return output.Finish();
}

struct HistoryOptions {
  RemoteOptions remote;
  std::string data_center;
  std::int32_t limit = kDefaultHistory;
  bool json = false;
};

ExitCode ShowHistory(const HistoryOptions& options) {
  const Remote remote(options.remote);
  MigrationClient::History history;
  const grpc::Status status =
      MigrationClient(remote).GetHistory(options.data_center, options.limit, history);
  if (!status.ok()) return remote.FailCall(status);
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Key("changes").BeginArray();
    for (const v1::MigrationChange& change : history.changes) WriteMigrationChange(change, json);
    json.EndArray().Key("has_more").Bool(history.has_more).EndObject();
    output.Write(json.TakeLine());
  } else {
    PrintHistory(history.changes, output);
    if (history.has_more) {
      output.Write(absl::StrCat("\nThe newest ", history.changes.size(),
                                "; there are older ones (--limit).\n"));
    }
  }
  return output.Finish();
}

void AddGet(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<ReadOptions>();
  CLI::App* command = migration.add_subcommand("get", "The migration of one data center");
  command->add_option("--data-center", options->data_center, "The data center")
      ->required()
      ->type_name("NAME")
      ->check(CheckUtf8);
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(R"(Examples:
  ringctl migration get --data-center ams
  ringctl migration get --data-center ams --json | jq .v2_ppm)");
  command->callback([options, &result] { result = Get(*options); });
}

void AddList(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<ReadOptions>();
  CLI::App* command =
      migration.add_subcommand("list", "The migrations of all data centers of the router");
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(R"(Examples:
  ringctl migration list
  ringctl migration list --server 10.0.0.5:7401 --json | jq '.migrations[] | select(.v2_ppm > 0)')");
  command->callback([options, &result] { result = List(*options); });
}

void AddHistory(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = migration.add_subcommand(
      "history", "Who changed what, when, from what to what, and why: the newest first");
  command
      ->add_option("--data-center", options->data_center,
                   "Only of this one, whether it is served or not (default: all)")
      ->type_name("NAME")
      ->check(CheckUtf8);
  command
      ->add_option("--limit", options->limit,
                   absl::StrCat("How many to show at most (default: ", kDefaultHistory, ")"))
      ->type_name("COUNT")
      ->check(CheckWholeNumber(1, std::numeric_limits<std::int32_t>::max()));
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(R"(Examples:
  ringctl migration history
  ringctl migration history --data-center ams --limit 5
  ringctl migration history --limit 100000 --json | jq '.changes[] | select(.kind == "share")')");
  command->callback([options, &result] { result = ShowHistory(*options); });
}

void AddWatch(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<WatchMigrationsOptions>();
  CLI::App* command =
      migration.add_subcommand("watch", "The migrations, and every change of them as it is made");
  command->add_flag("--json", options->json, "One JSON object for each change, one a line");
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(
      R"(A line for each migration, then one for each change, until Ctrl-C. Where the router goes away it tries
again until the router is back, and then shows what has changed meanwhile. The timeout is for the
first connection.

Examples:
  ringctl migration watch
  ringctl migration watch --json | jq -r 'select(.event == "changed") | .migration.data_center')");
  command->callback([options, &result] { result = WatchMigrations(*options); });
}

}  // namespace

void AddMigrationCommand(CLI::App& ringctl, ExitCode& result) {
  CLI::App* migration = ringctl.add_subcommand(
      "migration", "Reads and changes the migrations of data centers on a router");
  migration->require_subcommand(1);
  migration->footer(R"(Examples:
  ringctl migration list
  ringctl migration get --data-center ams
  ringctl migration set --data-center ams --percent 12.5 --reason "ams: first eighth"
  ringctl migration rollback --data-center ams --reason "misses above budget"
  ringctl migration history --data-center ams)");
  AddGet(*migration, result);
  AddList(*migration, result);
  AddHistory(*migration, result);
  AddWatch(*migration, result);
  AddMigrationChangeCommands(*migration, result);
}

}  // namespace ringshift
