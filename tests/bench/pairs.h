// A ratio on a machine that is never quiet: both sides are measured in turns, each pair of
// neighbours gives a ratio, and the median of those is the answer. What slows the machine down for
// longer than a pair slows both sides.
#ifndef RINGSHIFT_TESTS_BENCH_PAIRS_H_
#define RINGSHIFT_TESTS_BENCH_PAIRS_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"

namespace ringshift::bench {

struct PairRatio {
  std::size_t pairs = 0;
  double median = 0;  // of measured / reference
  double lower_quartile = 0;
  double upper_quartile = 0;
  double measured = 0;  // the medians of the sides
  double reference = 0;
};

// Measures one side once. An error ends the benchmark: there is no ratio then.
using Measurement = std::function<absl::StatusOr<double>()>;

// Runs each side once without looking, then `pairs` times both; who begins alternates.
// Errors: those of the sides; FAILED_PRECONDITION if a side measures nothing (0 or less).
// REQUIRES: pairs > 0
absl::StatusOr<PairRatio> MeasurePairs(std::size_t pairs, const Measurement& measured,
                                       const Measurement& reference);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_PAIRS_H_
