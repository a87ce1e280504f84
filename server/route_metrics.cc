#include "server/route_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
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
constexpr std::size_t kDurationCounters = kDurationSum + 1;  // of a method

struct MethodName {
  RoutingMethod method;
  const char* name;
};
constexpr std::array kMethods = {MethodName{RoutingMethod::kRoute, "Route"},
                                 MethodName{RoutingMethod::kRouteBatch, "RouteBatch"}};

std::size_t FirstCounter(RoutingMethod method) {
  return static_cast<std::size_t>(method) * kDurationCounters;
}

// What a routing call can answer beside OK.
constexpr std::array kErrors = {absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound,
                                absl::StatusCode::kUnavailable};
// What is refused unread, or given up since its client does not take the answer, belongs to no data
// center.
constexpr std::array kOtherErrors = {
    absl::StatusCode::kCancelled,         absl::StatusCode::kDeadlineExceeded,
    absl::StatusCode::kInvalidArgument,   absl::StatusCode::kNotFound,
    absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable};

prometheus::ClientMetric MakeHistogram(const ShardedCounters& durations, const MethodName& method) {
  const std::size_t first = FirstCounter(method.method);
  prometheus::ClientMetric metric;
  for (std::size_t i = 0; i < kBucketBounds.size(); ++i) {
    metric.histogram.sample_count += durations.Sum(first + i);
    metric.histogram.bucket.push_back(
        {metric.histogram.sample_count, static_cast<double>(kBucketBounds[i]) / 1e9});
  }
  metric.histogram.sample_count += durations.Sum(first + kBucketBounds.size());
  metric.histogram.sample_sum = static_cast<double>(durations.Sum(first + kDurationSum)) / 1e9;
  metric.label = {{"method", method.name}};
  return metric;
}

}  // namespace

DataCenterRouteMetrics::DataCenterRouteMetrics()
    : errors_(std::make_shared<ShardedCounters>(kCodes)) {}

DataCenterRouteMetrics::DataCenterRouteMetrics(const DataCenter& data_center,
                                               const DataCenterRouteMetrics* previous)
    : has_v1_(data_center.spec().v1.has_value()),
      errors_(previous == nullptr ? std::make_shared<ShardedCounters>(kCodes) : previous->errors_) {
  std::map<std::string_view, const PoolCounters*> before;
  if (previous != nullptr) {
    for (const PoolCounters& counters : previous->pools_) before[counters.name] = &counters;
  }
  std::size_t new_counters = 0;
  for (const DataCenter::Pool& pool : data_center.pools()) {
    if (const auto found = before.find(pool.name); found != before.end()) {
      pools_.push_back(*found->second);
    } else {
      pools_.push_back({pool.name, nullptr, new_counters});
      new_counters += kVersions;
    }
  }
  const auto has_name = [](const PoolCounters& a, const PoolCounters& b) {
    return a.name == b.name;
  };
  const bool has_same_pools =
      previous != nullptr && std::equal(pools_.begin(), pools_.end(), previous->pools_.begin(),
                                        previous->pools_.end(), has_name);
  sample_ = has_same_pools ? previous->sample_ : std::make_shared<KeySample>();
  if (new_counters == 0) return;
  const auto block = std::make_shared<ShardedCounters>(new_counters);
  for (PoolCounters& counters : pools_) {
    if (counters.counters == nullptr) counters.counters = block;
  }
}

const DataCenterRouteMetrics::PoolCounters* DataCenterRouteMetrics::Find(
    std::string_view pool) const {
  const auto found =
      std::find_if(pools_.begin(), pools_.end(),
                   [pool](const PoolCounters& counters) { return counters.name == pool; });
  return found == pools_.end() ? nullptr : &*found;
}

KeyCounts DataCenterRouteMetrics::CountedKeys() const {
  KeyCounts counts;
  for (const PoolCounters& pool : pools_) {
    const auto sum = [&pool](RingVersion version) {
      return pool.counters->Sum(pool.first_index + VersionOffset(version));
    };
    counts.v1 += sum(RingVersion::kV1);
    counts.v2 += sum(RingVersion::kV2);
  }
  for (std::size_t code = 0; code < kCodes; ++code) counts.errors += errors_->Sum(code);
  return counts;
}

RouteMetrics::RouteMetrics()
    : other_(std::make_shared<const DataCenterRouteMetrics>()),
      durations_(kMethods.size() * kDurationCounters) {}

void RouteMetrics::Serve(const DataCenter& data_center) {
  const std::shared_ptr<const DataCenterRouteMetrics> previous =
      data_centers_.Find(data_center.name());
  data_centers_.Set(data_center.name(),
                    std::make_shared<const DataCenterRouteMetrics>(data_center, previous.get()));
}

