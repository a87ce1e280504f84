// One side of the suite `peers`: a process that speaks the protocol of ring_peer.h.
//
// Thread safety: used by one thread.
#ifndef RINGSHIFT_TESTS_BENCH_PEER_PROCESS_H_
#define RINGSHIFT_TESTS_BENCH_PEER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ringshift::bench {

class PeerProcess {
 public:
  // Starts argv[0], and waits until it is ready. UNAVAILABLE if it does not get there; what it says
  // on stderr is on ours.
  static absl::StatusOr<PeerProcess> Start(const std::vector<std::string>& argv);

  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&&) = delete;
  // Ends it, and waits for that.
  ~PeerProcess();

  // Has it do `command`; the seconds that it took. UNAVAILABLE if it has ended instead.
  absl::StatusOr<double> Do(const std::string& command);

  // Its resident memory: now, and at most so far.
  absl::StatusOr<std::uint64_t> ResidentBytes() const { return StatusBytes("VmRSS:"); }
  absl::StatusOr<std::uint64_t> PeakBytes() const { return StatusBytes("VmHWM:"); }

 private:
  explicit PeerProcess(std::string name) : name_(std::move(name)) {}

  // Its next line, without the newline; UNAVAILABLE if there is none.
  absl::StatusOr<std::string> ReadLine();
  absl::StatusOr<std::uint64_t> StatusBytes(const std::string& field) const;

  std::string name_;
  pid_t pid_ = -1;
  std::FILE* commands_ = nullptr;
  std::FILE* answers_ = nullptr;
};

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_PEER_PROCESS_H_
