// What the builders of all layouts share: how a build is divided, its threads and its progress.
#ifndef RINGSHIFT_RING_INTERNAL_BUILD_PLAN_H_
#define RINGSHIFT_RING_INTERNAL_BUILD_PLAN_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "ring/ring.h"

namespace ringshift::internal {

// A ring is built by ranges of the hash space, equal parts of it: few enough to be written to in
// turn, and each so small that a core sorts it in its cache.
struct BuildPlan {
  // Ranges of about 2^range_points_log2 points, at most 2^max_range_bits. `threads`: 0 is one for
  // each core.
  BuildPlan(std::uint64_t point_count, int range_points_log2, int max_range_bits,
            std::size_t max_threads)
      : points(point_count),
        range_bits(std::min(static_cast<int>(std::bit_width(points >> range_points_log2)),
                            max_range_bits)) {
    constexpr std::uint64_t kPointsWorthAThread = 1 << 16;
    const std::size_t cores =
        max_threads > 0 ? max_threads : std::max(1u, std::thread::hardware_concurrency());
    threads =
        static_cast<std::size_t>(std::clamp<std::uint64_t>(points / kPointsWorthAThread, 1, cores));
  }

  std::size_t ranges() const { return std::size_t{1} << range_bits; }
  std::size_t RangeOf(std::uint32_t hash) const {
    return static_cast<std::size_t>(std::uint64_t{hash} >> (32 - range_bits));
  }
  std::uint32_t FirstHash(std::size_t range) const {
    return static_cast<std::uint32_t>(std::uint64_t{range} << (32 - range_bits));
  }
  // The points of thread `thread`, numbered as PointChains does: from this one up to the next
  // thread's.
  std::uint64_t FirstPoint(std::size_t thread) const { return points * thread / threads; }

  // More than any range has. Hashes spread evenly, so the points of a range are about Poisson
  // distributed; none of some thousand ranges is 8 standard deviations above the mean.
  std::uint64_t LargestRange() const {
    const double mean = static_cast<double>(points) / static_cast<double>(ranges());
    return std::min(points, static_cast<std::uint64_t>(mean + 8 * std::sqrt(mean)) + 64);
  }

  std::uint64_t points;
  int range_bits;  // the highest bits of a hash choose its range
  std::size_t threads;
};

// Asks for the memory behind the cache line of `place`, where points of a range are written one
// after the other: thousands of ranges are written in turn, and the line has come when it is
// needed.
inline void PrefetchToWrite(const void* place) {
  constexpr std::size_t kCacheLine = 64;
  __builtin_prefetch(static_cast<const unsigned char*>(place) + kCacheLine, 1);
}

// What a thread has for itself: the pages of its stack that it touches, its records.
inline constexpr std::uint64_t kBytesOfAThread = 64 << 10;

// Runs work(0) ... work(count - 1) at the same time, the last on this thread.
template <typename Work>
void RunOnThreads(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count - 1);
  for (std::size_t i = 0; i + 1 < count; ++i) threads.emplace_back(work, i);
  work(count - 1);
}

// Lets threads pass in the order of their numbers.
//
// Thread safety: thread-safe.
class Turnstile {
 public:
  // Waits until everybody before `number` has left.
  void Enter(std::size_t number) const {
    for (std::size_t next; (next = next_.load(std::memory_order_acquire)) != number;) {
      next_.wait(next, std::memory_order_acquire);
    }
  }
  void Leave(std::size_t number) {
    next_.store(number + 1, std::memory_order_release);
    next_.notify_all();
  }

 private:
  std::atomic<std::size_t> next_ = 0;
};

// Tells whoever waits for a build how far it is, in steps of a percent or more.
//
// Thread safety: thread-compatible. Only the thread that began the build uses it, so whoever is
// told needs no lock.
class BuildProgress {
 public:
  BuildProgress(const RingBuildOptions& options, std::uint64_t points)
      : report_(options.progress), next_(points >= RingBuildOptions::kProgressPoints ? kStep : 1) {}

  // `done` is the part of the build that is done, 0 to 1.
  void Report(double done) {
    if (!report_ || done < next_ || done >= 1) return;
    report_(done);
    next_ = done + kStep;
  }

 private:
  static constexpr double kStep = 0.01;

  const std::function<void(double)>& report_;
  double next_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_BUILD_PLAN_H_
