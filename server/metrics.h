// Everything that /metrics shows, made from the present state at each scrape: complete right after
// the start, and without series of what is gone.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_METRICS_H_
#define RINGSHIFT_SERVER_METRICS_H_

#include <atomic>
#include <chrono>
#include <string>

#include "routing/routing_directory.h"
#include "server/metric_family.h"
#include "server/migration_controller.h"
#include "server/outcome_counts.h"
#include "server/rate_window.h"
#include "server/route_metrics.h"
#include "server/store_health.h"
#include "server/topology_controller.h"
#include "server/watch_calls.h"

namespace ringshift {

class RouterMetrics {
 public:
  // All outlive this object.
  RouterMetrics(const RoutingDirectory& directory, const RouteMetrics& routes,
                const RateWindow& rates, const MigrationController& migrations,
                const TopologyController& topology, const StoreHealth& store,
                const OutcomeCounts& outcomes, const WatchCalls& routing_watches,
                const WatchCalls& migration_watches)
      : directory_(directory),
        routes_(routes),
        rates_(rates),
        migrations_(migrations),
        topology_(topology),
        store_(store),
        outcomes_(outcomes),
        routing_watches_(routing_watches),
        migration_watches_(migration_watches) {}

  void SetStartupDuration(std::chrono::duration<double> duration) {
    startup_seconds_.store(duration.count(), std::memory_order_relaxed);
  }

  MetricFamilies Collect() const;

  // In Prometheus's text format, version 0.0.4.
  std::string ToText() const;

 private:
  const RoutingDirectory& directory_;
  const RouteMetrics& routes_;
  const RateWindow& rates_;
  const MigrationController& migrations_;
  const TopologyController& topology_;
  const StoreHealth& store_;
  const OutcomeCounts& outcomes_;
  const WatchCalls& routing_watches_;
  const WatchCalls& migration_watches_;
  std::atomic<double> startup_seconds_{-1};  // below 0 until the router is ready
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_METRICS_H_
