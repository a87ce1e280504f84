// What the routing calls count: answers, errors, durations.
//
// The counters of a data center live as long as this object, whatever tables come and go. Labels
// come from closed sets; nothing that a caller sends becomes one.
//
// Thread safety: thread-safe. Cost of counting: a few additions on this thread's cache lines.
#ifndef RINGSHIFT_SERVER_ROUTE_METRICS_H_
#define RINGSHIFT_SERVER_ROUTE_METRICS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ring/ring.h"
#include "routing/topology.h"
#include "server/metric_family.h"
#include "server/sharded_counters.h"

namespace ringshift {

class DataCenterRouteMetrics {
 public:
  DataCenterRouteMetrics(std::vector<std::string> pools, bool has_v1);

  // `pool` is an index in DataCenter::pools().
  void CountRoute(std::size_t pool, RingVersion version) {
    counters_.Add(RouteIndex(pool, version), 1);
  }
  void CountError(absl::StatusCode code) { counters_.Add(ErrorIndex(code), 1); }

 private:
  friend class RouteMetrics;

  static constexpr std::size_t kCodes = 17;

  std::size_t RouteIndex(std::size_t pool, RingVersion version) const {
    return kCodes + 2 * pool + (version == RingVersion::kV2 ? 1 : 0);
  }
  static std::size_t ErrorIndex(absl::StatusCode code) { return static_cast<std::size_t>(code); }

  const std::vector<std::string> pools_;
  const bool has_v1_;
  ShardedCounters counters_;  // by status code, then by (pool, version)
};

class RouteMetrics {
 public:
  // The label of every data center that the router does not have.
  static constexpr std::string_view kOther = "other";

  explicit RouteMetrics(const std::vector<DataCenterSpec>& data_centers);

  // The counters of a data center, or those of `other`.
  DataCenterRouteMetrics& Of(std::string_view data_center);

  // How long a Route call took within the handler.
  void ObserveRoute(std::chrono::nanoseconds duration);

  // How many calls were observed so far.
  std::uint64_t RouteCalls() const;

  // Appends ringshift_routes_total, ringshift_route_errors_total, ringshift_route_duration_seconds.
  // Every series that can be foreseen is there from the start, at 0.
  void Collect(MetricFamilies& families) const;

 private:
  std::map<std::string, DataCenterRouteMetrics, std::less<>>
      data_centers_;  // the keys never change
  DataCenterRouteMetrics* const other_;
  ShardedCounters durations_;  // by bucket, the last one +Inf; then the sum in nanoseconds
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTE_METRICS_H_
