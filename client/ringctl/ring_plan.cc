#include "client/ringctl/ring_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ringctl/build_progress.h"
#include "client/ringctl/text.h"
#include "ring/churn.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/pool_rings.h"
#include "routing/data_center.h"

namespace ringshift {
namespace {

constexpr double kDefaultCv = 0.01;
// Where memory is no limit: more points than these give would be for nothing.
constexpr double kFinestCv = 0.005;

std::string Percent(double part) {
  const double percent = 100 * part;
  return FixedPoint(percent, percent < 10 ? 2 : 1) + "%";
}

class Planner {
 public:
  // `pools` are the data center's.
  Planner(const OfflineDataCenter& data_center, const std::vector<DataCenter::Pool>& pools,
          const RingParameters& today)
      : data_center_(data_center), nodes_(*data_center.nodes) {
    for (const DataCenter::Pool& pool : pools) pools_.push_back(&pool.nodes);
    plan_.data_center = data_center.spec.name;
    plan_.nodes = nodes_.size();
    plan_.total_weight = nodes_.total_weight();
    plan_.today = today;
  }

  absl::StatusOr<RingPlan> Plan(const PlanGoal& goal) {
    const absl::StatusOr<RingSize> size = Ring::Measure(nodes_, plan_.today);
    if (!size.ok()) return size.status();
    most_points_ = std::max(size->points, kMostPlannedPoints);
    absl::StatusOr<PlanOption> today = Measure(plan_.today.version, plan_.today.points_per_weight);
    if (!today.ok()) return today.status();
    plan_.options.push_back(*std::move(today));
    for (std::size_t i = 0; i < std::size(kRingLayouts); ++i) {
      if (kRingLayouts[i] == plan_.today.layout) {
        plan_.today_bytes = plan_.options[0].layout_bytes[i];
      }
    }

    plan_.goal = goal;
    if (!goal.cv && !goal.bytes) plan_.goal.cv = std::max(kDefaultCv, plan_.options[0].cv);
    const absl::Status measured =
        plan_.goal.cv ? MeasureForCv(*plan_.goal.cv) : MeasureForMemory(*plan_.goal.bytes);
    if (!measured.ok()) return measured;
    std::sort(plan_.options.begin() + 1, plan_.options.end(),
              [](const PlanOption& a, const PlanOption& b) { return a.points < b.points; });
    Recommend(plan_);
    return std::move(plan_);
  }

