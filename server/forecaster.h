// Forecasts of other shares: what they move, what that is of the traffic, what the origin gets of
// it, what memory it takes.
//
// Thread safety: thread-safe. Cost: where the rings of a data center are seen for the first time,
// that of MeasureRingChurn, on a thread of low priority that the caller waits for, as do those who
// ask meanwhile; else some milliseconds, for up to 100,000 keys that were routed.
#ifndef RINGSHIFT_SERVER_FORECASTER_H_
#define RINGSHIFT_SERVER_FORECASTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "migration/forecast.h"
#include "migration/mutex.h"
#include "migration/share.h"
#include "ring/ring.h"
#include "ringshift/v1/migration.pb.h"
#include "routing/routing_table.h"
#include "server/rate_window.h"
#include "server/route_metrics.h"

namespace ringshift {

class Forecaster {
 public:
  // The part of a data center's requests that caches answer, 0 to 1; none where it is not known.
  using HitRatio = std::function<std::optional<double>(std::string_view data_center)>;

  // Nodes of a forecast that gain, and that lose.
  static constexpr std::size_t kNodes = 10;

  // Both outlive this object. `reported` is what the edge reports.
  Forecaster(const RouteMetrics& routes, const RateWindow& rates, HitRatio reported)
      : routes_(routes), rates_(rates), reported_(std::move(reported)) {}

  // The exact part of the key space, 0 to 1, whose owner a share of `to` in place of `from`
  // changes. FAILED_PRECONDITION if a ring is not there, so that it cannot be known.
  absl::StatusOr<double> Churn(const RoutingTable& table, Share from, Share to);

  // What a share of `to` will do. `hit_ratio` takes the place of the reported one.
  v1::Forecast Forecast(const RoutingTable& table, Share to, std::optional<double> hit_ratio);

 private:
  // Pairs of rings that are remembered, by their checksums: far more than are served.
  static constexpr std::size_t kMaxPairs = 4096;

  // MeasureRingChurn, from memory where it was measured before.
  double RingChurn(const Ring& v1, const Ring& v2);
  // None where no key was routed. REQUIRES: both rings are there, or the step changes nothing
  std::optional<RoutedChurn> RoutedChurnOf(const RoutingTable& table, ShareStep step) const;

  const RouteMetrics& routes_;
  const RateWindow& rates_;
  const HitRatio reported_;

  Mutex mutex_;  // held while a pair is measured
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> ring_churns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_FORECASTER_H_
