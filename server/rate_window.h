// What happened to the data centers a second, over the last 60 seconds: keys, errors, and the
// outcomes that edge services reported.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_RATE_WINDOW_H_
#define RINGSHIFT_SERVER_RATE_WINDOW_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "migration/mutex.h"
#include "server/outcome_counts.h"
#include "server/route_metrics.h"

namespace ringshift {

class RateWindow {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  static constexpr std::chrono::seconds kLength{60};

  // Both outlive this object.
  RateWindow(const RouteMetrics& routes, const OutcomeCounts& outcomes,
             Clock clock = std::chrono::steady_clock::now)
      : routes_(routes), outcomes_(outcomes), clock_(std::move(clock)) {}

  // Looks at the counters. Call it once a second. Cost: that of RouteMetrics::CountedKeys; 60
  // samples of 112 bytes a data center are kept.
  void Sample();

  struct Rate {
    double keys_per_second = 0;      // that were answered
    std::optional<double> v2_ratio;  // of these, 0 to 1; none where there was no key
    double errors_per_second = 0;    // keys that were refused
    // Reported requests a second; none where nothing was reported of the ring.
    std::optional<ByOutcome<double>> v1_outcomes;
    std::optional<ByOutcome<double>> v2_outcomes;
  };
  // Up to now. Over the time that was looked at, where that is less, but a second at least; zero
  // before the first sample, and for a data center that is not served. Cost: that of
  // RouteMetrics::CountedKeys for it.
  Rate Of(std::string_view data_center) const;

 private:
  // Where the counters of a data center are in an array of them.
  static constexpr std::size_t kV1Keys = 0;
  static constexpr std::size_t kV2Keys = 1;
  static constexpr std::size_t kErrors = 2;
  static constexpr std::size_t kV1Outcomes = 3;
  static constexpr std::size_t kV2Outcomes = kV1Outcomes + kOutcomes;
  using Counts = std::array<std::uint64_t, kV2Outcomes + kOutcomes>;

  struct Point {
    std::chrono::steady_clock::time_point time;
    Counts counts{};  // since the data center was first seen
  };
  struct Series {
    Counts counters{};  // as they were last
    std::deque<Point> points;
  };

  static Counts ToCounts(const KeyCounts& keys, const OutcomeTotals& outcomes);
  // What the last point would be where the counters are these.
  static Counts CountsAt(const Series& series, const Counts& counters);

  const RouteMetrics& routes_;
  const OutcomeCounts& outcomes_;
  const Clock clock_;
  mutable Mutex mutex_;
  std::map<std::string, Series, std::less<>> series_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_RATE_WINDOW_H_
