#include "ring/internal/ring_builder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ring/crc32.h"

namespace ringshift::internal {
namespace {

struct NodeRange {
  NodeIndex begin;
  NodeIndex end;
};

// Cuts the nodes into `count` consecutive ranges of about equal points.
std::vector<NodeRange> SplitByPoints(const std::vector<std::uint64_t>& node_points,
                                     std::uint64_t total, std::size_t count) {
  std::vector<NodeRange> ranges(count);
  NodeIndex next = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ranges[i].begin = next;
    const std::uint64_t target = total / count * (i + 1);
    while (next < node_points.size() && (i + 1 == count || before < target)) {
      before += node_points[next++];
    }
    ranges[i].end = next;
  }
  return ranges;
}

// Calls `emit(hash, node)` for every point of the nodes of `range`. Each step of a chain waits for
// the one before, so several chains run abreast: that hides the latency of the table look-ups.
template <typename Emit>
void GeneratePoints(const NodeSet& nodes, const std::vector<std::uint64_t>& node_points,
                    NodeRange range, std::uint32_t hash_mask, Emit emit) {
  constexpr std::size_t kLanes = 8;
  struct Lane {
    std::uint32_t state = 0;  // of the crc after the identity
    std::uint32_t hash = 0;   // of the last point
    NodeIndex node = 0;
    std::uint64_t left = 0;  // points still to come
  };
  std::array<Lane, kLanes> lanes;
  NodeIndex next = range.begin;
  const auto refill = [&](Lane& lane) {
    if (next == range.end) return false;
    lane = {Crc32Extend(0xFFFFFFFF, nodes[next].identity.bytes()), 0, next, node_points[next]};
    ++next;
    return true;
  };
  const auto step = [&](Lane& lane) {
    lane.hash = Crc32OfStateThenWord(lane.state, lane.hash);
    emit(lane.hash & hash_mask, lane.node);
  };

  std::size_t active = 0;
  while (active < kLanes && refill(lanes[active])) ++active;
  while (active > 0) {
    std::uint64_t steps = lanes[0].left;
    for (std::size_t i = 1; i < active; ++i) steps = std::min(steps, lanes[i].left);
    if (active == kLanes) {
      for (std::uint64_t s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < kLanes; ++i) step(lanes[i]);
      }
    } else {
      for (std::uint64_t s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < active; ++i) step(lanes[i]);
      }
    }
    for (std::size_t i = 0; i < active;) {
      lanes[i].left -= steps;
      if (lanes[i].left == 0 && !refill(lanes[i])) {
        // The last lane takes this one's place; its own steps are still to be taken off.
        lanes[i] = lanes[--active];
      } else {
        ++i;
      }
    }
  }
}

// What a thread has for itself: the pages of its stack that it touches, its records.
constexpr std::uint64_t kBytesOfAThread = 64 << 10;

// A point as one word: sorts by hash, then by node.
constexpr std::uint64_t ToWord(std::uint32_t hash, NodeIndex node) {
  return std::uint64_t{hash} << 32 | node;
}
constexpr std::uint32_t WordHash(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr NodeIndex WordNode(std::uint64_t word) { return static_cast<NodeIndex>(word); }

// Sorts `words` by hash, whose highest bits are equal and whose lowest `bits` differ. Uses
// `scratch`, of the same size.
void SortByHash(std::vector<std::uint64_t>& words, std::vector<std::uint64_t>& scratch,
                std::size_t size, int bits) {
  constexpr int kDigitBits = 11;
  constexpr std::size_t kFewWords = 512;
  if (size <= kFewWords) {
    std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size));
    return;
  }
  std::array<std::uint32_t, 1 << kDigitBits> offsets;
  for (int shift = 32; shift < 32 + bits; shift += kDigitBits) {
    const auto digit = [shift](std::uint64_t word) {
      return static_cast<std::size_t>(word >> shift) & ((1 << kDigitBits) - 1);
    };
    offsets.fill(0);
    for (std::size_t i = 0; i < size; ++i) ++offsets[digit(words[i])];
    std::uint32_t offset = 0;
    for (std::uint32_t& count : offsets) count = std::exchange(offset, offset + count);
    for (std::size_t i = 0; i < size; ++i) scratch[offsets[digit(words[i])]++] = words[i];
    words.swap(scratch);
  }
}

