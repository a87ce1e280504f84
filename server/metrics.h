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
#include "server/route_metrics.h"

namespace ringshift {

class RouterMetrics {
 public:
  // Both outlive this object.
  RouterMetrics(const RoutingDirectory& directory, const RouteMetrics& routes)
      : directory_(directory), routes_(routes) {}

  void SetStartupDuration(std::chrono::duration<double> duration) {
    startup_seconds_.store(duration.count(), std::memory_order_relaxed);
  }

  MetricFamilies Collect() const;

  // In Prometheus's text format, version 0.0.4.
  std::string ToText() const;

 private:
  const RoutingDirectory& directory_;
  const RouteMetrics& routes_;
  std::atomic<double> startup_seconds_{-1};  // below 0 until the router is ready
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_METRICS_H_