void RouteMetrics::Drop(const std::string& data_center) { data_centers_.Remove(data_center); }

void RouteMetrics::Observe(RoutingMethod method, std::chrono::nanoseconds duration) {
  const std::int64_t nanoseconds = std::max<std::int64_t>(duration.count(), 0);
  const auto bucket = std::lower_bound(kBucketBounds.begin(), kBucketBounds.end(), nanoseconds);
  const std::size_t first = FirstCounter(method);
  durations_.Add(first + static_cast<std::size_t>(bucket - kBucketBounds.begin()), 1);
  durations_.Add(first + kDurationSum, static_cast<std::uint64_t>(nanoseconds));
}

void RouteMetrics::CountRefused(absl::StatusCode code) {
  other_->CountErrors(code, 1);
  refused_.Add(0, 1);
}

std::uint64_t RouteMetrics::Calls() const {
  std::uint64_t calls = refused_.Sum(0);
  for (const MethodName& method : kMethods) {
    const std::size_t first = FirstCounter(method.method);
    for (std::size_t i = 0; i < kDurationSum; ++i) calls += durations_.Sum(first + i);
  }
  return calls;
}

KeyCounts RouteMetrics::CountedKeys(std::string_view data_center) const {
  const std::shared_ptr<const DataCenterRouteMetrics> metrics = data_centers_.Find(data_center);
  return metrics == nullptr ? KeyCounts{} : metrics->CountedKeys();
}

std::map<std::string, KeyCounts> RouteMetrics::CountedKeys() const {
  std::map<std::string, KeyCounts> keys;
  for (const auto& [name, metrics] : data_centers_.All()) keys[name] = metrics->CountedKeys();
  return keys;
}

RouteMetrics::Sample RouteMetrics::LastKeys(std::string_view data_center,
                                            std::uint64_t seed) const {
  const std::shared_ptr<const DataCenterRouteMetrics> metrics = data_centers_.Find(data_center);
  if (metrics == nullptr) return {};
  Sample sample{metrics->sample_->Keys(seed), {}};
  for (const DataCenterRouteMetrics::PoolCounters& pool : metrics->pools_) {
    sample.pools.push_back(pool.name);
  }
  return sample;
}

void RouteMetrics::Collect(MetricFamilies& families) const {
  ReaderMap<DataCenterRouteMetrics>::Values data_centers = data_centers_.All();
  data_centers.emplace(std::string(kOtherDataCenter), other_);
  prometheus::MetricFamily routes =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_routes_total",
                 "Keys that were answered, by the ring that answered.");
  prometheus::MetricFamily errors = MakeFamily(
      prometheus::MetricType::Counter, "ringshift_route_errors_total",
      "Keys that were refused, by gRPC status code; `other` is an unknown data center, or "
      "a call that was not read, or whose answer was not taken.");
  for (const auto& [name, metrics] : data_centers) {
    for (const DataCenterRouteMetrics::PoolCounters& pool : metrics->pools_) {
      for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
        if (version == RingVersion::kV1 && !metrics->has_v1_) continue;
        const std::size_t index = pool.first_index + DataCenterRouteMetrics::VersionOffset(version);
        AddCounter(routes,
                   {{"data_center", name},
                    {"pool", pool.name},
                    {"ring_version", std::string(RingVersionName(version))}},
                   static_cast<double>(pool.counters->Sum(index)));
      }
    }
    for (std::size_t i = 0; i < DataCenterRouteMetrics::kCodes; ++i) {
      const auto code = static_cast<absl::StatusCode>(i);
      const std::uint64_t count = metrics->errors_->Sum(i);
      const std::span<const absl::StatusCode> codes =
          metrics == other_ ? std::span<const absl::StatusCode>(kOtherErrors) : kErrors;
      const bool foreseen = std::find(codes.begin(), codes.end(), code) != codes.end();
      if (!foreseen && count == 0) continue;
      AddCounter(errors, {{"data_center", name}, {"code", absl::StatusCodeToString(code)}},
                 static_cast<double>(count));
    }
  }
  prometheus::MetricFamily durations =
      MakeFamily(prometheus::MetricType::Histogram, "ringshift_route_duration_seconds",
                 "Time that routing calls took within the router, without the network and without "
                 "those that were refused unread.");
  for (const MethodName& method : kMethods) {
    durations.metric.push_back(MakeHistogram(durations_, method));
  }

  families.push_back(std::move(routes));
  families.push_back(std::move(errors));
  families.push_back(std::move(durations));
}

}  // namespace ringshift