// Puts the points of `words`, which all have one hash, in the order of the version's tie rule.
// Returns whether they are of several nodes.
bool OrderTies(const NodeSet& nodes, RingVersion version, std::uint64_t* begin,
               std::uint64_t* end) {
  std::sort(begin, end);  // by node index, which is the order of the identities
  if (WordNode(*begin) == WordNode(end[-1])) return false;
  if (version == RingVersion::kV1) {
    const auto tie_key = [&nodes](std::uint64_t word) {
      const std::string& identity = nodes[WordNode(word)].identity.bytes();
      return XXH3_64bits_withSeed(identity.data(), identity.size(), WordHash(word));
    };
    std::stable_sort(begin, end, [&tie_key](std::uint64_t a, std::uint64_t b) {
      return tie_key(a) < tie_key(b);
    });
  }
  return true;
}

// Orders every run of equal hashes; returns how many are shared by several nodes.
std::uint64_t OrderAllTies(const NodeSet& nodes, RingVersion version, std::uint64_t* words,
                           std::size_t size) {
  std::uint64_t collisions = 0;
  for (std::size_t begin = 0; begin < size;) {
    std::size_t end = begin + 1;
    while (end < size && WordHash(words[end]) == WordHash(words[begin])) ++end;
    if (end - begin > 1) collisions += OrderTies(nodes, version, words + begin, words + end);
    begin = end;
  }
  return collisions;
}

// How a build of `points` points is divided.
struct BuildShape {
  BuildShape(std::uint64_t points, const RingBuildOptions& options) {
    // Ranges of about 2^15 points, which a core sorts in its cache, and no more of them than stay
    // fast to write to in turn.
    constexpr int kRangePointsLog2 = 15;
    constexpr int kMaxRangeBits = 12;
    range_bits =
        std::min(static_cast<int>(std::bit_width(points >> kRangePointsLog2)), kMaxRangeBits);
    ranges = std::size_t{1} << range_bits;

    constexpr std::uint64_t kPointsWorthAThread = 1 << 16;
    const std::size_t cores =
        options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    threads =
        static_cast<std::size_t>(std::clamp<std::uint64_t>(points / kPointsWorthAThread, 1, cores));
  }

  int range_bits;      // the highest bits of a hash choose its range
  std::size_t ranges;  // of the hash space
  std::size_t threads;
};

// Runs work(0) ... work(count - 1) at the same time, the last on this thread.
template <typename Work>
void RunOnThreads(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count - 1);
  for (std::size_t i = 0; i + 1 < count; ++i) threads.emplace_back(work, i);
  work(count - 1);
}

}  // namespace

std::uint64_t NodePointCount(const RingNode& node, std::uint32_t points_per_weight) {
  if (HasStuckChain(node.identity)) return 1;
  return std::uint64_t{node.weight} * points_per_weight;
}

std::uint64_t ScratchBytes(std::size_t nodes, std::uint64_t points) {
  const BuildShape shape(points, {});
  // Hashes spread evenly, so the points of a range are about Poisson distributed; none of 4,096
  // ranges is 8 standard deviations above the mean.
  const double mean = static_cast<double>(points) / static_cast<double>(shape.ranges);
  const std::uint64_t largest_range =
      std::min(points, static_cast<std::uint64_t>(mean + 8 * std::sqrt(mean)) + 64);
  const std::uint64_t per_thread = shape.ranges * sizeof(std::uint64_t) +
                                   2 * largest_range * sizeof(std::uint64_t) + kBytesOfAThread;
  return shape.threads * per_thread + shape.ranges * sizeof(std::uint64_t) +
         nodes * sizeof(std::uint64_t);
}

