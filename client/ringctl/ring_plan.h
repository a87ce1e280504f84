// What `ringctl ring plan` says: which rings a data center could have, what each would take and how
// evenly it would spread the keys, and which one to take.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RING_PLAN_H_
#define RINGSHIFT_CLIENT_RINGCTL_RING_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ringctl/offline.h"
#include "ring/ownership.h"
#include "ring/ring.h"

namespace ringshift {

// What is wanted of a ring: one of the two.
struct PlanGoal {
  std::optional<double> cv;            // at most
  std::optional<std::uint64_t> bytes;  // at most
};

// A ring, whatever its layout.
struct PlanOption {
  RingVersion version = RingVersion::kV2;
  std::uint32_t points_per_weight = 0;
  std::uint64_t points = 0;
  // By index in kRingLayouts, with the rings that sparse pools have of their own. Exact in the
  // smallest layout, in which it is built; in the others with the most that those rings take, and
  // dense as of an even ring.
  std::array<std::uint64_t, std::size(kRingLayouts)> layout_bytes{};
  BalancePrediction predicted;
  double cv = 0;  // as Ownership has them, over all nodes
  double max_ratio = 0;
  double min_ratio = 0;
  std::uint64_t collisions = 0;  // hash values on which several nodes have a point
  double moved_ratio = 0;        // part of the key space, 0 to 1, whose owner is not today's

  std::size_t smallest_layout() const;  // index in kRingLayouts
  std::uint64_t smallest_bytes() const { return layout_bytes[smallest_layout()]; }
};

// An option in one layout, and why.
struct PlanChoice {
  std::size_t option = 0;  // index in RingPlan::options
  RingLayout layout = RingLayout::kDense;
  std::uint64_t bytes = 0;
  std::string reason;  // what it does: "moves no key, and takes 31.2% of ..."
};

struct RingPlan {
  std::string data_center;
  std::uint64_t nodes = 0;
  std::uint64_t total_weight = 0;
  RingParameters today;  // the ring that answers
  std::uint64_t today_bytes = 0;
  bool has_pool_rings = false;  // sparse pools have rings of their own
  PlanGoal goal;
  std::vector<PlanOption> options;  // that of today's points, then rings v2 from few points to many
  std::optional<PlanChoice> recommended;  // none: nothing reaches the goal
  std::optional<PlanChoice> next;         // a smaller one that reaches it too, but moves keys
};

// The most points of a ring that is built to be measured, unless today's ring has more.
inline constexpr std::uint64_t kMostPlannedPoints = 1'000'000'000;

// Without a goal it is a CV of at most 1 %, or of today's ring where that is higher. Builds today's
// ring and, one after the other, those that may reach the goal, each in its smallest layout; so
// there are two at a time. Errors: those of Ring::Build. Cost: that of building them, and three
// passes over the points of each.
absl::StatusOr<RingPlan> PlanRings(const OfflineDataCenter& data_center,
                                   const RingParameters& today, const PlanGoal& goal);

// Fills in what is recommended, from all the rest. First comes what moves no key: today's ring in
// its smallest layout. Where that does not reach the goal, it is the smallest ring of the CV that
// is wanted, in theory and measured, or the most even one of those that fit.
void Recommend(RingPlan& plan);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RING_PLAN_H_
