// The suite `ring`: memory, lookups, builds and pools of the dense layout, each against what a
// program without it would do. docs/benchmarks.md says what each figure means.
#ifndef RINGSHIFT_TESTS_BENCH_RING_SUITE_H_
#define RINGSHIFT_TESTS_BENCH_RING_SUITE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "tests/bench/figures.h"

namespace ringshift::bench {

struct FleetSize {
  std::size_t nodes = 0;
  std::uint32_t points = 0;  // of each node
};

struct RingSuiteSize {
  std::size_t pairs = 0;        // of a ratio of lookups
  std::size_t build_pairs = 0;  // of a ratio of builds
  std::size_t lookups = 0;      // of one measurement
  FleetSize fleet_1m;           // those in the place of each
  FleetSize fleet_20m;
  FleetSize fleet_204m;
  // Clears bits of the reference's hashes, so that its owners are wrong: for a test.
  std::uint32_t hash_mask_of_reference = 0xFFFFFFFF;
};

// What the figures are promised for. About two minutes.
inline constexpr RingSuiteSize kFullRingSize{
    15, 5, 1 << 21, {64, 16'000}, {2'048, 10'000}, {2'048, 100'000}};
// Every step of it on small rings. Its figures mean nothing.
inline constexpr RingSuiteSize kSmokeRingSize{3, 2, 1 << 12, {8, 100}, {50, 2'000}, {60, 2'000}};

// Adds the figures. INTERNAL, which ends the suite, if a single owner is wrong.
absl::Status RunRingSuite(const RingSuiteSize& size, Figures& figures);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_RING_SUITE_H_