template <typename P>
BuiltPoints<P> BuildPoints(const NodeSet& nodes, const RingParameters& parameters,
                           const RingBuildOptions& options) {
  std::vector<std::uint64_t> node_points(nodes.size());
  std::uint64_t total = 0;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    node_points[node] = NodePointCount(nodes[node], parameters.points_per_weight);
    total += node_points[node];
  }

  const BuildShape shape(total, options);
  const int range_bits = shape.range_bits;
  const std::size_t ranges = shape.ranges;
  const std::size_t threads = shape.threads;
  const auto range_of = [range_bits](std::uint32_t hash) {
    return static_cast<std::size_t>(std::uint64_t{hash} >> (32 - range_bits));
  };
  const std::vector<NodeRange> node_ranges = SplitByPoints(node_points, total, threads);

  // offsets[t][r]: first how many points thread t has in range r, then where it places the next of
  // them.
  std::vector<std::vector<std::uint64_t>> offsets(threads, std::vector<std::uint64_t>(ranges));
  RunOnThreads(threads, [&](std::size_t t) {
    std::uint64_t* const counts = offsets[t].data();
    GeneratePoints(nodes, node_points, node_ranges[t], options.hash_mask_for_test,
                   [&](std::uint32_t hash, NodeIndex) { ++counts[range_of(hash)]; });
  });
  std::vector<std::uint64_t> range_begin(ranges + 1);
  std::uint64_t largest_range = 0;
  std::uint64_t offset = 0;
  for (std::size_t r = 0; r < ranges; ++r) {
    range_begin[r] = offset;
    for (std::size_t t = 0; t < threads; ++t) {
      offset += std::exchange(offsets[t][r], offset);
    }
    largest_range = std::max(largest_range, offset - range_begin[r]);
  }
  range_begin[ranges] = offset;

  BuiltPoints<P> built{PointArray<P>(static_cast<std::size_t>(total)), 0};
  P* const points = built.points.data();
  RunOnThreads(threads, [&](std::size_t t) {
    std::uint64_t* const next = offsets[t].data();
    GeneratePoints(nodes, node_points, node_ranges[t], options.hash_mask_for_test,
                   [&](std::uint32_t hash, NodeIndex node) {
                     points[next[range_of(hash)]++] = P(hash, node);
                   });
  });

  struct Scratch {
    std::vector<std::uint64_t> words;
    std::vector<std::uint64_t> spare;
  };
  const auto scratch_size = static_cast<std::size_t>(largest_range);
  std::vector<Scratch> scratch(threads);
  for (Scratch& each : scratch) {
    each.words.resize(scratch_size);
    each.spare.resize(scratch_size);
  }
  std::atomic<std::size_t> next_range = 0;  // only hands out numbers; joining publishes the points
  std::atomic<std::uint64_t> collisions = 0;
  RunOnThreads(threads, [&](std::size_t t) {
    auto& [words, spare] = scratch[t];
    for (std::size_t r; (r = next_range.fetch_add(1, std::memory_order_relaxed)) < ranges;) {
      P* const begin = points + range_begin[r];
      const auto size = static_cast<std::size_t>(range_begin[r + 1] - range_begin[r]);
      for (std::size_t i = 0; i < size; ++i) words[i] = ToWord(begin[i].hash(), begin[i].node());
      SortByHash(words, spare, size, 32 - range_bits);
      collisions.fetch_add(OrderAllTies(nodes, parameters.version, words.data(), size),
                           std::memory_order_relaxed);
      for (std::size_t i = 0; i < size; ++i) begin[i] = P(WordHash(words[i]), WordNode(words[i]));
    }
  });
  built.collision_count = collisions;
  return built;
}

template BuiltPoints<WidePoint> BuildPoints(const NodeSet&, const RingParameters&,
                                            const RingBuildOptions&);
template BuiltPoints<PackedPoint> BuildPoints(const NodeSet&, const RingParameters&,
                                              const RingBuildOptions&);

}  // namespace ringshift::internal
