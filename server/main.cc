// ringshiftd: see --help.
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/heap.h"
#include "server/lifecycle.h"
#include "server/log.h"
#include "server/log_throttle.h"
#include "server/options.h"
#include "server/router_server.h"

namespace ringshift {
namespace {

// How long calls in flight have to finish once the router is drained. With the three seconds that a
// drain may take, and a moment for the rest, the router ends within six.
constexpr std::chrono::seconds kGrace{2};

// Opens standard descriptors that the caller has closed, so that neither the store nor a socket
// takes their place and is written log lines to.
void OccupyStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

// SIGHUP, from the start on: what comes before the router can reload is remembered.
//
// Thread safety: thread-safe.
class ReloadSignal {
 public:
  void Ask() {
    const absl::MutexLock lock(&mutex_);
    if (router_ != nullptr) {
      router_->Reload();
    } else if (has_ended_) {
      LogInfo("SIGHUP: the router stops, and does not reload the topology");
    } else {
      LogInfo("SIGHUP: the topology is reloaded once the router is ready");
      is_wanted_ = true;
    }
  }

  // Signals go to `router` until End.
  void SendTo(RouterServer& router) {
    const absl::MutexLock lock(&mutex_);
    router_ = &router;
    if (is_wanted_) router_->Reload();
  }

  // Signals are not heard any more.
  void End() {
    const absl::MutexLock lock(&mutex_);
    router_ = nullptr;
    has_ended_ = true;
  }

 private:
  absl::Mutex mutex_;
  RouterServer* router_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// The first SIGTERM or SIGINT drains the router, or ends it where it is not ready yet; the second
// ends it whatever it does. Nothing is lost by that: a change is durable before it is acknowledged.
[[noreturn]] void HandleSignals(const sigset_t& signals, Lifecycle& lifecycle,
                                ReloadSignal& reload) {
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGHUP) {
      reload.Ask();
      continue;
    }
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
    // timeout(1) and others signal a process and then its group: that is one wish, not two.
    const timespec echo{0, 100'000'000};
    while (::sigtimedwait(&signals, nullptr, &echo) > 0) {
    }
  }
}

// Each connection is an open file, and the usual limit, of programs that use select, is 1,024.
void RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Of the process: threads use it until that is gone.
Lifecycle& ProcessLifecycle() {
  static Lifecycle& lifecycle = *new Lifecycle;
  return lifecycle;
}

std::atomic<bool> has_lost_a_port{false};

// gRPC 1.51 never accepts a connection again on a port on which that has failed once, as it does
// where there are too many open files.
void StopWithoutPort(std::string_view error) {
  if (has_lost_a_port.exchange(true)) return;
  LogError("a port accepts no connection any more; the router stops, and has to be started again",
           {{"error", std::string(error)}});
  if (!ProcessLifecycle().StartDraining() && ProcessLifecycle().phase() == Phase::kStarting) {
    std::_Exit(1);
  }
}

// A caller can have gRPC log an error for each of its calls.
void LogForGrpc(gpr_log_func_args* args) {
  static LogThrottle& throttle = *new LogThrottle;
  if (args->severity != GPR_LOG_SEVERITY_ERROR) return;
  const std::string_view message = args->message;
  if (message.starts_with("Failed accept4:")) return StopWithoutPort(message);
  const std::optional<std::uint64_t> left_out = throttle.Admit(std::chrono::steady_clock::now());
  if (!left_out) return;
  LogWarn("grpc", {{"error", args->message}, {"left_out_before", std::to_string(*left_out)}});
}

// What a client sends in place of text makes protobuf write a line to stderr, and wait where nobody
// reads it. The client has its answer, and the metrics count it.
void SilenceProtobuf() { google::protobuf::SetLogHandler(nullptr); }

int Run(const RouterOptions& options) {
  Lifecycle& lifecycle = ProcessLifecycle();
  // The signal thread uses it until the process is gone.
  static ReloadSignal& reload = *new ReloadSignal;
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGHUP);
  // Before any other thread starts, so that none of them takes the signals.
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  RaiseFileLimit();
  ReturnLargePiecesWhenFreed();
  ::signal(SIGPIPE, SIG_IGN);
  // A write beyond a limit of file sizes fails, as on a disk that is full.
  ::signal(SIGXFSZ, SIG_IGN);
  std::thread([signals, &lifecycle] { HandleSignals(signals, lifecycle, reload); }).detach();
  // Its lock-order bookkeeping costs gRPC some percent of a call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::gpr_set_log_function(LogForGrpc);
  SilenceProtobuf();

  absl::StatusOr<std::unique_ptr<RouterServer>> router = RouterServer::Start(options, lifecycle);
  absl::Status status = router.status();
  if (status.ok()) status = (*router)->BuildAndServe();
  if (status.ok()) {
    reload.SendTo(**router);
    lifecycle.WaitUntilDraining();
    (*router)->Drain();
    reload.End();
  } else {
    reload.End();
    LogError("cannot start", {{"error", std::string(status.message())}});
  }
  const int exit_code = status.ok() && !has_lost_a_port ? 0 : 1;
  const bool all_ended =
      !router.ok() || (*router)->Stop(status.ok() ? kGrace : std::chrono::seconds(0));
  if (!all_ended) LogWarn("not waited for a change or a reload that is under way");
  if (status.ok()) LogInfo("stopped");
  if (!all_ended) std::_Exit(exit_code);
  return exit_code;
}

}  // namespace
}  // namespace ringshift

int main(int argc, char** argv) {
  ringshift::OccupyStandardDescriptors();
  const auto parsed = ringshift::ParseOptions(argc, argv);
  if (const auto* exit = std::get_if<ringshift::EarlyExit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->exit_code == 0 ? stdout : stderr);
    return exit->exit_code;
  }
  return ringshift::Run(std::get<ringshift::RouterOptions>(parsed));
}
