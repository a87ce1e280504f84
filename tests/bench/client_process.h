// A client beside another one, in a process of its own: threads that poll for calls take the events
// of all connections of their process, so that in one process two clients would wait for each
// other, and not for the server.
//
// Thread safety: used by one thread.
#ifndef RINGSHIFT_TESTS_BENCH_CLIENT_PROCESS_H_
#define RINGSHIFT_TESTS_BENCH_CLIENT_PROCESS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/workload.h"
#include "tests/integration/process.h"

namespace ringshift::bench {

// Asks for the first `key_count` keys of the case's workload in batches of `batch_keys`, one after
// the other, until SIGTERM.
struct BatchLoad {
  std::string address;
  BenchCase bench_case;
  std::size_t key_count = 0;
  std::size_t batch_keys = 0;
};

// Sets the share of a router so often, a step higher each time, one change after the other.
struct ShareLoad {
  std::string admin_address;
  std::int32_t changes = 0;
  std::int32_t step_ppm = 0;
};

// The process, which has CPU only while no other program wants it (SCHED_IDLE): where there is one
// machine for all, it stands for one on another machine. Returns its exit code, which is 0 if every
// answer was right.
int RunClient(const BatchLoad& load);
int RunClient(const ShareLoad& load);

class ClientProcess {
 public:
  struct Result {
    std::size_t calls = 0;
    std::chrono::duration<double> time{};
  };

  // This program again, as RunClient. Returns when its first call has been answered.
  static absl::StatusOr<ClientProcess> Start(const BatchLoad& load);
  static absl::StatusOr<ClientProcess> Start(const ShareLoad& load);

  bool HasEnded() { return process_->WaitForExit(std::chrono::milliseconds(0)).has_value(); }
  void Stop() const;
  // What it did, once it has ended. INTERNAL with what it said, if an answer was wrong or a call
  // failed.
  absl::StatusOr<Result> WaitForEnd();

 private:
  explicit ClientProcess(const std::vector<std::string>& argv)
      : process_(std::make_unique<testing::Process>(argv)) {}

  static absl::StatusOr<ClientProcess> Begin(const std::vector<std::string>& arguments);
  absl::Status Failed() const;

  std::unique_ptr<testing::Process> process_;
};

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_CLIENT_PROCESS_H_
