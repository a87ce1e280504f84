#include "server/route_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "routing/topology.h"

namespace ringshift {
namespace {

// Upper bounds of the buckets, in nanoseconds.
constexpr std::array<std::int64_t, 17> kBucketBounds = {
    1'000,      2'000,      5'000,      10'000,      20'000,       50'000,
    100'000,    200'000,    500'000,    1'000'000,   2'000'000,    5'000'000,
    10'000'000, 20'000'000, 50'000'000, 100'000'000, 1'000'000'000};
constexpr std::size_t kDurationSum = kBucketBounds.size() + 1;

// What Route can answer beside OK.
constexpr std::array kRouteErrors = {absl::StatusCode::kInvalidArgument,
                                     absl::StatusCode::kNotFound, absl::StatusCode::kUnavailable};

prometheus::ClientMetric MakeHistogram(const ShardedCounters& durations) {
  prometheus::ClientMetric metric;
  for (std::size_t i = 0; i < kBucketBounds.size(); ++i) {
    metric.histogram.sample_count += durations.Sum(i);
    metric.histogram.bucket.push_back(
        {metric.histogram.sample_count, static_cast<double>(kBucketBounds[i]) / 1e9});
  }
  metric.histogram.sample_count += durations.Sum(kBucketBounds.size());
  metric.histogram.sample_sum = static_cast<double>(durations.Sum(kDurationSum)) / 1e9;
  return metric;
}

}  // namespace

DataCenterRouteMetrics::DataCenterRouteMetrics()
    : errors_(std::make_shared<ShardedCounters>(kCodes)) {}

DataCenterRouteMetrics::DataCenterRouteMetrics(const DataCenter& data_center,
                                               const DataCenterRouteMetrics* previous)
    : has_v1_(data_center.v1() != nullptr),
      errors_(previous == nullptr ? std::make_shared<ShardedCounters>(kCodes) : previous->errors_) {
  std::size_t new_counters = 0;
  for (const DataCenter::Pool& pool : data_center.pools()) {
    PoolCounters counters;
    if (previous != nullptr && previous->pools_.contains(pool.name)) {
      counters = previous->pools_.at(pool.name);
    } else {
      counters.first_index = new_counters;
      new_counters += kVersions;
    }
    pools_.emplace(pool.name, std::move(counters));
  }
  if (new_counters == 0) return;
  const auto block = std::make_shared<ShardedCounters>(new_counters);
  for (auto& [name, counters] : pools_) {
    if (counters.counters == nullptr) counters.counters = block;
  }
}

RouteMetrics::RouteMetrics()
    : other_(std::make_shared<const DataCenterRouteMetrics>()), durations_(kDurationSum + 1) {}

void RouteMetrics::Serve(const DataCenter& data_center) {
  std::shared_ptr<const DataCenterRouteMetrics> metrics;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = data_centers_.find(data_center.name());
    if (found != data_centers_.end()) metrics = found->second;
  }
  metrics = std::make_shared<const DataCenterRouteMetrics>(data_center, metrics.get());
  const absl::MutexLock lock(&mutex_);
  data_centers_[data_center.name()].swap(metrics);
}

void RouteMetrics::Drop(const std::string& data_center) {
  const absl::MutexLock lock(&mutex_);
  data_centers_.erase(data_center);
}

std::shared_ptr<const DataCenterRouteMetrics> RouteMetrics::Of(std::string_view data_center) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = data_centers_.find(data_center);
  return found == data_centers_.end() ? other_ : found->second;
}

void RouteMetrics::ObserveRoute(std::chrono::nanoseconds duration) {
  const std::int64_t nanoseconds = std::max<std::int64_t>(duration.count(), 0);
  const auto bucket = std::lower_bound(kBucketBounds.begin(), kBucketBounds.end(), nanoseconds);
  durations_.Add(static_cast<std::size_t>(bucket - kBucketBounds.begin()), 1);
  durations_.Add(kDurationSum, static_cast<std::uint64_t>(nanoseconds));
}

std::uint64_t RouteMetrics::RouteCalls() const {
  std::uint64_t calls = 0;
  for (std::size_t bucket = 0; bucket < kDurationSum; ++bucket) calls += durations_.Sum(bucket);
  return calls;
}

void RouteMetrics::Collect(MetricFamilies& families) const {
  DataCenters data_centers;
  {
    const absl::MutexLock lock(&mutex_);
    data_centers = data_centers_;
  }
  data_centers.emplace(std::string(kOtherDataCenter), other_);
  prometheus::MetricFamily routes =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_routes_total",
                 "Keys that were answered, by the ring that answered.");
  prometheus::MetricFamily errors =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_route_errors_total",
                 "Keys that were refused, by gRPC status code; an unknown data center is `other`.");
  for (const auto& [name, metrics] : data_centers) {
    for (const auto& [pool, counters] : metrics->pools_) {
      for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
        if (version == RingVersion::kV1 && !metrics->has_v1_) continue;
        const std::size_t index =
            counters.first_index + DataCenterRouteMetrics::VersionOffset(version);
        AddCounter(routes,
                   {{"data_center", name},
                    {"pool", pool},
                    {"ring_version", std::string(RingVersionName(version))}},
                   static_cast<double>(counters.counters->Sum(index)));
      }
    }
    for (std::size_t i = 0; i < DataCenterRouteMetrics::kCodes; ++i) {
      const auto code = static_cast<absl::StatusCode>(i);
      const std::uint64_t count = metrics->errors_->Sum(i);
      const bool foreseen =
          std::find(kRouteErrors.begin(), kRouteErrors.end(), code) != kRouteErrors.end();
      if (!foreseen && count == 0) continue;
      AddCounter(errors, {{"data_center", name}, {"code", absl::StatusCodeToString(code)}},
                 static_cast<double>(count));
    }
  }
  prometheus::MetricFamily durations =
      MakeFamily(prometheus::MetricType::Histogram, "ringshift_route_duration_seconds",
                 "Time that routing calls took within the router, without the network.");
  durations.metric.push_back(MakeHistogram(durations_));
  durations.metric.back().label = {{"method", "Route"}};

  families.push_back(std::move(routes));
  families.push_back(std::move(errors));
  families.push_back(std::move(durations));
}

}  // namespace ringshift
