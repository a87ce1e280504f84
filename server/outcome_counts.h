// What edge services reported of the answers they got: counters, and the hit ratio of the last
// minutes.
//
// Series come from the data centers that are served, the two rings and the outcomes: nothing that a
// caller sends becomes one. All of them are there for as long as their data center is.
//
// Thread safety: thread-safe. Cost of Add: two locks and two look-ups of the name.
#ifndef RINGSHIFT_SERVER_OUTCOME_COUNTS_H_
#define RINGSHIFT_SERVER_OUTCOME_COUNTS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ring/ring.h"
#include "routing/routing_directory.h"
#include "server/metric_family.h"

namespace ringshift {

enum class Outcome { kHit, kPreviousOwnerHit, kOrigin, kConnectError, kError };
inline constexpr std::size_t kOutcomes = 5;

// Something of each outcome, in the order of the enum.
template <typename T>
using ByOutcome = std::array<T, kOutcomes>;

// Requests that the rings of a data center answered, as counters.
struct OutcomeTotals {
  ByOutcome<std::uint64_t> v1{};
  ByOutcome<std::uint64_t> v2{};
};

class OutcomeCounts {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // The directory outlives this object.
  explicit OutcomeCounts(RoutingDirectory& directory, Clock clock = std::chrono::steady_clock::now);

  // `count` requests that a ring of the data center answered. One that is not served counts as
  // `other`.
  void Add(std::string_view data_center, RingVersion version, Outcome outcome, std::uint64_t count);

  // The part of the requests, 0 to 1, that caches answered in the last five minutes: hits and
  // previous owner hits of these and origin. None if there are none of them.
  std::optional<double> HitRatio(std::string_view data_center) const;

  // Since the start; zero where nothing was reported.
  OutcomeTotals Totals(std::string_view data_center) const;
  // Of each data center that something was reported of.
  std::map<std::string, OutcomeTotals, std::less<>> Totals() const;

  // Appends ringshift_reported_outcomes_total.
  void Collect(MetricFamilies& families) const;

 private:
  // Five minutes, the last ten seconds of them under way.
  static constexpr std::chrono::seconds kSlotTime{10};
  static constexpr std::size_t kSlots = 30;
  struct Slot {
    std::int64_t number = -1;  // which ten seconds of the clock
    ByOutcome<std::uint64_t> counts{};
  };
  struct Counts {
    OutcomeTotals totals;
    std::array<Slot, kSlots> slots;
  };

  bool IsServed(std::string_view data_center) const;
  std::int64_t SlotNumber() const { return clock_().time_since_epoch() / kSlotTime; }

  const RoutingDirectory& directory_;
  const std::unique_ptr<RoutingDirectory::Reader> tables_;
  const Clock clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Counts, std::less<>> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_OUTCOME_COUNTS_H_
