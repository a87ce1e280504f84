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
#include "client/ringctl/forget_migration.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/set_migration.h"

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
    json.BeginObject().Key("migrations").BeginArray();
    for (const v1::Migration& migration : migrations) WriteMigration(migration, json);
    json.EndArray().EndObject();
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
  AddRemoteOptions(*command, options->remote, RouterPort::kAdmin);
  command->footer(
      R"(Shows the share as it is and as it will be, and asks; without a terminal to ask on it needs --yes.
If somebody else changes the share meanwhile, nothing is changed and ringctl says who it was.

Examples:
  ringctl migration set --data-center ams --percent 12.5 --reason "ams: first eighth"
  ringctl migration set --data-center ams --percent 0 --reason "misses above budget" --yes
  ringctl migration set --data-center ams --percent 25 --reason "next step" --yes --expect-revision 7)");
  command->callback([options, &result] { result = SetMigration(*options); });
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

// The options of the commands that change something after asking.
template <typename Options>
void AddChangeOptions(CLI::App& command, Options& options) {
  command.add_option("--reason", options.reason, "Why, for the history")
      ->type_name("TEXT")
      ->check(CheckUtf8);
  command.add_flag("--yes", options.yes, "Do not ask before changing");
  command.add_flag("--json", options.json, "One JSON object instead of a sentence");
  AddRemoteOptions(command, options.remote, RouterPort::kAdmin);
}

void AddForget(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<ForgetMigrationOptions>();
  CLI::App* command = migration.add_subcommand(
      "forget", "Forgets the migration of a data center that the router does not serve");
  command->add_option("NAME", options->data_center, "The data center")
      ->required()
      ->check(CheckUtf8);
  AddChangeOptions(*command, *options);
  command->footer(
      R"(Shows the migration, and asks; without a terminal to ask on it needs --yes. If the data center comes
back afterwards it is a new one, at share 0. The history stays.

Examples:
  ringctl migration forget old-dc --reason "turned off"
  ringctl migration forget old-dc --yes)");
  command->callback([options, &result] { result = ForgetMigration(*options); });
}

void AddRename(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<RenameMigrationOptions>();
  CLI::App* command = migration.add_subcommand(
      "rename", "Gives a data center the migration of another name, so that its keys stay");
  command->add_option("OLD", options->data_center, "The name that has the migration")
      ->required()
      ->check(CheckUtf8);
  command->add_option("NEW", options->new_data_center, "The name that gets it")
      ->required()
      ->check(CheckUtf8);
  AddChangeOptions(*command, *options);
  command->footer(
      R"(Share, salt and decision rule go to NEW, so every key keeps the ring that it has with OLD. Where the
router serves OLD it keeps its own as well, until it has left the topology and is forgotten; otherwise
OLD is forgotten. NEW must have no migration, or one that nobody has set. Do it before the topology
has the new name: where NEW is served already, its own keys move at once.

Examples:
  ringctl migration rename ams ams-1 --reason "one of two now"
  ringctl migration rename ams ams-1 --yes)");
  command->callback([options, &result] { result = RenameMigration(*options); });
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
  ringctl migration history --data-center ams)");
  AddGet(*migration, result);
  AddList(*migration, result);
  AddSet(*migration, result);
  AddHistory(*migration, result);
  AddForget(*migration, result);
  AddRename(*migration, result);
}

}  // namespace ringshift
