#include "client/ringctl/remote.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/ringctl/text.h"
#include "client/router_address.h"

namespace ringshift {
namespace {

std::shared_ptr<grpc::Channel> Connect(const std::string& server) {
  // Never matched by a grpc_shutdown: that waits for the threads of a name resolution that hangs,
  // past any timeout. The process ends without it.
  grpc_init();
  grpc::ChannelArguments arguments;
  // A router is inside the network; a proxy for the web is never the way to it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // What watches a router notices that its machine is gone, and then that it is there again.
  // Routers send away who pings more often than every 10 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // any number
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

gpr_timespec ToTimespan(const absl::Duration& duration) {
  return gpr_time_from_millis(absl::ToInt64Milliseconds(duration), GPR_TIMESPAN);
}

std::string CodeName(grpc::StatusCode code) {
  // gRPC's codes and Abseil's have the same numbers.
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

std::string_view AdviceFor(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
      return "correct the arguments and run it again";
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "change that first";
    case grpc::StatusCode::ABORTED:
      return "read it again and decide again";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "check --server: `route`, `explain` and `holders` need the router's public address, "
             "everything else its admin address; or the router is older than this ringctl";
    case grpc::StatusCode::UNAVAILABLE:
      return "try again later";
    default:
      return "look at the router's log";
  }
}

// True where `code` says that nothing was changed. UNAVAILABLE does not: so answers a router that
// stops while the change is being made, too.
bool IsRefusal(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return true;
    default:
      return false;
  }
}

std::string CheckTimeout(const std::string& text) {
  return std::string(ParseTimeout(text).status().message());
}

// Takes `value` from the environment, unless it was given, and throws what CLI11 throws where
// `check` refuses it.
void FromEnvironment(const char* variable, const CLI::Option& option,
                     std::string (*check)(const std::string&), std::string& value) {
  const char* text = std::getenv(variable);
  if (option.count() > 0 || text == nullptr || *text == '\0') return;
  const std::string error = check(text);
  if (!error.empty()) throw CLI::ValidationError(variable, error);
  value = text;
}

}  // namespace

void AddRemoteOptions(CLI::App& command, RemoteOptions& options, RouterPort port,
                      std::string_view default_timeout, const CLI::Option* offline) {
  const bool is_public = port == RouterPort::kPublic;
  const char* variable = is_public ? "RINGCTL_PUBLIC_SERVER" : "RINGCTL_ADMIN_SERVER";
  options.server = is_public ? "127.0.0.1:7400" : "127.0.0.1:7401";
  options.timeout = default_timeout;
  const CLI::Option* server =
      command
          .add_option(
              "--server", options.server,
              absl::StrCat("The router's ", is_public ? "public" : "admin", " address (default: $",
                           variable, ", else ", options.server, ")"))
          ->type_name("HOST:PORT")
          ->check(CheckServer);
  const CLI::Option* timeout =
      command
          .add_option("--timeout", options.timeout,
                      absl::StrCat("How long to wait for the router (default: $RINGCTL_TIMEOUT, "
                                   "else ",
                                   options.timeout, ")"))
          ->type_name("DURATION")
          ->check(CheckTimeout);
  command.parse_complete_callback([&options, variable, server, timeout, offline] {
    if (offline != nullptr && offline->count() > 0) return;
    options.server_was_given = server->count() > 0;
    FromEnvironment(variable, *server, CheckServer, options.server);
    FromEnvironment("RINGCTL_TIMEOUT", *timeout, CheckTimeout, options.timeout);
  });
}

std::string CheckServer(const std::string& server) {
  if (IsRouterAddress(server)) return "";
  return absl::StrCat("\"", ForTerminal(server), "\" is not a server: write ", kRouterAddressForms);
}

Remote::Remote(const RemoteOptions& options)
    : options_(options),
      timeout_(ToTimespan(ParseTimeout(options.timeout).value())),
      channel_(Connect(options.server)) {
  RestartClock();
}

void Remote::RestartClock() { deadline_ = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), timeout_); }

void Remote::SetDeadline(grpc::ClientContext& context) const { context.set_deadline(deadline_); }

std::string Remote::ServerFlag() const {
  return options_.server_was_given ? " --server " + server() : "";
}

bool Remote::IsAnswer(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) return false;
  // A router that says UNAVAILABLE is still connected.
  return status.error_code() != grpc::StatusCode::UNAVAILABLE ||
         channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
}

grpc::Status Remote::WaitUntilConnected() const {
  while (true) {
    const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return grpc::Status::OK;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
      return {grpc::StatusCode::UNAVAILABLE, "no connection"};
    }
    if (!channel_->WaitForStateChange(state, deadline_)) {
      return {grpc::StatusCode::DEADLINE_EXCEEDED, "no connection"};
    }
  }
}

bool Remote::MayPass(const grpc::Status& status) {
  return !IsRefusal(status.error_code()) ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ||
         status.error_code() == grpc::StatusCode::ABORTED;
}

std::string Remote::Describe(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::StrCat("no answer from ", server(), " within ", options_.timeout);
  }
  if (!IsAnswer(status))
    return absl::StrCat("cannot reach ", server(), ": ", status.error_message());
  return absl::StrCat(server(), " answered ", CodeName(status.error_code()),
                      status.error_message().empty() ? "" : ": ", status.error_message());
}

ExitCode Remote::FailCall(const grpc::Status& status, std::string_view prefix,
                          std::string_view advice) const {
  const std::string what = std::string(prefix) + Describe(status);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return Fail(
        ExitCode::kUnreachable, what,
        "check that a router runs there and that --server is right, or give a longer --timeout");
  }
  if (!IsAnswer(status)) {
    return Fail(ExitCode::kUnreachable, what,
                "check that a router runs there and that --server is right");
  }
  return Fail(ExitCode::kRefused, what, advice.empty() ? AdviceFor(status.error_code()) : advice);
}

ExitCode Remote::FailChange(const grpc::Status& status, std::string_view done,
                            std::string_view look, std::string_view advice) const {
  const ExitCode code = FailCall(status, "", advice);
  if (IsRefusal(status.error_code())) return code;
  return Fail(ExitCode::kUnknown, absl::StrCat("it is not known whether ", std::string(done)),
              absl::StrCat("look with `", std::string(look), ServerFlag(), "`"));
}

}  // namespace ringshift
