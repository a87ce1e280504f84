#include "tests/bench/client_process.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "tests/bench/load.h"
#include "tests/bench/questions.h"
#include "tests/bench/server_process.h"

namespace ringshift::bench {
namespace {

absl::Status GiveWay() {
  const sched_param no_priority{};
  if (::sched_setscheduler(0, SCHED_IDLE, &no_priority) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "sched_setscheduler");
}

void TellFirstAnswer() { std::fprintf(stderr, "answered=1\n"); }

// The exit code of what came to this.
int Tell(const absl::StatusOr<ClientProcess::Result>& result) {
  if (!result.ok()) {
    std::fprintf(stderr, "error=\"%s\"\n", std::string(result.status().message()).c_str());
    return 1;
  }
  std::fprintf(stderr, "calls=%zu seconds=%f\n", result->calls, result->time.count());
  return 0;
}

absl::StatusOr<ClientProcess::Result> AskBatches(const BatchLoad& load) {
  sigset_t end;
  ::sigemptyset(&end);
  ::sigaddset(&end, SIGTERM);
  // In all threads to come; it is asked for between batches.
  ::pthread_sigmask(SIG_BLOCK, &end, nullptr);
  if (absl::Status gave_way = GiveWay(); !gave_way.ok()) return gave_way;
  const absl::StatusOr<Workload> workload = MakeWorkload(load.bench_case, load.key_count);
  if (!workload.ok()) return workload.status();
  BatchQuestions questions(*workload, load.batch_keys);
  Load<BatchQuestions> batches(load.address, questions, 1, 1);
  const absl::StatusOr<LoadResult> result = batches.RunWhile([&](std::size_t started) {
    if (started == 1) TellFirstAnswer();
    const timespec at_once{};
    return ::sigtimedwait(&end, nullptr, &at_once) != SIGTERM;
  });
  if (!result.ok()) return result.status();
  return ClientProcess::Result{result->calls, result->time};
}

absl::StatusOr<ClientProcess::Result> SetShares(const ShareLoad& load) {
  if (absl::Status gave_way = GiveWay(); !gave_way.ok()) return gave_way;
  const auto channel = grpc::CreateChannel(load.admin_address, grpc::InsecureChannelCredentials());
  const auto start = std::chrono::steady_clock::now();
  for (std::int32_t i = 1; i <= load.changes; ++i) {
    if (absl::Status set = SetShare(channel, i * load.step_ppm); !set.ok()) return set;
    if (i == 1) TellFirstAnswer();
  }
  return ClientProcess::Result{static_cast<std::size_t>(load.changes),
                               std::chrono::steady_clock::now() - start};
}

}  // namespace

int RunClient(const BatchLoad& load) { return Tell(AskBatches(load)); }

int RunClient(const ShareLoad& load) { return Tell(SetShares(load)); }

absl::StatusOr<ClientProcess> ClientProcess::Start(const BatchLoad& load) {
  return Begin({"--batches", load.address, std::string(load.bench_case.name),
                std::to_string(load.key_count), std::to_string(load.batch_keys)});
}

absl::StatusOr<ClientProcess> ClientProcess::Start(const ShareLoad& load) {
  return Begin({"--shares", load.admin_address, std::to_string(load.changes),
                std::to_string(load.step_ppm)});
}

absl::StatusOr<ClientProcess> ClientProcess::Begin(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {RINGSHIFT_BENCH_BINARY};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  ClientProcess client(argv);
  if (!client.process_->WaitForStderr("answered=")) return client.Failed();
  return client;
}

absl::Status ClientProcess::Failed() const {
  return absl::InternalError("the client beside: " + process_->Stderr());
}

void ClientProcess::Stop() const { process_->Signal(SIGTERM); }

absl::StatusOr<ClientProcess::Result> ClientProcess::WaitForEnd() {
  const std::optional<std::string> line = process_->WaitForStderr("calls=");
  if (process_->WaitForExit() != 0 || !line) return Failed();
  Result result;
  double seconds = 0;
  if (!absl::SimpleAtoi(testing::LogValue(*line, "calls"), &result.calls) ||
      !absl::SimpleAtod(testing::LogValue(*line, "seconds"), &seconds)) {
    return Failed();
  }
  result.time = std::chrono::duration<double>(seconds);
  return result;
}

}  // namespace ringshift::bench
