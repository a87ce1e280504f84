#include "client/remote.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/text.h"

namespace ringshift {
namespace {

std::shared_ptr<grpc::Channel> Connect(const std::string& server) {
  // Never matched by a grpc_shutdown: that waits for the threads of a name resolution that hangs,
  // past any timeout. The process ends without it.
  grpc_init();
  grpc::ChannelArguments arguments;
  // A router is inside the network; a proxy for the web is never the way to it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
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
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "change that first";
    case grpc::StatusCode::ABORTED:
      return "read it again and decide again";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "check --server: `route` needs the router's public address, `migration` its admin "
             "address";
    case grpc::StatusCode::UNAVAILABLE:
      return "try again later";
    default:
      return "look at the router's log";
  }
}

}  // namespace

void AddRemoteOptions(CLI::App& command, RemoteOptions& options, std::string_view default_server) {
  options.server = default_server;
  options.timeout = "5s";
  command
      .add_option("--server", options.server,
                  absl::StrCat("The router (default: ", std::string(default_server), ")"))
      ->type_name("HOST:PORT")
      ->check(CheckServer);
  command.add_option("--timeout", options.timeout, "How long to wait for the router (default: 5s)")
      ->type_name("DURATION")
      ->check([](const std::string& text) {
        return std::string(ParseTimeout(text).status().message());
      });
}

std::string CheckServer(const std::string& server) {
  if (server.rfind("unix:", 0) == 0) {
    return server.size() > 5 ? "" : "\"unix:\" has no path: write unix:PATH";
  }
  const std::size_t colon = server.rfind(':');
  const std::string host = server.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : server.substr(colon + 1);
  int number = 0;
  const bool has_port = port.find_first_not_of("0123456789") == std::string::npos &&
                        absl::SimpleAtoi(port, &number) && number >= 1 && number <= 65535;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const bool plain = !host.empty() && host.find_first_of(":[]/ ") == std::string::npos;
  if (has_port && (bracketed || plain)) return "";
  return absl::StrCat("\"", ForTerminal(server),
                      "\" is not a server: write HOST:PORT, [IPv6]:PORT or unix:PATH");
}

Remote::Remote(const RemoteOptions& options)
    : options_(options),
      timeout_(ToTimespan(ParseTimeout(options.timeout).value())),
      channel_(Connect(options.server)) {
  RestartClock();
}

void Remote::RestartClock() { deadline_ = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), timeout_); }

void Remote::SetDeadline(grpc::ClientContext& context) const { context.set_deadline(deadline_); }

ExitCode Remote::FailCall(const grpc::Status& status, std::string_view prefix) const {
  const std::string start(prefix);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return Fail(
        ExitCode::kUnreachable,
        absl::StrCat(start, "no answer from ", server(), " within ", options_.timeout),
        "check that a router runs there and that --server is right, or give a longer --timeout");
  }
  // A router that says UNAVAILABLE is still connected.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      channel_->GetState(/*try_to_connect=*/false) != GRPC_CHANNEL_READY) {
    return Fail(ExitCode::kUnreachable,
                absl::StrCat(start, "cannot reach ", server(), ": ", status.error_message()),
                "check that a router runs there and that --server is right");
  }
  return Fail(ExitCode::kRefused,
              absl::StrCat(start, server(), " answered ", CodeName(status.error_code()), ": ",
                           status.error_message()),
              AdviceFor(status.error_code()));
}

}  // namespace ringshift
