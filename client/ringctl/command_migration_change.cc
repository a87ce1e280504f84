#include "client/ringctl/command_migration_change.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "client/ringctl/checks.h"
#include "client/ringctl/default_share.h"
#include "client/ringctl/forget_migration.h"
#include "client/ringctl/override_share.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/retire_ring.h"
#include "client/ringctl/rollback_migration.h"
#include "client/ringctl/selector.h"
#include "client/ringctl/set_migration.h"

namespace ringshift {
namespace {

// A forecast of the largest rings takes seconds the first time.
constexpr std::string_view kSetTimeout = "30s";

CLI::Option* AddReason(CLI::App& command, std::string& reason) {
  return command.add_option("--reason", reason, "Why, for the history")
      ->type_name("TEXT")
      ->check(CheckUtf8);
}

void AddYes(CLI::App& command, bool& yes) {
  command.add_flag("--yes", yes, "Do not ask before changing");
}

void AddPercent(CLI::App& command, std::string& percent) {
  command.add_option("--percent", percent, "The share of v2: 0 to 100, up to four decimals")
      ->required()
      ->type_name("PERCENT")
      ->check(CheckPercent);
}

template <typename Options>
void AddJsonAndRemote(CLI::App& command, Options& options,
                      std::string_view timeout = kDefaultTimeout) {
  command.add_flag("--json", options.json, "One JSON object instead of a table");
  AddRemoteOptions(command, options.remote, RouterPort::kAdmin, timeout);
}

// Has `command` run `run`, if exactly one selector is given.
template <typename Options>
void RunSelected(CLI::App& command, const std::shared_ptr<Options>& options,
                 ExitCode (*run)(const Options&), ExitCode& result) {
  command.callback([&command, options, run, &result] {
    const std::string wrong = CheckSelector(options->selector);
    result = wrong.empty() ? run(*options)
                           : Fail(ExitCode::kUsage, wrong,
                                  "see `ringctl migration " + command.get_name() + " --help`");
  });
}

void AddSet(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<SetMigrationOptions>();
  CLI::App* command =
      migration.add_subcommand("set", "Changes the share of v2, after showing what that will do");
  AddSelectorOptions(*command, options->selector);
  AddPercent(*command, options->percent);
  command->add_flag("--dry-run", options->dry_run, "Only show what it would do");
  command
      ->add_option("--max-churn", options->max_churn,
                   "Refuse if more than this part of a data center's keys gets another owner")
      ->type_name("PERCENT")
      ->check(CheckPercent);
  command
      ->add_option("--hit-ratio", options->hit_ratio,
                   "The part of the requests that caches answer now (default: as reported)")
      ->type_name("0..1")
      ->check(CheckRatio);
  command->add_flag("--accept-imbalance", options->accept_imbalance,
                    "Raise the share although v2 spreads its keys unevenly");
  command
      ->add_option("--expect-revision", options->base_revision,
                   "Change it only if nobody has since this revision (default: the newest shown)")
      ->type_name("REVISION")
      ->check(CheckWholeNumber(1, std::numeric_limits<std::int64_t>::max()));
  AddReason(*command, options->reason);
  AddYes(*command, options->yes);
  AddJsonAndRemote(*command, *options, kSetTimeout);
  command->footer(
      R"(Shows how many keys will get another owner, and what that means for caches and nodes, and asks; without
a terminal to ask on it needs --yes. All data centers are changed, or none. If somebody else changes
one of them meanwhile, nothing is changed and ringctl says who it was. Without a forecast (an older
router, no time) it asks all the same, but with --max-churn it stops. What --max-churn refuses is exit
code 5, with --dry-run too.

Examples:
  ringctl migration set --data-center ams --percent 12.5 --dry-run
  ringctl migration set --data-center ams --percent 12.5 --reason "ams: first eighth"
  ringctl migration set --tier canary --percent 1 --max-churn 2% --reason "canaries" --yes
  ringctl migration set --all --percent 25 --reason "next step" --yes --expect-revision 7)");
  RunSelected(*command, options, SetMigration, result);
}

void AddRollback(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<RollbackMigrationOptions>();
  CLI::App* command = migration.add_subcommand(
      "rollback", "The kill switch: back to v1 at once, frozen until `unfreeze`");
  AddSelectorOptions(*command, options->selector);
  AddReason(*command, options->reason);
  command->add_flag("--yes", options->yes, "Nothing is asked, with or without it");
  AddJsonAndRemote(*command, *options);
  command->footer(
      R"(Asks nothing and forecasts nothing. The router acts in memory first and needs no working store: where
the store does not have the rollback yet, the exit code is 7 and stderr says what to do. Where v1 was
retired it is built first, and until then the exit code is 8. It is one router: with stores of their
own, each has to be told.

Examples:
  ringctl migration rollback --data-center ams --reason "misses above budget"
  ringctl migration rollback --all
  for r in r1 r2 r3; do ringctl migration rollback --all --server $r:7401 & done; wait)");
  RunSelected(*command, options, RollbackMigration, result);
}

void AddUnfreeze(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<UnfreezeMigrationOptions>();
  CLI::App* command =
      migration.add_subcommand("unfreeze", "Lets shares be changed again that were rolled back");
  AddSelectorOptions(*command, options->selector);
  AddReason(*command, options->reason);
  AddYes(*command, options->yes);
  AddJsonAndRemote(*command, *options);
  command->footer(R"(The shares stay as they are.

Examples:
  ringctl migration unfreeze --data-center ams --reason "the bad build is gone")");
  RunSelected(*command, options, UnfreezeMigration, result);
}

void AddOverride(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<OverrideShareOptions>();
  CLI::App* command = migration.add_subcommand(
      "override", "Has ONE router answer with another share than the store's");
  AddSelectorOptions(*command, options->selector);
  AddPercent(*command, options->percent);
  AddReason(*command, options->reason)->required();
  AddYes(*command, options->yes);
  AddJsonAndRemote(*command, *options);
  command->footer(
      R"(Needs no working store and changes nothing in it. It lasts until `ringctl migration clear`, or until the
router is restarted. Other routers answer as before, so the same key may have two owners meanwhile.

Examples:
  ringctl migration override --data-center ams --percent 0 --reason "store down" --server r1:7401)");
  RunSelected(*command, options, OverrideShare, result);
}

void AddClear(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<ClearOverrideOptions>();
  CLI::App* command =
      migration.add_subcommand("clear", "Ends overrides: the router answers as the store says");
  AddSelectorOptions(*command, options->selector);
  AddJsonAndRemote(*command, *options);
  command->footer(R"(Examples:
  ringctl migration clear --data-center ams --server r1:7401
  ringctl migration clear --all)");
  RunSelected(*command, options, ClearOverride, result);
}

void AddRetire(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<RetireRingOptions>();
  CLI::App* command = migration.add_subcommand(
      "retire", "Drops a ring that no request can reach, and gives its memory back");
  AddSelectorOptions(*command, options->selector);
  command->add_option("--ring", options->ring, "v1 at a share of 100 %, v2 at 0 %")
      ->required()
      ->type_name("v1|v2")
      ->check(CheckOneOf({"v1", "v2"}));
  command
      ->add_option("--min-age", options->min_age,
                   "How long the share must have been such (default: the router's, 1h)")
      ->type_name("DURATION")
      ->check(CheckAge);
  AddReason(*command, options->reason);
  AddYes(*command, options->yes);
  AddJsonAndRemote(*command, *options);
  command->footer(
      R"(A retired ring is not built at the next start either. `ringctl migration restore` calls it back, and a
rollback does so by itself, but then it has to be built first. Until it is there, what it answered is no
previous owner, and no holder to purge: to keep these, wait for the warm window (24h by default).

Examples:
  ringctl migration retire --data-center ams --ring v1 --reason "ams is done"
  ringctl migration retire --tier canary --ring v1 --min-age 24h --yes)");
  RunSelected(*command, options, RetireRing, result);
}

void AddRestore(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<RestoreRingOptions>();
  CLI::App* command =
      migration.add_subcommand("restore", "Has a retired ring built again, in the background");
  AddSelectorOptions(*command, options->selector);
  AddReason(*command, options->reason);
  AddJsonAndRemote(*command, *options);
  command->footer(R"(`ringctl migration list` says how far it is. The share stays as it is.

Examples:
  ringctl migration restore --data-center ams --reason "before the rollback test")");
  RunSelected(*command, options, RestoreRing, result);
}

void AddDefaultShare(CLI::App& migration, ExitCode& result) {
  auto get = std::make_shared<GetDefaultShareOptions>();
  CLI::App* get_command =
      migration.add_subcommand("get-default", "The share that new data centers start at");
  AddJsonAndRemote(*get_command, *get);
  get_command->footer(R"(Examples:
  ringctl migration get-default --json | jq .v2_ppm)");
  get_command->callback([get, &result] { result = GetDefaultShare(*get); });

  auto set = std::make_shared<SetDefaultShareOptions>();
  CLI::App* set_command =
      migration.add_subcommand("set-default", "Changes the share that new data centers start at");
  AddPercent(*set_command, set->percent);
  AddReason(*set_command, set->reason);
  AddYes(*set_command, set->yes);
  AddJsonAndRemote(*set_command, *set);
  set_command->footer(R"(Data centers that have a migration keep their share.

Examples:
  ringctl migration set-default --percent 100 --reason "the fleet has moved")");
  set_command->callback([set, &result] { result = SetDefaultShare(*set); });
}

void AddForget(CLI::App& migration, ExitCode& result) {
  auto options = std::make_shared<ForgetMigrationOptions>();
  CLI::App* command = migration.add_subcommand(
      "forget", "Forgets the migration of a data center that the router does not serve");
  command->add_option("NAME", options->data_center, "The data center")
      ->required()
      ->check(CheckUtf8);
  AddReason(*command, options->reason);
  AddYes(*command, options->yes);
  AddJsonAndRemote(*command, *options);
  command->footer(
      R"(Shows the migration, and asks; without a terminal to ask on it needs --yes. If the data center comes
back afterwards it is a new one, at the default share. The history stays.

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
  AddReason(*command, options->reason);
  AddYes(*command, options->yes);
  AddJsonAndRemote(*command, *options);
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

void AddMigrationChangeCommands(CLI::App& migration, ExitCode& result) {
  AddSet(migration, result);
  AddRollback(migration, result);
  AddUnfreeze(migration, result);
  AddOverride(migration, result);
  AddClear(migration, result);
  AddRetire(migration, result);
  AddRestore(migration, result);
  AddDefaultShare(migration, result);
  AddForget(migration, result);
  AddRename(migration, result);
}

}  // namespace ringshift
