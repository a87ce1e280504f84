#include "ring/pool_rings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <thread>

#include "ring/internal/build_plan.h"
#include "ring/internal/ring_points.h"

namespace ringshift {
namespace {

using internal::RingPoints;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;
constexpr std::size_t kBlock = 64;  // points that are looked at together, and pools
constexpr std::uint64_t kPointsWorthAThread = 1 << 16;

// Points beside each other, at most kBlock of them.
struct Block {
  std::uint64_t first;                     // index of the first one
  std::array<std::uint64_t, kBlock> ends;  // one past the hash of each
  // Of the ends of the points before each, from where the sum was begun.
  std::array<std::uint64_t, kBlock + 1> sum;
};

// Sums up the walks of one pool over the blocks of a ring, or of a part of it.
//
// A point outside of the pool is skipped from the positions behind the last point of the pool
// before it and up to its own. So what is skipped is a sum over the gaps that the pool has between
// its points, and neither these nor those in a gap are looked at one by one. The sums overflow, but
// what comes of them is below 2^64, as walks of at most 2^32 points from 2^32 positions are.
class WalkSum {
 public:
  // `members`: which points of the block are the pool's, the first one in the lowest bit.
  // `index_after(end)` is the index of the first point whose hash is `end` or more, or how many
  // points there are.
  template <typename IndexAfter>
  void AddBlock(const Block& block, std::uint64_t members, const IndexAfter& index_after) {
    for (std::uint64_t begins = members & ~(members << 1); begins != 0; begins &= begins - 1) {
      const auto begin = static_cast<std::size_t>(std::countr_zero(begins));
      const std::size_t end = begin + static_cast<std::size_t>(std::countr_one(members >> begin));
      AddFirst({block.first + begin, block.ends[begin], block.sum[begin]}, index_after);
      points_ += end - begin;
      last_ = {block.first + end, block.ends[end - 1], block.sum[end]};
    }
  }

  // Goes on with what a sum over the next part of the ring has; its blocks' sums were begun where
  // those here had `sum`.
  template <typename IndexAfter>
  void Append(const WalkSum& next, std::uint64_t sum, const IndexAfter& index_after) {
    if (next.points_ == 0) return;
    AddFirst({next.first_.index, next.first_.end, sum + next.first_.sum}, index_after);
    points_ += next.points_;
    skipped_ += next.skipped_;
    longest_ = std::max(longest_, next.longest_);
    last_ = {next.last_.index, next.last_.end, sum + next.last_.sum};
  }

  // `sum`: of the ends of all points of the ring.
  template <typename IndexAfter>
  PoolWalk Finish(std::uint64_t point_count, std::uint64_t sum, const IndexAfter& index_after) {
    if (points_ == 0) return {};
    // From the last point on to the first one, as if it came again behind all positions.
    AddFirst({point_count + first_.index, kPositions + first_.end,
              sum + first_.sum + kPositions * first_.index},
             index_after);
    return {points_, static_cast<double>(skipped_ + kPositions) / static_cast<double>(kPositions),
            longest_};
  }

 private:
  // A point of the pool, and the sum of the ends before it; or behind one, and that with its own.
  struct Place {
    std::uint64_t index = 0;
    std::uint64_t end = 0;  // of the point itself
    std::uint64_t sum = 0;
  };

  // Adds the gap that ends with `point`.
  template <typename IndexAfter>
  void AddFirst(const Place& point, const IndexAfter& index_after) {
    if (points_ == 0) {
      first_ = point;
      return;
    }
    const std::uint64_t gap = point.index - last_.index;
    skipped_ += point.sum - last_.sum - gap * last_.end;
    // No walk begins before the points that are on one hash with the last one of the pool, and none
    // at all where this point is so, too.
    if (gap >= longest_ && point.end != last_.end) {
      longest_ = std::max(longest_, point.index + 1 - index_after(last_.end));
    }
  }

