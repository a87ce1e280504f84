#include "client/ringctl/retire_ring.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/ringctl/changed_migrations.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/confirm_selected.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/output.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// None if it is no age.
std::optional<absl::Duration> ParseAge(const std::string& text) {
  absl::Duration age;
  if (!absl::ParseDuration(text, &age) || age < absl::ZeroDuration() ||
      age > absl::Hours(24 * 365)) {
    return std::nullopt;
  }
  return age;
}

}  // namespace

std::string CheckAge(const std::string& text) {
  return ParseAge(text) ? ""
                        : "\"" + ForTerminal(text) +
                              "\" is not an age from 0s up to a year: for example 90s, 30m or 1h";
}

ExitCode RetireRing(const RetireRingOptions& options) {
  Remote remote(options.remote);
  MigrationClient client(remote);
  std::vector<v1::Migration> migrations;
  const ExitCode may = ConfirmSelected(
      options.yes, options.selector, remote, client,
      [&](const std::string& names) {
        return absl::StrCat("Drop ring ", options.ring, " of ", names,
                            "? What it answered is no previous owner any more, and the way back "
                            "to it then begins with building it again.");
      },
      migrations);
  if (may != ExitCode::kOk) return may;

  v1::RetireRingRequest request;
  *request.mutable_selector() = SelectorOf(options.selector);
  request.set_ring_version(options.ring == "v1" ? v1::RING_VERSION_V1 : v1::RING_VERSION_V2);
  if (options.min_age) {
    // What is asked for, or a little more.
    const absl::Duration age = absl::Ceil(*ParseAge(*options.min_age), absl::Seconds(1));
    request.set_min_age_seconds(absl::ToInt64Seconds(age));
  }
  request.set_base_revision(NewestRevision(migrations));
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::RetireRingResponse response;
  const grpc::Status status = client.Retire(request, response);
  if (!status.ok()) {
    return remote.FailChange(
        status,
        absl::StrCat("ring ", options.ring, " of ", NameDataCenters(migrations), " was retired"),
        LookCommand(options.selector));
  }
  const ExitCode printed =
      PrintChanged(response.migrations(), options.json, [&response](JsonWriter& json) {
        json.Key("ring_memory_bytes").Int(response.ring_memory_bytes());
      });
  if (printed != ExitCode::kOk || options.json) return printed;
  Output output(STDOUT_FILENO);
  const std::int64_t bytes = std::max<std::int64_t>(response.ring_memory_bytes(), 0);
  output.Write("\nThe dropped rings took " + HumanBytes(static_cast<std::uint64_t>(bytes)) + ".\n");
  return output.Finish();
}

ExitCode RestoreRing(const RestoreRingOptions& options) {
  const Remote remote(options.remote);
  const grpc::Status connected = remote.WaitUntilConnected();
  if (!connected.ok()) return remote.FailCall(connected);
  v1::RestoreRingRequest request;
  *request.mutable_selector() = SelectorOf(options.selector);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::RestoreRingResponse response;
  const grpc::Status status = MigrationClient(remote).Restore(request, response);
  if (!status.ok()) {
    return remote.FailChange(
        status, "the retired ring of " + NameDataCenters(options.selector) + " was called back",
        LookCommand(options.selector));
  }
  return PrintChanged(response.migrations(), options.json);
}

}  // namespace ringshift
