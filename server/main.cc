// ringshiftd: see --help.
#include <grpc/support/log.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "absl/synchronization/mutex.h"
#include "server/lifecycle.h"
#include "server/log.h"
#include "server/options.h"
#include "server/router_server.h"

namespace ringshift {
namespace {

// How long calls in flight may take to finish after a signal to stop.
constexpr std::chrono::seconds kDrainGrace{3};

// The first SIGTERM or SIGINT drains the router, or ends it where it is not ready yet; the second
// ends it whatever it does. Nothing is lost by that: a change is durable before it is acknowledged.
[[noreturn]] void HandleSignals(const sigset_t& signals, Lifecycle& lifecycle) {
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
    if (lifecycle.phase() == Phase::kStarting) {
      LogInfo("stopped before it was ready", {{"signal", name}});
      std::_Exit(0);
    }
    if (!lifecycle.StartDraining()) {
      LogWarn("stopped without waiting for calls", {{"signal", name}});
      std::_Exit(128 + signal);
    }
    LogInfo("stopping", {{"signal", name}});
  }
}

void LogForGrpc(gpr_log_func_args* args) {
  if (args->severity == GPR_LOG_SEVERITY_ERROR) LogWarn("grpc", {{"error", args->message}});
}

int Run(const RouterOptions& options) {
  static Lifecycle lifecycle;  // the signal thread uses it until the process is gone
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  // Before any other thread starts, so that none of them takes the signals.
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  std::thread([signals] { HandleSignals(signals, lifecycle); }).detach();
  // Its lock-order bookkeeping costs gRPC some percent of a call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::gpr_set_log_function(LogForGrpc);

  absl::StatusOr<std::unique_ptr<RouterServer>> router = RouterServer::Start(options, lifecycle);
  absl::Status status = router.status();
  if (status.ok()) status = (*router)->BuildAndServe();
  if (status.ok()) {
    lifecycle.WaitUntilDraining();
  } else {
    LogError("cannot start", {{"error", std::string(status.message())}});
  }
  const int exit_code = status.ok() ? 0 : 1;
  const bool all_closed =
      !router.ok() || (*router)->Stop(status.ok() ? kDrainGrace : std::chrono::seconds(0));
  if (status.ok()) LogInfo("stopped");
  // A client that reads /metrics too slowly is not waited for.
  if (!all_closed) std::_Exit(exit_code);
  return exit_code;
}

}  // namespace
}  // namespace ringshift

int main(int argc, char** argv) {
  const auto parsed = ringshift::ParseOptions(argc, argv);
  if (const auto* exit = std::get_if<ringshift::EarlyExit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->exit_code == 0 ? stdout : stderr);
    return exit->exit_code;
  }
  return ringshift::Run(std::get<ringshift::RouterOptions>(parsed));
}
