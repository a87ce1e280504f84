// How long a forecast takes, of the suite `migration`. docs/benchmarks.md says what each figure
// means.
#ifndef RINGSHIFT_TESTS_BENCH_FORECAST_FIGURE_H_
#define RINGSHIFT_TESTS_BENCH_FORECAST_FIGURE_H_

#include <string_view>

#include "absl/status/status.h"
#include "tests/bench/figures.h"

namespace ringshift::bench {

// Checks a forecast on the rings of `checked_case` against a count over the key space, and measures
// one on those of `large_case`. INTERNAL if the count differs.
absl::Status MeasureForecast(std::string_view checked_case, std::string_view large_case,
                             Figures& figures);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_FORECAST_FIGURE_H_
