#include "client/ringctl/set_migration.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

// Says that `seen` is not what is there any more, and what is.
ExitCode FailChanged(std::int64_t seen, const v1::Migration& now) {
  return Fail(ExitCode::kRefused,
              absl::StrCat("nothing was changed, because ", now.data_center(), " is at revision ",
                           now.revision(), " and not at ", seen, " any more: ",
                           PercentOfPpm(now.v2_ppm()), " since ", TimeForPeople(now.update_time()),
                           ", by ", now.actor(), ", reason \"", now.reason(), "\""),
              "decide again from there");
}

ExitCode FailSet(const Remote& remote, const grpc::Status& status, std::int64_t expected_revision,
                 MigrationClient& client, const std::string& data_center) {
  v1::Migration now;
  if (status.error_code() == grpc::StatusCode::ABORTED && client.Get(data_center, now).ok()) {
    return FailChanged(expected_revision, now);
  }
  const std::string look = "ringctl migration get --data-center " + data_center;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && remote.IsAnswer(status)) {
    remote.FailCall(status);
    return Fail(ExitCode::kUnknown,
                absl::StrCat("the share of ", data_center, " that is in force on ", remote.server(),
                             " is as before, but it is not known whether its store has the new "
                             "one"),
                absl::StrCat("look with `", look, remote.ServerFlag(), "`"));
  }
  return remote.FailChange(status, "the share of " + data_center + " was changed", look);
}

ExitCode PrintResult(const SetMigrationOptions& options, const v1::SetMigrationResponse& response) {
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("previous_v2_ppm").Int(response.previous_v2_ppm());
    json.Key("migration");
    WriteMigration(response.migration(), json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    output.Write(absl::StrCat(ForTerminal(response.migration().data_center()), ": ",
                              PercentOfPpm(response.previous_v2_ppm()), " -> ",
                              PercentOfPpm(response.migration().v2_ppm()), ", revision ",
                              response.migration().revision(), "\n"));
  }
  return output.Finish();
}

}  // namespace

ExitCode SetMigration(const SetMigrationOptions& options) {
  const Share share = Share::ParsePercent(options.percent).value();
  ExitCode may = CheckCanConfirm(options.yes);
  if (may != ExitCode::kOk) return may;

  Remote remote(options.remote);
  MigrationClient client(remote);
  v1::Migration before;
  grpc::Status status = client.Get(options.data_center, before);
  if (!status.ok()) return remote.FailCall(status);
  const std::int64_t expected_revision = options.expected_revision.value_or(before.revision());
  if (expected_revision != before.revision()) return FailChanged(expected_revision, before);

  may = Confirm(
      options.yes,
      absl::StrCat("Change the share of v2 in ", ForTerminal(before.data_center()), " from ",
                   PercentOfPpm(before.v2_ppm()), " to ", share.ToPercent(), "%?"),
      remote);
  if (may != ExitCode::kOk) return may;

  v1::SetMigrationRequest request;
  request.set_data_center(options.data_center);
  request.set_v2_ppm(share.ppm());
  request.set_expected_revision(expected_revision);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::SetMigrationResponse response;
  status = client.Set(request, response);
  if (!status.ok()) {
    return FailSet(remote, status, expected_revision, client, options.data_center);
  }
  return PrintResult(options, response);
}

}  // namespace ringshift
