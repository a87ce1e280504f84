// Finds the first point at or after a position.
//
// Points are spread evenly, so an index of where each part of the hash space begins, and how far
// into its part a position is, say within some points where to look; the hash found there corrects
// that. So a search waits for memory two or three times however large the ring is, where a binary
// search of a large one waits ten times. A guess is never trusted: where it was bad, as on a ring
// that is not even, the part is searched by halves.
//
// Thread safety: immutable, pure.
#ifndef RINGSHIFT_RING_INTERNAL_POINT_SEARCH_H_
#define RINGSHIFT_RING_INTERNAL_POINT_SEARCH_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ring/internal/point_array.h"

namespace ringshift::internal {

// Where the equal parts of the hash space begin in a ring: a part for each 16 points or more, and
// no more parts than stay in a core's cache.
class PointIndex {
 public:
  // REQUIRES: sorted by hash, of 1 to 2^32 - 1 points
  template <typename P>
  explicit PointIndex(const PointArray<P>& points)
      : bits_(Bits(points.size())),
        starts_(std::make_unique_for_overwrite<std::uint32_t[]>(Parts() + 1)) {
    const P* const begin = points.data();
    const P* const end = begin + points.size();
    const P* start = begin;
    for (std::size_t part = 0; part < Parts(); ++part) {
      start = std::partition_point(
          start, end, [first = FirstHash(part)](const P& point) { return point.hash() < first; });
      starts_[part] = static_cast<std::uint32_t>(start - begin);
    }
    starts_[Parts()] = static_cast<std::uint32_t>(points.size());
  }

  // What the index of a ring of so many points takes: at most a quarter of a byte a point.
  static std::uint64_t Bytes(std::uint64_t points) {
    return ((std::uint64_t{1} << Bits(points)) + 1) * sizeof(std::uint32_t);
  }

  // Where the points begin and end that the first point at or after `position` is among; the end is
  // that point where no other is.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  Range PartOf(std::uint32_t position) const {
    const std::size_t part = Part(position);
    return {starts_[part], starts_[part + 1]};
  }

  // About where that point is, from begin to end.
  std::uint32_t Guess(std::uint32_t position) const {
    const auto [begin, end] = PartOf(position);
    const std::uint64_t depth = position - FirstHash(Part(position));
    return begin + static_cast<std::uint32_t>((depth * (end - begin)) >> (32 - bits_));
  }

 private:
  static constexpr std::uint64_t kPartPoints = 16;
  static constexpr int kMaxBits = 16;

  static int Bits(std::uint64_t points) {
    return std::clamp(static_cast<int>(std::bit_width(points / kPartPoints)) - 1, 0, kMaxBits);
  }
  std::size_t Parts() const { return std::size_t{1} << bits_; }
  std::size_t Part(std::uint32_t position) const {
    return static_cast<std::size_t>(std::uint64_t{position} >> (32 - bits_));
  }
  std::uint32_t FirstHash(std::size_t part) const {
    return static_cast<std::uint32_t>(std::uint64_t{part} << (32 - bits_));
  }

  int bits_;  // of a hash, which choose its part
  std::unique_ptr<std::uint32_t[]> starts_;
};

// One search, in steps, so that several can go on side by side. A guess can always be read.
template <typename P>
class PointSearch {
 public:
  PointSearch(const PointArray<P>& points, const PointIndex& index)
      : points_(points.data()), size_(static_cast<std::int64_t>(points.size())), index_(index) {}

  std::uint32_t Guess(std::uint32_t position) const {
    return std::min(index_.Guess(position), static_cast<std::uint32_t>(size_ - 1));
  }

  // A better guess than `guess`, whose hash it reads.
  std::uint32_t Correct(std::uint32_t guess, std::uint32_t position) const {
    // Halved, so that the product fits: 2^31 * 2^32.
    const std::int64_t distance =
        (std::int64_t{position} - std::int64_t{points_[guess].hash()}) / 2;
    const std::int64_t better = guess + ((distance * size_) >> 31);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(better, 0, size_ - 1));
  }

  // The index of the first point at or after the position, 0 if there is none.
  std::size_t Finish(std::uint32_t guess, std::uint32_t position) const {
    const auto is_before = [position](const P& point) { return point.hash() < position; };
    if (size_ >= kWindow) {
      std::int64_t start = Clamp(std::int64_t{guess} - kWindow / 2);
      for (int i = 0; i < kMaxWindows; ++i) {
        // Counts without a branch, which no processor could foresee.
        int before = 0;
        for (int j = 0; j < kWindow; ++j) before += is_before(points_[start + j]);
        if (before > 0 && before < kWindow) [[likely]]
          return static_cast<std::size_t>(start + before);
        // The next window begins or ends with the last point of this one.
        start = Clamp(before == 0 ? start - (kWindow - 1) : start + (kWindow - 1));
      }
    }
    const auto [begin, end] = index_.PartOf(position);
    const P* const found = std::partition_point(points_ + begin, points_ + end, is_before);
    return found == points_ + size_ ? 0 : static_cast<std::size_t>(found - points_);
  }

  // Asks for what Correct and Finish are going to read.
  void PrefetchGuess(std::uint32_t guess) const { Prefetch(points_ + guess); }
  void PrefetchWindow(std::uint32_t guess) const {
    // Its two ends: it is no longer than a cache line.
    constexpr std::uintptr_t kHalf = kWindow / 2 * sizeof(P);
    const auto middle = reinterpret_cast<std::uintptr_t>(points_ + guess);
    Prefetch(reinterpret_cast<const void*>(middle - kHalf));
    Prefetch(reinterpret_cast<const void*>(middle + kHalf - 1));
  }

 private:
  static constexpr int kWindow = 8;
  static constexpr int kMaxWindows = 4;  // further away a search by halves is faster

  // A window begins here at the latest, and not before the points.
  std::int64_t Clamp(std::int64_t start) const {
    return std::clamp<std::int64_t>(start, 0, size_ - kWindow);
  }

  // Into the second cache: more reads can be on their way there than to the first.
  static void Prefetch(const void* memory) { __builtin_prefetch(memory, 0, 2); }

  const P* const points_;
  const std::int64_t size_;
  const PointIndex& index_;
};

// The index of the first point at or after `position`, 0 if there is none.
template <typename P>
std::size_t FindFirstPoint(const PointArray<P>& points, const PointIndex& index,
                           std::uint32_t position) {
  const PointSearch<P> search(points, index);
  return search.Finish(search.Correct(search.Guess(position), position), position);
}

// found(i, FindFirstPoint(points, index, positions[i])) for each i, with the searches in groups
// that go in step, so that none waits for the memory of another.
template <typename P, typename Found>
void FindFirstPoints(const PointArray<P>& points, const PointIndex& index,
                     std::span<const std::uint32_t> positions, const Found& found) {
  constexpr std::size_t kGroup = 64;  // more reads than a core can wait for at once
  const PointSearch<P> search(points, index);
  std::array<std::uint32_t, kGroup> guesses;
  for (std::size_t begin = 0; begin < positions.size(); begin += kGroup) {
    const auto group = positions.subspan(begin, std::min(kGroup, positions.size() - begin));
    for (std::size_t i = 0; i < group.size(); ++i) {
      guesses[i] = search.Guess(group[i]);
      search.PrefetchGuess(guesses[i]);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      guesses[i] = search.Correct(guesses[i], group[i]);
      search.PrefetchWindow(guesses[i]);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      found(begin + i, search.Finish(guesses[i], group[i]));
    }
  }
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_POINT_SEARCH_H_
