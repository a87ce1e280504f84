#include "client/ringctl/default_share.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

void WriteDefault(const v1::DefaultShare& default_share, JsonWriter& json) {
  json.BeginObject();
  json.Key("v2_ppm").Int(default_share.v2_ppm());
  json.Key("revision").Int(default_share.revision());
  json.EndObject();
}

}  // namespace

ExitCode GetDefaultShare(const GetDefaultShareOptions& options) {
  const Remote remote(options.remote);
  v1::DefaultShare share;
  const grpc::Status status = MigrationClient(remote).GetDefault(share);
  if (!status.ok()) return remote.FailCall(status);
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    WriteDefault(share, json);
    output.Write(json.TakeLine());
  } else {
    output.Write(absl::StrCat("New data centers start at ", PercentOfPpm(share.v2_ppm()),
                              share.revision() == 0 ? std::string(", as nobody has changed it")
                                                    : absl::StrCat(", revision ", share.revision()),
                              "\n"));
  }
  return output.Finish();
}

ExitCode SetDefaultShare(const SetDefaultShareOptions& options) {
  const Share share = Share::ParsePercent(options.percent).value();
  ExitCode may = CheckCanConfirm(options.yes);
  if (may != ExitCode::kOk) return may;
  Remote remote(options.remote);
  MigrationClient client(remote);
  v1::DefaultShare before;
  grpc::Status status = client.GetDefault(before);
  if (!status.ok()) return remote.FailCall(status);
  may = Confirm(options.yes,
                absl::StrCat("Change the share that new data centers start at from ",
                             PercentOfPpm(before.v2_ppm()), " to ", share.ToPercent(),
                             "%? Those that have a migration keep their share."),
                remote);
  if (may != ExitCode::kOk) return may;

  v1::SetDefaultShareRequest request;
  request.set_v2_ppm(share.ppm());
  request.set_base_revision(before.revision());
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::SetDefaultShareResponse response;
  status = client.SetDefault(request, response);
  if (!status.ok()) {
    return remote.FailChange(status, "the default share was changed",
                             "ringctl migration get-default");
  }
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Key("previous_v2_ppm").Int(response.previous_v2_ppm());
    json.Key("default_share");
    WriteDefault(response.default_share(), json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    output.Write(absl::StrCat("default share: ", PercentOfPpm(response.previous_v2_ppm()), " -> ",
                              PercentOfPpm(response.default_share().v2_ppm()), ", revision ",
                              response.default_share().revision(), "\n"));
  }
  return output.Finish();
}

}  // namespace ringshift
