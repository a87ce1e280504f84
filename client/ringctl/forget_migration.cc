#include "client/ringctl/forget_migration.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// "fra (12.5%, revision 7 of 2026-01-31 12:00:00Z by ops@host)".
std::string Describe(const v1::Migration& migration) {
  return absl::StrCat(ForTerminal(migration.data_center()), " (", PercentOfPpm(migration.v2_ppm()),
                      ", revision ", migration.revision(), " of ",
                      TimeForPeople(migration.update_time()), " by ",
                      ForTerminal(migration.actor()), ")");
}

// What a rename does to the new name, if that is a data center that the router serves: its keys
// move to the rings that the share and salt of the old name give them. "" where it is not.
std::string WhatMoves(MigrationClient& client, const std::string& new_name) {
  v1::Migration migration;
  if (!client.Get(new_name, migration).ok() || !migration.has_effective_v2_ppm()) return "";
  return absl::StrCat(" ", ForTerminal(new_name), " is being served, at ",
                      PercentOfPpm(migration.v2_ppm()), ": its keys move at once.");
}

ExitCode PrintResult(const v1::Migration& migration, bool as_json, const std::string& sentence) {
  Output output(STDOUT_FILENO);
  if (as_json) {
    JsonWriter json;
    json.BeginObject().Key("migration");
    WriteMigration(migration, json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    output.Write(sentence);
  }
  return output.Finish();
}

}  // namespace

ExitCode ForgetMigration(const ForgetMigrationOptions& options) {
  ExitCode may = CheckCanConfirm(options.yes);
  if (may != ExitCode::kOk) return may;
  Remote remote(options.remote);
  MigrationClient client(remote);
  v1::Migration migration;
  grpc::Status status = client.Get(options.data_center, migration);
  if (!status.ok()) return remote.FailCall(status);
  if (migration.has_effective_v2_ppm()) {
    return Fail(ExitCode::kRefused,
                absl::StrCat("nothing was forgotten, because ", remote.server(), " serves ",
                             migration.data_center()),
                "take it out of the topology first");
  }
  may = Confirm(options.yes,
                absl::StrCat("Forget the migration of ", Describe(migration),
                             "? If the data center comes back, it starts anew."),
                remote);
  if (may != ExitCode::kOk) return may;

  v1::ForgetMigrationRequest request;
  request.set_data_center(options.data_center);
  request.set_base_revision(migration.revision());
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  status = client.Forget(request, migration);
  if (!status.ok()) {
    return remote.FailChange(status, options.data_center + " was forgotten",
                             "ringctl migration get --data-center " + options.data_center);
  }
  return PrintResult(migration, options.json,
                     absl::StrCat(ForTerminal(migration.data_center()), ": forgotten, was at ",
                                  PercentOfPpm(migration.v2_ppm()), "\n"));
}

ExitCode RenameMigration(const RenameMigrationOptions& options) {
  ExitCode may = CheckCanConfirm(options.yes);
  if (may != ExitCode::kOk) return may;
  Remote remote(options.remote);
  MigrationClient client(remote);
  v1::Migration migration;
  grpc::Status status = client.Get(options.data_center, migration);
  if (!status.ok()) return remote.FailCall(status);
  const std::string name = ForTerminal(options.data_center);
  may = Confirm(
      options.yes,
      absl::StrCat("Give ", ForTerminal(options.new_data_center), " the migration of ",
                   Describe(migration), "? ",
                   migration.is_orphaned() ? absl::StrCat(name, " is forgotten by that.")
                                           : absl::StrCat(name, " keeps its migration too."),
                   WhatMoves(client, options.new_data_center)),
      remote);
  if (may != ExitCode::kOk) return may;

  v1::RenameMigrationRequest request;
  request.set_data_center(options.data_center);
  request.set_new_data_center(options.new_data_center);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::Migration renamed;
  status = client.Rename(request, renamed);
  if (!status.ok()) {
    return remote.FailChange(
        status,
        absl::StrCat(options.new_data_center, " got the migration of ", options.data_center),
        "ringctl migration get --data-center " + options.new_data_center);
  }
  return PrintResult(
      renamed, options.json,
      absl::StrCat(ForTerminal(renamed.data_center()), ": ", PercentOfPpm(renamed.v2_ppm()),
                   ", revision ", renamed.revision(), ", the migration of ", name, "\n"));
}

}  // namespace ringshift
