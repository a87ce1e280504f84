// The suite `peers`: a v2 ring beside one of the real pingora-ketama, each in a process of its own.
// docs/benchmarks.md says what each figure means.
#ifndef RINGSHIFT_TESTS_BENCH_PEERS_SUITE_H_
#define RINGSHIFT_TESTS_BENCH_PEERS_SUITE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/bench/figures.h"

namespace ringshift::bench {

struct PeersSize {
  std::size_t pairs = 0;  // of a ratio
  std::size_t keys = 0;   // different ones, and as many hashes
  std::uint32_t nodes = 0;
  std::uint32_t weight = 0;
  std::uint32_t points_per_weight = 0;
};

// What the figures are promised for: 20,480,000 points. About a minute and 0.5 GiB.
inline constexpr PeersSize kFullPeersSize{15, 500'000, 2'048, 625, 16};
// Every step of it in a second. Its figures mean nothing.
inline constexpr PeersSize kSmokePeersSize{3, 2'000, 64, 200, 16};

// The command lines of the two sides, without the arguments that ring_peer.h describes.
struct PeerPrograms {
  std::vector<std::string> ours;
  std::vector<std::string> pingora;
};

// Adds the figures. An error ends the suite: INTERNAL if the two disagree on an owner of anything
// that was looked up while it was measured; those of PeerProcess.
absl::Status RunPeersSuite(const PeersSize& size, const PeerPrograms& programs, Figures& figures);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_PEERS_SUITE_H_
