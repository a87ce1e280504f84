// What the routing calls count: answers, errors, durations.
//
// A data center has counters while it is served, and a pool while the data center has it; what
// stays through a reload goes on counting. Labels come from closed sets; nothing that a caller
// sends becomes one.
//
// Thread safety: thread-safe, save for Serve. Cost of counting: a few additions on this thread's
// cache lines.
#ifndef RINGSHIFT_SERVER_ROUTE_METRICS_H_
#define RINGSHIFT_SERVER_ROUTE_METRICS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "ring/ring.h"
#include "routing/data_center.h"
#include "server/metric_family.h"
#include "server/sharded_counters.h"

namespace ringshift {

// The counters of a data center with the pools and rings that it has at one time. They are shared
// with those of the times before and after.
class DataCenterRouteMetrics {
 public:
  // Without pools, for what is no data center.
  DataCenterRouteMetrics();
  // Goes on with the counters of `previous` (may be null).
  DataCenterRouteMetrics(const DataCenter& data_center, const DataCenterRouteMetrics* previous);

  // A pool that the data center does not have is not counted: a request that was answered from an
  // older table may name one. Cost: a few comparisons.
  void CountRoute(std::string_view pool, RingVersion version) const {
    const auto found = pools_.find(pool);
    if (found == pools_.end()) return;
    found->second.counters->Add(found->second.first_index + VersionOffset(version), 1);
  }
  void CountError(absl::StatusCode code) const { errors_->Add(static_cast<std::size_t>(code), 1); }

 private:
  friend class RouteMetrics;

  static constexpr std::size_t kCodes = 17;
  static constexpr std::size_t kVersions = 2;

  static std::size_t VersionOffset(RingVersion version) {
    return version == RingVersion::kV2 ? 1 : 0;
  }

  // The kVersions counters of a pool, in a block that it shares with the pools that came with it.
  struct PoolCounters {
    std::shared_ptr<ShardedCounters> counters;
    std::size_t first_index = 0;
  };

  std::map<std::string, PoolCounters, std::less<>> pools_;
  bool has_v1_ = false;
  std::shared_ptr<ShardedCounters> errors_;  // by status code
};

class RouteMetrics {
 public:
  RouteMetrics();

  // The data center has counters from now on, for its pools and rings as they are. Call it before
  // its table is published, and from one thread at a time.
  void Serve(const DataCenter& data_center);

  // The data center has none any more.
  void Drop(const std::string& data_center);

  // The counters of a data center, or those of `other`. They can be counted with for as long as the
  // caller holds them, whatever is served meanwhile.
  std::shared_ptr<const DataCenterRouteMetrics> Of(std::string_view data_center) const;

  // How long a Route call took within the handler.
  void ObserveRoute(std::chrono::nanoseconds duration);

  // How many calls were observed so far.
  std::uint64_t RouteCalls() const;

  // Appends ringshift_routes_total, ringshift_route_errors_total, ringshift_route_duration_seconds.
  // Every series that can be foreseen is there from the start, at 0.
  void Collect(MetricFamilies& families) const;

 private:
  using DataCenters =
      std::map<std::string, std::shared_ptr<const DataCenterRouteMetrics>, std::less<>>;

  const std::shared_ptr<const DataCenterRouteMetrics> other_;
  mutable absl::Mutex mutex_;  // held for moments
  DataCenters data_centers_ ABSL_GUARDED_BY(mutex_);
  ShardedCounters durations_;  // by bucket, the last one +Inf; then the sum in nanoseconds
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTE_METRICS_H_
