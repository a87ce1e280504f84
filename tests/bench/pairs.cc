#include "tests/bench/pairs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ringshift::bench {
namespace {

// Between the two values beside it where there is none.
double Quantile(std::vector<double> values, double quantile) {
  std::sort(values.begin(), values.end());
  const double place = quantile * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

absl::StatusOr<double> Measure(const Measurement& measurement) {
  absl::StatusOr<double> value = measurement();
  if (value.ok() && !(*value > 0)) {
    return absl::FailedPreconditionError("a measurement gave " + std::to_string(*value) +
                                         "; it must be above 0");
  }
  return value;
}

}  // namespace

absl::StatusOr<PairRatio> MeasurePairs(std::size_t pairs, const Measurement& measured,
                                       const Measurement& reference) {
  for (const Measurement* side : {&measured, &reference}) {
    if (absl::StatusOr<double> warm_up = Measure(*side); !warm_up.ok()) return warm_up.status();
  }
  std::vector<double> measured_values(pairs);
  std::vector<double> reference_values(pairs);
  std::vector<double> ratios(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    for (const bool is_measured : {i % 2 == 0, i % 2 != 0}) {
      const absl::StatusOr<double> value = Measure(is_measured ? measured : reference);
      if (!value.ok()) return value.status();
      (is_measured ? measured_values : reference_values)[i] = *value;
    }
    ratios[i] = measured_values[i] / reference_values[i];
  }
  return PairRatio{pairs,
                   Quantile(ratios, 0.5),
                   Quantile(ratios, 0.25),
                   Quantile(ratios, 0.75),
                   Quantile(measured_values, 0.5),
                   Quantile(reference_values, 0.5)};
}

}  // namespace ringshift::bench
