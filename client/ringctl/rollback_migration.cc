#include "client/ringctl/rollback_migration.h"

#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/changed_migrations.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/confirm_selected.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

ExitCode PrintRollback(const v1::RollbackMigrationResponse& response, bool as_json) {
  Output output(STDOUT_FILENO);
  if (as_json) {
    JsonWriter json;
    json.BeginObject().Key("changes");
    WriteChangedMigrations(response.changes(), json);
    json.Key("durability").String(DurabilityText(response.durability()));
    json.Key("store_error").String(response.store_error());
    json.Key("without_v1").BeginArray();
    for (const std::string& name : response.without_v1()) json.String(name);
    json.EndArray().Key("unknown").BeginArray();
    for (const std::string& name : response.unknown()) json.String(name);
    json.EndArray().EndObject();
    output.Write(json.TakeLine());
  } else if (!response.changes().empty()) {
    PrintChangedMigrations(response.changes(), output);
  }
  return output.Finish();
}

}  // namespace

ExitCode RollbackMigration(const RollbackMigrationOptions& options) {
  const Remote remote(options.remote);
  const grpc::Status connected = remote.WaitUntilConnected();
  if (!connected.ok()) return remote.FailCall(connected, "nothing was rolled back: ");
  v1::RollbackMigrationRequest request;
  *request.mutable_selector() = SelectorOf(options.selector);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::RollbackMigrationResponse response;
  const grpc::Status status = MigrationClient(remote).Rollback(request, response);
  if (!status.ok()) {
    return remote.FailChange(status, NameDataCenters(options.selector) + " was rolled back",
                             LookCommand(options.selector));
  }
  ExitCode result = PrintRollback(response, options.json);
  const std::vector<std::string> without_v1(response.without_v1().begin(),
                                            response.without_v1().end());
  if (!without_v1.empty()) {
    Warn(absl::StrCat(NameDataCenters(without_v1),
                      ": not rolled back, because there is no ring v1 to go back to"));
  }
  const std::vector<std::string> unknown(response.unknown().begin(), response.unknown().end());
  if (!unknown.empty()) {
    Warn(absl::StrCat(NameDataCenters(unknown), ": not rolled back, because ", remote.server(),
                      " does not serve it"));
  }
  std::vector<std::string> not_in_force;
  for (const v1::ChangedMigration& change : response.changes()) {
    const v1::Migration& migration = change.migration();
    if (migration.effective_v2_ppm() == migration.v2_ppm()) continue;
    not_in_force.push_back(migration.data_center());
    Warn(absl::StrCat(migration.data_center(), " still answers with ", EffectiveText(migration),
                      ": ", migration.effective_reason()));
  }
  if (result != ExitCode::kOk) return result;
  if (response.changes().empty()) {
    return Fail(ExitCode::kDeclined, "nothing was rolled back",
                "name data centers that have a ring v1");
  }
  if (response.durability() == v1::DURABILITY_NOT_IN_FORCE) {
    return Fail(ExitCode::kNotInForce,
                "this is in the store, and not in force everywhere yet: a ring v1 is being built",
                absl::StrCat("look with `", LookCommand(options.selector), remote.ServerFlag(),
                             "` until EFFECTIVE is 0%"));
  }
  if (response.durability() == v1::DURABILITY_DURABLE) {
    return unknown.empty() ? ExitCode::kOk : ExitCode::kDeclined;
  }
  if (!not_in_force.empty()) {
    return Fail(ExitCode::kNotInForce,
                absl::StrCat("this is not in the store of ", remote.server(), ", and for ",
                             NameDataCenters(not_in_force),
                             " not in force there either: a ring v1 is being built, and a restart "
                             "would keep the old share: ",
                             response.store_error()),
                absl::StrCat("do not restart the router until its store works again; it goes on "
                             "trying, and `",
                             LookCommand(options.selector), remote.ServerFlag(),
                             "` says \"not durable\" until it has succeeded, and EFFECTIVE 0% "
                             "once the ring is there"));
  }
  return Fail(ExitCode::kNotDurable,
              absl::StrCat("this is in force on ", remote.server(),
                           ", and not in its store: a restart would bring the old share back: ",
                           response.store_error()),
              "do not restart the router until its store works again; it goes on trying, and `" +
                  LookCommand(options.selector) + remote.ServerFlag() +
                  "` says \"not durable\" until it has succeeded");
}

ExitCode UnfreezeMigration(const UnfreezeMigrationOptions& options) {
  Remote remote(options.remote);
  MigrationClient client(remote);
  std::vector<v1::Migration> migrations;
  const ExitCode may = ConfirmSelected(
      options.yes, options.selector, remote, client,
      [](const std::string& names) {
        return "Let the share of " + names + " be changed again? It stays as it is until then.";
      },
      migrations);
  if (may != ExitCode::kOk) return may;

  v1::UnfreezeMigrationRequest request;
  *request.mutable_selector() = SelectorOf(options.selector);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::UnfreezeMigrationResponse response;
  const grpc::Status status = client.Unfreeze(request, response);
  if (!status.ok()) {
    return remote.FailChange(status, NameDataCenters(migrations) + " was unfrozen",
                             LookCommand(options.selector));
  }
  return PrintChanged(response.migrations(), options.json);
}

}  // namespace ringshift
