#include "client/ringctl/change_topology.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ringctl/build_progress.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "client/ringctl/reload_view.h"
#include "client/ringctl/text.h"
#include "client/ringctl/topology_client.h"

namespace ringshift {
namespace {

bool Has(const TopologyChanges& changes, v1::ReloadOutcome outcome) {
  return std::any_of(changes.begin(), changes.end(), [outcome](const v1::TopologyChange& change) {
    return change.outcome() == outcome;
  });
}

std::string StatusCommand(const Remote& remote) { return "ringctl status" + remote.ServerFlag(); }

std::string AcceptCommand(const v1::ReloadStatus& status, const Remote& remote) {
  return "ringctl topology accept " + status.checksum() + remote.ServerFlag();
}

// Prints what came of a reload, and returns what it means.
ExitCode Finish(const TopologyChanges& changes, const v1::ReloadStatus& status, bool as_json,
                const Remote& remote) {
  Output output(STDOUT_FILENO);
  if (as_json) {
    JsonWriter json;
    json.BeginObject().Key("changes");
    WriteChanges(changes, json);
    json.Key("topology");
    WriteReloadStatus(status, json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    PrintChanges(changes, output);
  }
  const ExitCode printed = output.Finish();
  if (printed != ExitCode::kOk) return printed;
  if (!status.store_error().empty()) {
    Warn("the store does not have all that serves, and a restart would not know it: " +
         status.store_error());
  }
  const bool is_held = Has(changes, v1::RELOAD_OUTCOME_HELD);
  ExitCode result = ExitCode::kOk;
  if (is_held) {
    result = Fail(ExitCode::kDeclined, "what changes more than the limits allow is held",
                  "accept it with `" + AcceptCommand(status, remote) + "`, or put the file right");
  }
  if (Has(changes, v1::RELOAD_OUTCOME_FAILED)) {
    result = Fail(ExitCode::kRefused,
                  "a data center could not be changed; it serves as before, unless it is new",
                  "put right what its reason says, and reload");
  }
  return result;
}

// The held changes that `names` asks for; all of them where it is empty.
TopologyChanges Choose(const TopologyChanges& held, const std::vector<std::string>& names) {
  TopologyChanges chosen;
  for (const v1::TopologyChange& change : held) {
    const bool is_chosen =
        names.empty() || std::find(names.begin(), names.end(), change.data_center()) != names.end();
    if (is_chosen) *chosen.Add() = change;
  }
  return chosen;
}

// What to do about a refused reload; "" where the code has its usual meaning.
std::string_view AdviceForReload(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::PERMISSION_DENIED:
      return "correct the topology file and reload; until then the router serves as before";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "change that first, or correct the topology file; until then the router serves as "
             "before";
    case grpc::StatusCode::ABORTED:
      return "reload once it is written; the router takes it up by itself, too";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "try again later";
    default:
      return "";
  }
}

// What to do about a refused acceptance; "" where the code has its usual meaning.
std::string AdviceForAccept(grpc::StatusCode code, const Remote& remote) {
  switch (code) {
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "look with `" + StatusCommand(remote) +
             "` at what is held and at the shares, and decide again";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "try again later";
    default:
      return "";
  }
}

// Refuses what the router would refuse, before somebody is asked about it.
ExitCode CheckHeld(const AcceptTopologyOptions& options, const v1::ReloadStatus& status,
                   const Remote& remote) {
  if (status.held().empty()) {
    return Fail(ExitCode::kRefused, "nothing was accepted, because nothing is held",
                "see `" + StatusCommand(remote) + "`");
  }
  if (status.checksum() != options.checksum) {
    return Fail(ExitCode::kRefused,
                absl::StrCat("nothing was accepted, because the topology that is held has the "
                             "checksum ",
                             status.checksum(), ", not ", options.checksum),
                "look at it with `" + StatusCommand(remote) + "`, and decide again");
  }
  std::vector<std::string> held;
  for (const v1::TopologyChange& change : status.held()) held.push_back(change.data_center());
  for (const std::string& name : options.data_centers) {
    if (std::find(held.begin(), held.end(), name) != held.end()) continue;
    return Fail(ExitCode::kRefused,
                absl::StrCat("nothing was accepted, because ", name, " is not held"),
                "held: " + absl::StrJoin(held, ", "));
  }
  return ExitCode::kOk;
}

}  // namespace

ExitCode ReloadTopology(const ReloadTopologyOptions& options) {
  const Remote remote(options.remote);
  TopologyClient client(remote);
  // A router that is not there is told from one of which it is not known what it did.
  v1::GetStatusResponse before;
  grpc::Status status = client.GetStatus(before);
  if (!status.ok()) return remote.FailCall(status);
  v1::ReloadTopologyRequest request;
  request.set_requested_by(RequestedBy());
  v1::ReloadTopologyResponse response;
  {
    const BuildProgress progress("the router reloads " + ForTerminal(before.reload().file()));
    status = client.Reload(request, response);
  }
  if (!status.ok()) {
    return remote.FailChange(status, "the topology was reloaded", "ringctl status",
                             AdviceForReload(status.error_code()));
  }
  return Finish(response.changes(), response.status(), options.json, remote);
}

ExitCode AcceptTopology(const AcceptTopologyOptions& options) {
  ExitCode may = CheckCanConfirm(options.yes);
  if (may != ExitCode::kOk) return may;
  Remote remote(options.remote);
  TopologyClient client(remote);
  v1::GetStatusResponse before;
  grpc::Status status = client.GetStatus(before);
  if (!status.ok()) return remote.FailCall(status);
  may = CheckHeld(options, before.reload(), remote);
  if (may != ExitCode::kOk) return may;
  if (!options.yes) {
    Output question(STDERR_FILENO);
    PrintChanges(Choose(before.reload().held(), options.data_centers), question);
    question.Flush();
  }
  may = Confirm(options.yes, "Serve this?", remote);
  if (may != ExitCode::kOk) return may;

  v1::AcceptTopologyRequest request;
  request.set_checksum(options.checksum);
  for (const std::string& name : options.data_centers) request.add_data_centers(name);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::AcceptTopologyResponse response;
  {
    const BuildProgress progress("the router takes up what was held");
    status = client.Accept(request, response);
  }
  if (!status.ok()) {
    return remote.FailChange(status, "the topology was accepted", "ringctl status",
                             AdviceForAccept(status.error_code(), remote));
  }
  return Finish(response.changes(), response.status(), options.json, remote);
}

}  // namespace ringshift
