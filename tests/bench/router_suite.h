// The suite `router`: what the router adds to a call and to a batch, and its memory.
// docs/benchmarks.md says what each figure means.
#ifndef RINGSHIFT_TESTS_BENCH_ROUTER_SUITE_H_
#define RINGSHIFT_TESTS_BENCH_ROUTER_SUITE_H_

#include <chrono>
#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "tests/bench/figures.h"

namespace ringshift::bench {

struct SuiteSize {
  std::size_t pairs = 0;     // of a ratio
  std::size_t calls = 0;     // of one measurement
  std::size_t batches = 0;   // of one measurement
  std::size_t keys = 0;      // different ones, a multiple of 1,000
  double seconds = 0;        // of a repetition of what Google Benchmark measures
  std::string_view case_1m;  // the case in the place of each, by its name
  std::string_view case_16m;
  std::string_view case_20m;
  std::string_view case_204m;
};

// What the figures are promised for. About five minutes.
inline constexpr SuiteSize kFullSize{15, 30'000, 800, 500'000, 0.2, "1m", "16m", "20m", "204m"};
// Every step of it on rings of some hundred points, in seconds. Its figures mean nothing.
inline constexpr SuiteSize kSmokeSize{3, 200, 4, 2'000, 0.001, "tiny", "tiny", "tiny", "tiny"};

// Adds the figures. An error, among them that of a wrong answer, ends the suite.
absl::Status RunRouterSuite(const SuiteSize& size, Figures& figures);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_ROUTER_SUITE_H_
