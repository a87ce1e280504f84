#include "client/ringctl/override_share.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/changed_migrations.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/confirm_selected.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {

ExitCode OverrideShare(const OverrideShareOptions& options) {
  const Share share = Share::ParsePercent(options.percent).value();
  Remote remote(options.remote);
  MigrationClient client(remote);
  const std::string server = ForTerminal(remote.server());
  std::vector<v1::Migration> migrations;
  const ExitCode may = ConfirmSelected(
      options.yes, options.selector, remote, client,
      [&](const std::string& names) {
        return absl::StrCat("Have ", server, " ALONE answer ", share.ToPercent(),
                            "% of the requests of ", names,
                            " with v2, whatever the store has, until it is cleared or restarted?");
      },
      migrations);
  if (may != ExitCode::kOk) return may;

  v1::OverrideShareRequest request;
  *request.mutable_selector() = SelectorOf(options.selector);
  request.set_v2_ppm(share.ppm());
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::OverrideShareResponse response;
  const grpc::Status status = client.Override(request, response);
  if (!status.ok()) {
    return remote.FailChange(status,
                             "the share of " + NameDataCenters(migrations) + " was overridden",
                             LookCommand(options.selector));
  }
  const ExitCode printed = PrintChanged(response.migrations(), options.json);
  Warn(absl::StrCat("this is ", server,
                    " ALONE: no other router does it, the store does not have it, and a restart "
                    "ends it, as `ringctl migration clear` does"));
  return printed;
}

ExitCode ClearOverride(const ClearOverrideOptions& options) {
  const Remote remote(options.remote);
  const grpc::Status connected = remote.WaitUntilConnected();
  if (!connected.ok()) return remote.FailCall(connected);
  v1::ClearOverrideRequest request;
  *request.mutable_selector() = SelectorOf(options.selector);
  request.set_requested_by(RequestedBy());
  v1::ClearOverrideResponse response;
  const grpc::Status status = MigrationClient(remote).Clear(request, response);
  if (!status.ok()) {
    return remote.FailChange(status,
                             "the override of " + NameDataCenters(options.selector) + " has ended",
                             LookCommand(options.selector));
  }
  return PrintChanged(response.migrations(), options.json);
}

}  // namespace ringshift
