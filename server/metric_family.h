// Small makers of what prometheus-cpp serialises.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_METRIC_FAMILY_H_
#define RINGSHIFT_SERVER_METRIC_FAMILY_H_

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace ringshift {

using MetricFamilies = std::vector<prometheus::MetricFamily>;
using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::MetricFamily MakeFamily(prometheus::MetricType type, std::string name,
                                           std::string help) {
  return {std::move(name), std::move(help), type, {}};
}

inline void AddGauge(prometheus::MetricFamily& family, MetricLabels labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.gauge.value = value;
}

inline void AddCounter(prometheus::MetricFamily& family, MetricLabels labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.counter.value = value;
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_METRIC_FAMILY_H_
