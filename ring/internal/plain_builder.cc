#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "ring/internal/build_plan.h"
#include "ring/internal/range_sort.h"
#include "ring/internal/ring_builder.h"
#include "ring/internal/ring_checksum.h"

namespace ringshift::internal {
namespace {

using Word = std::uint64_t;
constexpr int kNodeBits = 32;

BuildPlan MakePlan(std::uint64_t points, std::size_t threads) {
  return BuildPlan(points, 15, 12, threads);
}

}  // namespace

std::uint64_t PlainScratchBytes(std::size_t nodes, std::uint64_t points) {
  const BuildPlan plan = MakePlan(points, 0);
  const std::uint64_t per_thread = plan.ranges() * sizeof(std::uint64_t) +
                                   2 * plan.LargestRange() * sizeof(Word) + kBytesOfAThread;
  return plan.threads * per_thread + (plan.ranges() + 1) * sizeof(std::uint64_t) +
         PointChains::Bytes(nodes) + sizeof(RingChecksum);
}

template <typename P>
BuiltRing<PlainPoints<P>> BuildPlain(const NodeSet& nodes, const PointChains& chains,
                                     RingVersion version, const RingBuildOptions& options) {
  const std::uint64_t total = chains.point_count();
  const BuildPlan plan = MakePlan(total, options.threads);
  const std::size_t ranges = plan.ranges();
  BuildProgress progress(options, total);
  constexpr double kCounted = 0.15, kPlaced = 0.35;  // of the time of a build, about
  const auto generate = [&](std::size_t thread, double from, double to, const auto& emit) {
    const std::uint64_t begin = plan.FirstPoint(thread), end = plan.FirstPoint(thread + 1);
    chains.Generate(begin, end, emit, [&](std::uint64_t done) {
      if (thread + 1 < plan.threads) return;
      progress.Report(from +
                      (to - from) * static_cast<double>(done) / static_cast<double>(end - begin));
    });
  };

  // offsets[t][r]: first how many points thread t has in range r, then where it places the next of
  // them.
  std::vector<std::vector<std::uint64_t>> offsets(plan.threads, std::vector<std::uint64_t>(ranges));
  RunOnThreads(plan.threads, [&](std::size_t t) {
    std::uint64_t* const counts = offsets[t].data();
    generate(t, 0, kCounted, [&](std::span<const std::uint32_t> hashes, NodeIndex) {
      const BuildPlan copy = plan;  // of which the compiler knows that no count changes it
      for (const std::uint32_t hash : hashes) ++counts[copy.RangeOf(hash)];
    });
  });
  std::vector<std::uint64_t> range_begin(ranges + 1);
  std::uint64_t largest_range = 0;
  std::uint64_t offset = 0;
  for (std::size_t r = 0; r < ranges; ++r) {
    range_begin[r] = offset;
    for (auto& counts : offsets) offset += std::exchange(counts[r], offset);
    largest_range = std::max(largest_range, offset - range_begin[r]);
  }
  range_begin[ranges] = offset;

  PointArray<P> array(static_cast<std::size_t>(total));
  P* const points = array.data();
  RunOnThreads(plan.threads, [&](std::size_t t) {
    std::uint64_t* const next = offsets[t].data();
    generate(t, kCounted, kPlaced, [&](std::span<const std::uint32_t> hashes, NodeIndex node) {
      const BuildPlan copy = plan;
      for (const std::uint32_t hash : hashes) {
        P* const place = points + next[copy.RangeOf(hash)]++;
        PrefetchToWrite(place);
        *place = P(hash, node);
      }
    });
  });

  std::vector<std::vector<Word>> scratch(plan.threads);
  for (auto& words : scratch) words.resize(2 * static_cast<std::size_t>(largest_range));
  RingChecksum checksum(nodes, total);
  Turnstile turnstile;
  std::atomic<std::size_t> next_range = 0;  // only hands out numbers; joining publishes the points
  std::atomic<std::uint64_t> collisions = 0;
  RunOnThreads(plan.threads, [&](std::size_t t) {
    const WordFormat<Word> format(kNodeBits, 0);
    Word* const unsorted = scratch[t].data();
    Word* const other = unsorted + largest_range;
    for (std::size_t r; (r = next_range.fetch_add(1, std::memory_order_relaxed)) < ranges;) {
      P* const begin = points + range_begin[r];
      const auto size = static_cast<std::size_t>(range_begin[r + 1] - range_begin[r]);
      for (std::size_t i = 0; i < size; ++i) {
        unsorted[i] = Word{begin[i].hash()} << kNodeBits | begin[i].node();
      }
      Word* const words =
          SortByHash(unsorted, other, unsorted, size, kNodeBits, 32 - plan.range_bits);
      collisions.fetch_add(OrderTies(nodes, version, format, words, size),
                           std::memory_order_relaxed);
      for (std::size_t i = 0; i < size; ++i) {
        begin[i] = P(format.hash(words[i]), format.node(words[i]));
      }
      turnstile.Enter(r);
      checksum.AddPoints(
          size, [&](std::size_t i) { return format.hash(words[i]); },
          [&](std::size_t i) { return format.node(words[i]); });
      turnstile.Leave(r);
      if (t + 1 == plan.threads) {
        progress.Report(kPlaced +
                        (1 - kPlaced) * static_cast<double>(r) / static_cast<double>(ranges));
      }
    }
  });
  return {PlainPoints<P>(std::move(array)), collisions, checksum.Finish()};
}

template BuiltRing<PlainPoints<WidePoint>> BuildPlain(const NodeSet&, const PointChains&,
                                                      RingVersion, const RingBuildOptions&);
template BuiltRing<PlainPoints<PackedPoint>> BuildPlain(const NodeSet&, const PointChains&,
                                                        RingVersion, const RingBuildOptions&);

}  // namespace ringshift::internal
