#include "server/route_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

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

std::vector<std::string> PoolNames(const DataCenterSpec& data_center) {
  std::vector<std::string> names = {std::string(kDefaultPool)};
  for (const PoolSpec& pool : data_center.pools) names.push_back(pool.name);
  return names;
}

std::map<std::string, DataCenterRouteMetrics, std::less<>> MakeCounters(
    const std::vector<DataCenterSpec>& data_centers) {
  std::map<std::string, DataCenterRouteMetrics, std::less<>> counters;
  for (const DataCenterSpec& data_center : data_centers) {
    counters.try_emplace(data_center.name, PoolNames(data_center), data_center.v1.has_value());
  }
  counters.try_emplace(std::string(RouteMetrics::kOther), std::vector<std::string>{}, false);
  return counters;
}

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

DataCenterRouteMetrics::DataCenterRouteMetrics(std::vector<std::string> pools, bool has_v1)
    : pools_(std::move(pools)), has_v1_(has_v1), counters_(kCodes + 2 * pools_.size()) {}

RouteMetrics::RouteMetrics(const std::vector<DataCenterSpec>& data_centers)
    : data_centers_(MakeCounters(data_centers)),
      other_(&data_centers_.find(kOther)->second),
      durations_(kDurationSum + 1) {}

DataCenterRouteMetrics& RouteMetrics::Of(std::string_view data_center) {
  const auto found = data_centers_.find(data_center);
  return found == data_centers_.end() ? *other_ : found->second;
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
  prometheus::MetricFamily routes =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_routes_total",
                 "Keys that were answered, by the ring that answered.");
  prometheus::MetricFamily errors =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_route_errors_total",
                 "Keys that were refused, by gRPC status code; an unknown data center is `other`.");
  for (const auto& [name, metrics] : data_centers_) {
    for (std::size_t pool = 0; pool < metrics.pools_.size(); ++pool) {
      for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
        if (version == RingVersion::kV1 && !metrics.has_v1_) continue;
        AddCounter(routes,
                   {{"data_center", name},
                    {"pool", metrics.pools_[pool]},
                    {"ring_version", std::string(RingVersionName(version))}},
                   static_cast<double>(metrics.counters_.Sum(metrics.RouteIndex(pool, version))));
      }
    }
    for (std::size_t i = 0; i < DataCenterRouteMetrics::kCodes; ++i) {
      const auto code = static_cast<absl::StatusCode>(i);
      const std::uint64_t count = metrics.counters_.Sum(i);
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
