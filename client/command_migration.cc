#include "client/command_migration.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "client/checks.h"
#include "client/json_writer.h"
#include "client/migration_client.h"
#include "client/migration_view.h"
#include "client/output.h"
#include "client/remote.h"
#include "client/set_migration.h"

namespace ringshift {
namespace {

constexpr std::string_view kDefaultServer = "127.0.0.1:7401";

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
    json.BeginObject().Key("migrations").BeginArray();
    for (const v1::Migration& migration : migrations) WriteMigration(migration, json);
    json.EndArray().EndObject();
    output.Write(json.TakeLine());
  } else {
    PrintMigrations(migrations, output);
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
  AddRemoteOptions(*command, options->remote, kDefaultServer);
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
  AddRemoteOptions(*command, options->remote, kDefaultServer);
  command->footer(R"(Examples:
  ringctl migration list
  ringctl migration list --server 10.0.0.5:7401 --json | jq '.migrations[] | select(.v2_ppm > 0)')");
  command->callback([options, &result] { result = List(*options); });
}

void AddSet(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<SetMigrationOptions>();
  CLI::App* command = migration.add_subcommand("set", "Changes the share of v2 of one data center");
  command->add_option("--data-center", options->data_center, "The data center")
      ->required()
      ->type_name("NAME")
      ->check(CheckUtf8);
  command
      ->add_option("--percent", options->percent, "The share of v2: 0 to 100, up to four decimals")
      ->required()
      ->type_name("PERCENT")
      ->check(CheckPercent);
  command->add_option("--reason", options->reason, "Why, for the history")
      ->type_name("TEXT")
      ->check(CheckUtf8);
  command->add_flag("--yes", options->yes, "Do not ask before changing");
  command
      ->add_option("--expect-revision", options->expected_revision,
                   "Change it only if it is at this revision (default: the one that is shown)")
      ->type_name("REVISION")
      ->check(CheckWholeNumber(1, std::numeric_limits<std::int64_t>::max()));
  command->add_flag("--json", options->json, "One JSON object instead of a sentence");
  AddRemoteOptions(*command, options->remote, kDefaultServer);
  command->footer(
      R"(Shows the share as it is and as it will be, and asks; without a terminal to ask on it needs --yes.
If somebody else changes the share meanwhile, nothing is changed and ringctl says who it was.

Examples:
  ringctl migration set --data-center ams --percent 12.5 --reason "ams: first eighth"
  ringctl migration set --data-center ams --percent 0 --reason "misses above budget" --yes
  ringctl migration set --data-center ams --percent 25 --reason "next step" --yes --expect-revision 7)");
  command->callback([options, &result] { result = SetMigration(*options); });
}

}  // namespace

void AddMigrationCommand(CLI::App& ringctl, ExitCode& result) {
  CLI::App* migration = ringctl.add_subcommand(
      "migration", "Reads and changes the shares of data centers on a router");
  migration->require_subcommand(1);
  migration->footer(R"(Examples:
  ringctl migration list
  ringctl migration get --data-center ams
  ringctl migration set --data-center ams --percent 12.5 --reason "ams: first eighth")");
  AddGet(*migration, result);
  AddList(*migration, result);
  AddSet(*migration, result);
}

}  // namespace ringshift