  std::uint64_t points_ = 0;
  std::uint64_t skipped_ = 0;  // by the walks from all positions
  std::uint64_t longest_ = 0;
  Place first_;
  Place last_;  // behind it
};

// Bit i of word j becomes bit j of word i.
void Transpose(std::array<std::uint64_t, kBlock>& words) {
  std::uint64_t mask = 0x00000000FFFFFFFF;
  for (std::size_t width = kBlock / 2; width != 0; width /= 2, mask ^= mask << width) {
    for (std::size_t begin = 0; begin < kBlock; begin += 2 * width) {
      for (std::size_t i = begin; i < begin + width; ++i) {
        const std::uint64_t swapped = ((words[i] >> width) ^ words[i + width]) & mask;
        words[i] ^= swapped << width;
        words[i + width] ^= swapped;
      }
    }
  }
}

// The walks of some pools over the points of a ring. REQUIRES: at most kBlock pools
template <typename Points>
class PoolsWalk {
 public:
  PoolsWalk(const Points& points, std::size_t node_count, std::span<const NodeMask* const> pools)
      : points_(points), pools_(pools.size()), pools_of_node_(node_count) {
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
      for (NodeIndex node = 0; node < node_count; ++node) {
        pools_of_node_[node] |= std::uint64_t{pools[pool]->Contains(node)} << pool;
      }
    }
  }

  void Measure(std::span<PoolWalk> walks, std::size_t threads) const {
    std::vector<Part> parts(threads);
    internal::RunOnThreads(threads, [&](std::size_t t) {
      parts[t] = Sum(kPositions * t / threads, kPositions * (t + 1) / threads);
    });
    Part& whole = parts.front();
    for (std::size_t t = 1; t < threads; ++t) {
      for (std::size_t pool = 0; pool < pools_; ++pool) {
        whole.sums[pool].Append(parts[t].sums[pool], whole.sum, index_after_);
      }
      whole.sum += parts[t].sum;
    }
    for (std::size_t pool = 0; pool < pools_; ++pool) {
      walks[pool] = whole.sums[pool].Finish(points_.size(), whole.sum, index_after_);
    }
  }

 private:
  struct Part {
    std::vector<WalkSum> sums;  // by pool
    std::uint64_t sum = 0;      // of the ends of all points
  };
  struct IndexAfter {
    const Points& points;
    std::size_t operator()(std::uint64_t end) const {
      const auto position = static_cast<std::uint32_t>(end);
      const std::size_t index = end == kPositions ? 0 : points.FindFirst(position);
      return index == 0 && end > points.hash(0) ? points.size() : index;
    }
  };

  // Of the points with hashes in [first_hash, end).
  Part Sum(std::uint64_t first_hash, std::uint64_t end) const {
    Part part{std::vector<WalkSum>(pools_)};
    std::size_t index = index_after_(first_hash);
    const std::size_t last = index_after_(end);
    if (index == last) return part;
    auto cursor = points_.CursorAt(static_cast<std::uint32_t>(first_hash), index);
    Block block;
    block.sum[0] = 0;
    while (index < last) {
      const std::size_t size = std::min(kBlock, last - index);
      std::array<std::uint64_t, kBlock> members{};
      for (std::size_t i = 0; i < size; ++i, cursor.Next()) {
        members[i] = pools_of_node_[cursor.node()];
        block.ends[i] = std::uint64_t{cursor.hash()} + 1;
        block.sum[i + 1] = block.sum[i] + block.ends[i];
      }
      block.first = index;
      Transpose(members);
      for (std::size_t pool = 0; pool < pools_; ++pool) {
        part.sums[pool].AddBlock(block, members[pool], index_after_);
      }
      index += size;
      block.sum[0] = block.sum[size];
    }
    part.sum = block.sum[0];
    return part;
  }

  const Points& points_;
  const IndexAfter index_after_{points_};
  const std::size_t pools_;
  std::vector<std::uint64_t> pools_of_node_;  // a bit for each
};

}  // namespace

std::vector<PoolWalk> MeasurePoolWalks(const Ring& ring, std::span<const NodeMask* const> pools,
                                       std::size_t threads) {
  if (threads == 0) {
    threads = std::clamp<std::size_t>(ring.point_count() / kPointsWorthAThread, 1,
                                      std::max(1u, std::thread::hardware_concurrency()));
  }
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
  std::vector<PoolWalk> view_walks(views.size());
  for (std::size_t first = 0; first < views.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, views.size() - first);
    RingPoints::Visit(ring, [&](const auto& points) {
      PoolsWalk(points, ring.nodes().size(), std::span(views).subspan(first, count))
          .Measure(std::span(view_walks).subspan(first, count), threads);
    });
  }
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
    rings[pool].own = *std::move(own);
    bytes_left -= std::min(bytes_left, rings[pool].own_bytes());
  }
  return rings;
}

}  // namespace ringshift
