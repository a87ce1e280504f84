#include "ring/pool_rings.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <thread>

#include "ring/internal/build_plan.h"
#include "ring/internal/ring_points.h"

namespace ringshift {
namespace {

using internal::RingPoints;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

// Sums up the walks of one pool. A walk from a position is from its first point `f` to the first
// point `e` of the pool, so it is e + 1 - f points. Both are summed up for all positions, the
// latter by the pass, once for all pools, and the points behind the last one numbered on, as far as
// the first point of the pool. All sums of walks are below 2^64, however the two parts of them
// overflow.
class WalkSum {
 public:
  // Point `index` is one of the pool; `end` is one past its hash, `run_end` the index of the first
  // point on another hash. REQUIRES: in order
  void AddPoint(std::uint64_t index, std::uint64_t end, std::uint64_t run_end) {
    if (walk_.points++ == 0) {
      first_index_ = index;
      first_end_ = end;
    } else if (end != last_end_) {  // else no position is between the two
      ends_ += (end - last_end_) * (index + 1);
      walk_.longest = std::max(walk_.longest, index + 1 - next_start_);
    }
    last_end_ = end;
    next_start_ = run_end;
  }

  // `firsts`: the sum of all positions' first points.
  PoolWalk Finish(std::uint64_t point_count, std::uint64_t firsts) {
    if (walk_.points == 0) return walk_;
    const std::uint64_t first_again = point_count + first_index_;
    ends_ += first_end_ * (first_index_ + 1) + (kPositions - last_end_) * (first_again + 1);
    // The positions behind the last point of all begin anew, as those before the first one do.
    walk_.longest = std::max(walk_.longest, first_again + 1 - next_start_);
    walk_.mean = static_cast<double>(ends_ - firsts) / static_cast<double>(kPositions);
    return walk_;
  }

 private:
  PoolWalk walk_;
  std::uint64_t ends_ = 0;
  std::uint64_t first_index_ = 0;
  std::uint64_t first_end_ = 0;
  std::uint64_t last_end_ = 0;
  std::uint64_t next_start_ = 0;
};

// For each node, which of the pools it is in.
class PoolsOfNodes {
 public:
  PoolsOfNodes(std::size_t nodes, std::span<const NodeMask* const> pools) : begins_(nodes + 1) {
    for (NodeIndex node = 0; node < nodes; ++node) {
      begins_[node] = pools_.size();
      for (std::size_t pool = 0; pool < pools.size(); ++pool) {
        if (pools[pool]->Contains(node)) pools_.push_back(pool);
      }
    }
    begins_[nodes] = pools_.size();
  }
  std::span<const std::size_t> of(NodeIndex node) const {
    return std::span(pools_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }

 private:
  std::vector<std::size_t> begins_;  // by node, in pools_
  std::vector<std::size_t> pools_;
};

template <typename Points>
void SumWalks(const Points& points, std::size_t node_count, std::span<const NodeMask* const> pools,
              std::span<PoolWalk> walks) {
  const PoolsOfNodes pools_of_nodes(node_count, pools);
  std::vector<WalkSum> sums(pools.size());
  std::uint64_t firsts = 0;
  std::uint64_t begin = 0;  // the first position whose first point is the present one
  std::vector<NodeIndex> run;
  std::uint64_t index = 0;
  for (auto cursor = points.CursorAtBegin(); !cursor.AtEnd();) {
    const std::uint32_t hash = cursor.hash();
    run.clear();
    for (; !cursor.AtEnd() && cursor.hash() == hash; cursor.Next()) run.push_back(cursor.node());
    const std::uint64_t end = std::uint64_t{hash} + 1;
    const std::uint64_t run_end = index + run.size();
    firsts += (end - begin) * index;
    begin = end;
    for (const NodeIndex node : run) {
      for (const std::size_t pool : pools_of_nodes.of(node)) {
        sums[pool].AddPoint(index, end, run_end);
      }
      ++index;
    }
  }
  firsts += (kPositions - begin) * points.size();
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    walks[pool] = sums[pool].Finish(points.size(), firsts);
  }
}

}  // namespace

std::vector<PoolWalk> MeasurePoolWalks(const Ring& ring, std::span<const NodeMask* const> pools) {
  std::vector<PoolWalk> walks(pools.size());
  // In a pool of all nodes there is nothing to sum up.
  std::vector<const NodeMask*> views;
  std::vector<std::size_t> places;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    if (pools[pool]->count() == pools[pool]->size()) {
      walks[pool] = {ring.point_count(), 1, 1};
    } else {
      views.push_back(pools[pool]);
      places.push_back(pool);
    }
  }
  if (views.empty()) return walks;
  std::vector<PoolWalk> view_walks(views.size());
  const std::size_t threads =
      std::min<std::size_t>(views.size(), std::max(1u, std::thread::hardware_concurrency()));
  internal::RunOnThreads(threads, [&](std::size_t t) {
    const std::size_t begin = views.size() * t / threads, end = views.size() * (t + 1) / threads;
    RingPoints::Visit(ring, [&](const auto& points) {
      SumWalks(points, ring.nodes().size(), std::span(views).subspan(begin, end - begin),
               std::span(view_walks).subspan(begin, end - begin));
    });
  });
  for (std::size_t i = 0; i < places.size(); ++i) walks[places[i]] = view_walks[i];
  return walks;
}

