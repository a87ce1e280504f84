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
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "migration/key_sample.h"
#include "ring/ring.h"
#include "routing/data_center.h"
#include "routing/reader_map.h"
#include "server/metric_family.h"
#include "server/routing_method.h"
#include "server/sharded_counters.h"

namespace ringshift {

// Keys, by what answered them.
struct KeyCounts {
  std::uint64_t v1 = 0;
  std::uint64_t v2 = 0;
  std::uint64_t errors = 0;  // refused
};

// The counters of a data center with the pools and rings that it has at one time. They are shared
// with those of the times before and after.
class DataCenterRouteMetrics {
 public:
  // Without pools, for what is no data center.
  DataCenterRouteMetrics();
  // Goes on with the counters of `previous` (may be null).
  DataCenterRouteMetrics(const DataCenter& data_center, const DataCenterRouteMetrics* previous);

  // Keys that a pool answered. `index` is where DataCenter::pools() has it: a request that was
  // answered from an older table may have it elsewhere, or have one that is no more, which is not
  // counted. Cost: a comparison, and a search of all pools for such a request.
  void CountRoutes(std::size_t index, std::string_view pool, RingVersion version,
                   std::uint64_t keys) const {
    const PoolCounters* const found = Find(index, pool);
    if (found != nullptr) found->counters->Add(found->first_index + VersionOffset(version), keys);
  }
  // Keeps these keys for forecasts, by KeySample::Add. The pool is as in CountRoutes.
  template <typename KeyAt>
  void SampleKeys(std::size_t index, std::string_view pool, std::size_t writer, std::uint64_t seed,
                  std::size_t count, KeyAt key_at) const {
    const PoolCounters* const found = Find(index, pool);
    if (found == nullptr) return;
    sample_->Add(writer, seed, static_cast<std::size_t>(found - pools_.data()), count, key_at);
  }
  void CountErrors(absl::StatusCode code, std::uint64_t keys) const {
    errors_->Add(static_cast<std::size_t>(code), keys);
  }

  // Of its present pools.
  KeyCounts CountedKeys() const;

 private:
  friend class RouteMetrics;

  static constexpr std::size_t kCodes = 17;
  static constexpr std::size_t kVersions = 2;

  static std::size_t VersionOffset(RingVersion version) {
    return version == RingVersion::kV2 ? 1 : 0;
  }

  // The kVersions counters of a pool, in a block that it shares with the pools that came with it.
  struct PoolCounters {
    std::string name;
    std::shared_ptr<ShardedCounters> counters;
    std::size_t first_index = 0;
  };

  const PoolCounters* Find(std::size_t index, std::string_view pool) const {
    if (index < pools_.size() && pools_[index].name == pool) return &pools_[index];
    return Find(pool);
  }
  const PoolCounters* Find(std::string_view pool) const;

  std::vector<PoolCounters> pools_;    // as DataCenter::pools()
  std::shared_ptr<KeySample> sample_;  // pools count as in `pools_`
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

  using Reader = ReaderMap<DataCenterRouteMetrics>::Reader;

  // The counters of the data centers that are served, for a thread that counts. They can be counted
  // with for as long as the caller holds them, whatever is served meanwhile. This outlives it.
  std::unique_ptr<Reader> NewReader() { return data_centers_.NewReader(); }

  // Of all other data centers, and of calls that were refused unread.
  const DataCenterRouteMetrics& other() const { return *other_; }

  // How long a call took from its arrival until its answer was there.
  void Observe(RoutingMethod method, std::chrono::nanoseconds duration);

  // A call that is an error of other(), and has no duration: in an overload such calls would be
  // most of them, and make it look quick.
  void CountRefused(absl::StatusCode code);

  // How many calls were observed or refused so far.
  std::uint64_t Calls() const;

  // The keys that the present pools of a data center answered, and those that were refused; zero
  // where it is not served. Cost: a few additions for each pool, status code and core.
  KeyCounts CountedKeys(std::string_view data_center) const;
  // That of each data center that is served.
  std::map<std::string, KeyCounts> CountedKeys() const;

  // The keys of a data center that were routed last, by the decision with this `seed`, and the
  // pools by which they count. Nothing for one that is not served.
  struct Sample {
    std::vector<RoutedKey> keys;
    std::vector<std::string> pools;
  };
  Sample LastKeys(std::string_view data_center, std::uint64_t seed) const;

  // Appends ringshift_routes_total, ringshift_route_errors_total, ringshift_route_duration_seconds.
  // Every series that can be foreseen is there from the start, at 0.
  void Collect(MetricFamilies& families) const;

 private:
  const std::shared_ptr<const DataCenterRouteMetrics> other_;
  ReaderMap<DataCenterRouteMetrics> data_centers_;
  // For each method its buckets, the last one +Inf; then the sum in nanoseconds.
  ShardedCounters durations_;
  ShardedCounters refused_{1};
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTE_METRICS_H_