 private:
  // The least points per weight from 1 on for which `is_enough`, which goes on being so for more;
  // one more than the most that can be built if none is.
  template <typename IsEnough>
  std::uint32_t Least(const IsEnough& is_enough) const {
    const std::uint64_t most =
        std::min<std::uint64_t>(Ring::kMaxPointsPerWeight, most_points_ / nodes_.total_weight());
    std::uint64_t low = 1, high = std::max<std::uint64_t>(most, 1) + 1;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (is_enough(static_cast<std::uint32_t>(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return static_cast<std::uint32_t>(low);
  }
  bool CanBeBuilt(std::uint32_t points_per_weight) const {
    return points_per_weight >= 1 && points_per_weight <= Ring::kMaxPointsPerWeight &&
           (points_per_weight == 1 || nodes_.total_weight() * points_per_weight <= most_points_);
  }
  std::uint32_t LeastForCv(double cv) const {
    return Least([&](std::uint32_t points_per_weight) {
      const RingParameters parameters{RingVersion::kV2, points_per_weight, kRingLayouts[0]};
      return PredictBalance(nodes_, parameters).cv <= cv;
    });
  }

  // Fewer and more points than are right in theory show what points buy. Where the CV is higher
  // than in theory, still more points may do.
  absl::Status MeasureForCv(double cv) {
    const std::uint32_t right = LeastForCv(cv);
    std::set<std::uint32_t> wanted = {data_center_.spec.v2.points_per_weight};
    if (CanBeBuilt(right)) wanted.insert({right / 4, right / 2, right});
    if (right <= plan_.today.points_per_weight / 2) wanted.insert(2 * right);
    if (absl::Status measured = MeasureAll(wanted); !measured.ok()) return measured;
    std::uint32_t tried = right;
    for (int i = 0; i < 5 && CanBeBuilt(tried); ++i) {
      const double reached = CvOf(tried);
      if (reached <= cv) break;
      const std::uint32_t before = tried;
      // In theory the CV falls with the root of the points.
      tried = static_cast<std::uint32_t>(
          std::min(std::max(std::ceil(tried * (reached / cv) * (reached / cv)), tried + 1.0),
                   static_cast<double>(Ring::kMaxPointsPerWeight) + 1));
      if (absl::Status measured = MeasureAll({tried}); !measured.ok()) return measured;
      // More points no longer help: ties, and not the number of points, decide.
      if (CanBeBuilt(tried) && tried > 1.2 * before && CvOf(tried) > 0.95 * reached) break;
    }
    return absl::OkStatus();
  }

  absl::Status MeasureForMemory(std::uint64_t bytes) {
    const std::uint32_t too_many = Least(
        [&](std::uint32_t points_per_weight) { return SmallestBytes(points_per_weight) > bytes; });
    const std::uint32_t most =
        std::min(too_many - 1, std::max(LeastForCv(kFinestCv), plan_.today.points_per_weight));
    return MeasureAll({most, most / 2, most / 4, most / 8, data_center_.spec.v2.points_per_weight});
  }

  std::uint64_t SmallestBytes(std::uint32_t points_per_weight) const {
    std::uint64_t smallest = UINT64_MAX;
    for (const RingLayout layout : kRingLayouts) {
      const auto size = Size({RingVersion::kV2, points_per_weight, layout});
      if (size.ok()) smallest = std::min(smallest, size->bytes);
    }
    return smallest;
  }

  // With what the own rings of sparse pools take at the most.
  absl::StatusOr<RingSize> Size(const RingParameters& parameters) const {
    absl::StatusOr<RingSize> size = Ring::Measure(nodes_, parameters);
    if (!size.ok()) return size;
    const absl::StatusOr<std::uint64_t> pool_rings = MeasurePoolRings(nodes_, parameters, pools_);
    if (!pool_rings.ok()) return pool_rings.status();
    size->bytes += *pool_rings;
    return size;
  }

  // What they take beside `ring`.
  absl::StatusOr<std::uint64_t> PoolRingBytes(const Ring& ring) const {
    const absl::StatusOr<std::vector<PoolRing>> pools =
        BuildPoolRings(data_center_.nodes, ring, pools_);
    if (!pools.ok()) return pools.status();
    std::uint64_t bytes = 0;
    for (const PoolRing& pool : *pools) bytes += pool.own_bytes();
    return bytes;
  }

  double CvOf(std::uint32_t points_per_weight) const {
    for (const PlanOption& option : plan_.options) {
      if (option.version == RingVersion::kV2 && option.points_per_weight == points_per_weight) {
        return option.cv;
      }
    }
    return 0;
  }

  // Rings v2 of those points per weight that can be built and were not.
  absl::Status MeasureAll(const std::set<std::uint32_t>& points_per_weight) {
    for (const std::uint32_t points : points_per_weight) {
      const bool is_known =
          std::any_of(plan_.options.begin(), plan_.options.end(), [&](const PlanOption& option) {
            return option.version == RingVersion::kV2 && option.points_per_weight == points;
          });
      if (is_known || !CanBeBuilt(points)) continue;
      absl::StatusOr<PlanOption> option = Measure(RingVersion::kV2, points);
      if (!option.ok()) return option.status();
      plan_.options.push_back(*std::move(option));
    }
    return absl::OkStatus();
  }

  // The first one that is measured is today's ring, and is kept to compare the others with.
  absl::StatusOr<PlanOption> Measure(RingVersion version, std::uint32_t points_per_weight) {
    PlanOption option;
    option.version = version;
    option.points_per_weight = points_per_weight;
    RingParameters parameters{version, points_per_weight, kRingLayouts[0]};
    for (std::size_t i = 0; i < std::size(kRingLayouts); ++i) {
      parameters.layout = kRingLayouts[i];
      const absl::StatusOr<RingSize> size = Size(parameters);
      if (!size.ok()) return size.status();
      option.points = size->points;
      option.layout_bytes[i] = size->bytes;
    }
    const std::size_t built = option.smallest_layout();
    parameters.layout = kRingLayouts[built];
    option.predicted = PredictBalance(nodes_, parameters);

    BuildProgress progress(absl::StrCat(
        "ring ", plan_.options.size() + 1, " of the plan: ", std::string(RingVersionName(version)),
        " with ", HumanCount(points_per_weight), " points a weight, ", HumanCount(option.points),
        " points"));
    const absl::StatusOr<std::shared_ptr<const Ring>> ring =
        Ring::Build(data_center_.nodes, parameters,
                    {.progress = [&progress](double done) { progress.Report(done); }});
    if (!ring.ok()) return ring.status();
    progress.Report(0);
    const absl::StatusOr<std::uint64_t> pool_rings = PoolRingBytes(**ring);
    if (!pool_rings.ok()) return pool_rings.status();
    option.layout_bytes[built] = (*ring)->memory_bytes() + *pool_rings;
    plan_.has_pool_rings = plan_.has_pool_rings || *pool_rings > 0;
    const Ownership ownership = MeasureOwnership(**ring);
    option.cv = ownership.cv;
    option.max_ratio = ownership.max_ratio;
    option.min_ratio = ownership.min_ratio;
    option.collisions = (*ring)->collision_count();
    if (today_ == nullptr) {
      today_ = *ring;
    } else {
      const NodeMask all = NodeMask::All(nodes_.size());
      option.moved_ratio =
          MeasureChurn({*today_, all}, {**ring, all}, MatchNodes(nodes_, nodes_)).moved_ratio();
    }
    return option;
  }

  const OfflineDataCenter& data_center_;
  const NodeSet& nodes_;
  std::vector<const NodeMask*> pools_;
  RingPlan plan_;
  std::uint64_t most_points_ = 0;
  std::shared_ptr<const Ring> today_;
};

bool ReachesGoal(const PlanOption& option, const PlanGoal& goal) {
  if (goal.bytes) return option.smallest_bytes() <= *goal.bytes;
  return option.cv <= *goal.cv && option.predicted.cv <= *goal.cv;
}

// Which of two that reach the goal is better.
bool IsBetter(const PlanOption& a, const PlanOption& b, const PlanGoal& goal) {
  return goal.bytes ? a.cv < b.cv : a.smallest_bytes() < b.smallest_bytes();
}

std::string MovesOf(const PlanOption& option, const RingPlan& plan) {
  return absl::StrCat(Percent(option.moved_ratio), " of the keys move",
                      plan.today.version == RingVersion::kV1
                          ? ", in as many steps as you like: `ringctl migration set`"
                          : "; \"Change a ring\" in docs/operations.md says how to go about that");
}

PlanChoice KeepToday(const RingPlan& plan) {
  const PlanOption& today = plan.options.front();
  // Of layouts of one size the one that it has is the best.
  const RingLayout smallest = kRingLayouts[today.smallest_layout()];
  if (today.smallest_bytes() >= plan.today_bytes) {
    return {0, plan.today.layout, plan.today_bytes,
            "it reaches the goal as it is, no layout is smaller, and no key moves"};
  }
  return {0, smallest, today.smallest_bytes(),
          absl::StrCat("it reaches the goal, takes ",
                       Percent(static_cast<double>(today.smallest_bytes()) /
                               static_cast<double>(plan.today_bytes)),
                       " of the memory of layout ", std::string(RingLayoutName(plan.today.layout)),
                       ", and no key moves")};
}

}  // namespace

std::size_t PlanOption::smallest_layout() const {
  return static_cast<std::size_t>(std::min_element(layout_bytes.begin(), layout_bytes.end()) -
                                  layout_bytes.begin());
}

absl::StatusOr<RingPlan> PlanRings(const OfflineDataCenter& data_center,
                                   const RingParameters& today, const PlanGoal& goal) {
  const absl::StatusOr<std::vector<DataCenter::Pool>> pools =
      DataCenter::MakePools(data_center.spec, *data_center.nodes);
  if (!pools.ok()) return pools.status();
  return Planner(data_center, *pools, today).Plan(goal);
}

void Recommend(RingPlan& plan) {
  plan.recommended.reset();
  plan.next.reset();
  // Today's ring is no promise of theory but what there is.
  const PlanOption& today = plan.options.front();
  const bool today_does =
      plan.goal.bytes ? today.smallest_bytes() <= *plan.goal.bytes : today.cv <= *plan.goal.cv;
  if (today_does) plan.recommended = KeepToday(plan);

  const PlanOption* best = nullptr;
  for (std::size_t i = 1; i < plan.options.size(); ++i) {
    const PlanOption& option = plan.options[i];
    if (!ReachesGoal(option, plan.goal)) continue;
    if (best == nullptr || IsBetter(option, *best, plan.goal)) best = &option;
  }
  if (best == nullptr) return;
  PlanChoice choice{static_cast<std::size_t>(best - plan.options.data()),
                    kRingLayouts[best->smallest_layout()], best->smallest_bytes(), ""};
  const std::string moves = MovesOf(*best, plan);
  if (!today_does) {
    choice.reason =
        absl::StrCat(plan.goal.bytes ? "it is the most even ring that fits"
                                     : "it is the smallest of these rings that is that even",
                     ", and today's ring ",
                     plan.goal.bytes ? "does not fit in any layout" : "is less so", "; ", moves);
    plan.recommended = std::move(choice);
    return;
  }
  // Where memory is the goal and today's ring fits, there is nothing to gain. One node is even with
  // any ring, but not with another node beside it.
  if (plan.goal.bytes || plan.nodes == 1 || best->smallest_bytes() >= plan.recommended->bytes)
    return;
  choice.reason = absl::StrCat("it takes ",
                               Percent(static_cast<double>(best->smallest_bytes()) /
                                       static_cast<double>(plan.recommended->bytes)),
                               " of that; ", moves);
  plan.next = std::move(choice);
}

}  // namespace ringshift
