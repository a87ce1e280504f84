// A server under test in a process of its own, so that what it takes is its own.
//
// Thread safety: used by one thread.
#ifndef RINGSHIFT_TESTS_BENCH_SERVER_PROCESS_H_
#define RINGSHIFT_TESTS_BENCH_SERVER_PROCESS_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/workload.h"
#include "tests/integration/process.h"

namespace ringshift::bench {

class ServerProcess {
 public:
  // This program again, as RunBenchServer. Returns when it serves.
  static absl::StatusOr<ServerProcess> StartBenchServer(HandlerKind kind,
                                                        const BenchCase& bench_case,
                                                        std::size_t batch_keys);

  // ringshiftd with this topology. Returns when it is ready.
  static absl::StatusOr<ServerProcess> StartRouter(const DataCenterSpec& spec);

  // HOST:PORT of the routing calls; of the router's admin calls.
  const std::string& address() const { return address_; }
  const std::string& admin_address() const { return admin_address_; }

  // CPU time of the process so far, user and system, of all threads: what getrusage tells it.
  std::chrono::nanoseconds CpuTime() const;

  // Bytes of memory that it has now, and had at most.
  absl::StatusOr<std::uint64_t> ResidentBytes() const { return StatusBytes("VmRSS:"); }
  absl::StatusOr<std::uint64_t> PeakBytes() const { return StatusBytes("VmHWM:"); }

  // Has the router take up another topology. FAILED_PRECONDITION unless it did, whole.
  absl::Status Reload(const DataCenterSpec& spec) const;

  // The sum over all series of a metric of the router.
  absl::StatusOr<double> SumOfMetric(const std::string& name) const;

 private:
  explicit ServerProcess(const std::vector<std::string>& argv);

  absl::StatusOr<std::uint64_t> StatusBytes(const std::string& field) const;

  std::unique_ptr<testing::TempDir> files_;
  std::unique_ptr<testing::Process> process_;
  std::string address_;
  std::string admin_address_;
  std::string http_address_;
  std::shared_ptr<grpc::Channel> admin_;
};

// Sets the share of a router by its admin port. FAILED_PRECONDITION unless it did.
absl::Status SetShare(const std::shared_ptr<grpc::Channel>& admin, std::int32_t v2_ppm);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_SERVER_PROCESS_H_