absl::StatusOr<std::uint64_t> MeasurePoolRings(const NodeSet& nodes,
                                               const RingParameters& parameters,
                                               std::span<const NodeMask* const> pools) {
  // A mean walk is about how many points there are for each one of the pool, and much more only
  // by an accident that the limit makes up for.
  constexpr double kShortWalk = kLongMeanWalk / 4;
  const absl::StatusOr<RingSize> whole = Ring::Measure(nodes, parameters);
  if (!whole.ok()) return whole.status();
  std::uint64_t bytes = 0;
  for (const NodeMask* pool : pools) {
    if (pool->count() == 0) continue;
    const absl::StatusOr<RingSize> size = Ring::Measure(nodes, parameters, pool);
    if (!size.ok()) return size.status();
    if (static_cast<double>(whole->points) > kShortWalk * static_cast<double>(size->points)) {
      bytes += size->bytes;
    }
  }
  return std::min(bytes, whole->bytes / kPoolRingsPart);
}

absl::StatusOr<std::vector<PoolRing>> BuildPoolRings(const std::shared_ptr<const NodeSet>& nodes,
                                                     const Ring& ring,
                                                     std::span<const NodeMask* const> pools) {
  const std::vector<PoolWalk> walks = MeasurePoolWalks(ring, pools);
  std::vector<PoolRing> rings;
  for (const PoolWalk& walk : walks) rings.push_back({walk, nullptr});
  std::vector<std::size_t> farthest_first(pools.size());
  std::iota(farthest_first.begin(), farthest_first.end(), std::size_t{0});
  std::stable_sort(farthest_first.begin(), farthest_first.end(),
                   [&](std::size_t a, std::size_t b) { return walks[a].mean > walks[b].mean; });
  std::uint64_t bytes_left = ring.memory_bytes() / kPoolRingsPart;
  for (const std::size_t pool : farthest_first) {
    if (walks[pool].mean <= kLongMeanWalk) break;
    const absl::StatusOr<RingSize> size = Ring::Measure(*nodes, ring.parameters(), pools[pool]);
    if (!size.ok()) return size.status();
    if (size->bytes > bytes_left) continue;
    absl::StatusOr<std::shared_ptr<const Ring>> own =
        Ring::Build(nodes, ring.parameters(), {.members = pools[pool]});
    if (!own.ok()) return own.status();
    bytes_left -= std::min(bytes_left, (*own)->memory_bytes());
    rings[pool].own = *std::move(own);
  }
  return rings;
}

}  // namespace ringshift
