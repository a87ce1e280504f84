// Finds the first point at or after a position.
//
// Points are spread evenly, so an index of where each part of the hash space begins, and how far
// into its part a position is, say within some points where to look; the hash found there corrects
// that. So a search waits for memory two or three times however large the ring is, where a binary
// search of a large one waits ten times. A guess is never trusted: a search keeps exact bounds, so
// that a ring that is not even costs time and changes no answer.
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

// Where the equal parts of the hash space begin in a ring: a part for each 64 points or more, and
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

  // What the index of a ring of so many points takes: at most a sixteenth of a byte a point.
  static std::uint64_t Bytes(std::uint64_t points) {
    return ((std::uint64_t{1} << Bits(points)) + 1) * sizeof(std::uint32_t);
  }

  // The first point at or after the position is in [low, high]; guess is about where.
  struct Bounds {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t guess = 0;
  };
  Bounds Find(std::uint32_t position) const {
    const int shift = 32 - bits_;
    const auto part = static_cast<std::size_t>(std::uint64_t{position} >> shift);
    const std::uint32_t low = starts_[part];
    const std::uint32_t high = starts_[part + 1];
    const std::uint64_t depth = position - FirstHash(part);
    return {low, high, low + static_cast<std::uint32_t>((depth * (high - low)) >> shift)};
  }

 private:
  static constexpr std::uint64_t kPartPoints = 64;
  static constexpr int kMaxBits = 16;

  static int Bits(std::uint64_t points) {
    return std::clamp(static_cast<int>(std::bit_width(points / kPartPoints)) - 1, 0, kMaxBits);
  }
  std::size_t Parts() const { return std::size_t{1} << bits_; }
  std::uint32_t FirstHash(std::size_t part) const {
    return static_cast<std::uint32_t>(std::uint64_t{part} << (32 - bits_));
  }

  int bits_;  // of a hash, which choose its part
  std::unique_ptr<std::uint32_t[]> starts_;
};

template <typename P>
class PointSearch {
 public:
  PointSearch() = default;
  PointSearch(const PointArray<P>& points, const PointIndex& index, std::uint32_t position)
      : bounds_(index.Find(position)) {
    bounds_.guess = std::min(bounds_.guess, LastPoint(points));
  }

  // Asks for what Correct is going to read.
  void PrefetchGuess(const PointArray<P>& points) const {
    __builtin_prefetch(points.data() + bounds_.guess);
  }

  // Reads the hash at the guess and makes a better one.
  void Correct(const PointArray<P>& points, std::uint32_t position) {
    auto& [low, high, guess] = bounds_;
    const std::uint32_t hash = points[guess].hash();
    const bool is_before = hash < position;
    low = is_before ? guess + 1 : low;
    high = is_before ? high : guess;
    // Halved, so that the product fits: 2^31 * 2^32.
    const std::int64_t distance = (std::int64_t{position} - std::int64_t{hash}) / 2;
    const std::int64_t steps = (distance * static_cast<std::int64_t>(points.size())) >> 31;
    guess = std::min(static_cast<std::uint32_t>(std::clamp<std::int64_t>(guess + steps, low, high)),
                     LastPoint(points));
  }

  // Asks for what Finish is going to read.
  void PrefetchWindow(const PointArray<P>& points) const {
    // Of the window, which is no longer than a cache line, its two ends.
    constexpr std::uintptr_t kHalf = kWindow / 2 * sizeof(P);
    const auto guess = reinterpret_cast<std::uintptr_t>(points.data() + bounds_.guess);
    __builtin_prefetch(reinterpret_cast<const void*>(guess - kHalf));
    __builtin_prefetch(reinterpret_cast<const void*>(guess + kHalf - 1));
  }

  // The index of the first point at or after the position, points.size() if there is none.
  std::size_t Finish(const PointArray<P>& points, std::uint32_t position) const {
    const auto [low, high, guess] = bounds_;
    if (points.size() >= kWindow) {
      // Counts without a branch, which no processor could foresee.
      const std::size_t start =
          std::min<std::size_t>(guess - std::min(guess, kWindow / 2), points.size() - kWindow);
      std::uint32_t before = 0;
      for (std::size_t i = 0; i < kWindow; ++i) before += points[start + i].hash() < position;
      const bool is_inside =
          before > 0 ? before < kWindow || start + kWindow >= high : start <= low;
      if (is_inside) [[likely]]
        return start + before;
    }
    const P* const found =
        std::partition_point(points.data() + low, points.data() + high,
                             [position](const P& point) { return point.hash() < position; });
    return static_cast<std::size_t>(found - points.data());
  }

 private:
  static constexpr std::uint32_t kWindow = 8;

  static std::uint32_t LastPoint(const PointArray<P>& points) {
    return static_cast<std::uint32_t>(points.size() - 1);
  }

  PointIndex::Bounds bounds_;  // points[bounds_.guess] can be read
};

// The index of the first point at or after `position`, 0 if there is none.
template <typename P>
std::size_t FindFirstPoint(const PointArray<P>& points, const PointIndex& index,
                           std::uint32_t position) {
  PointSearch<P> search(points, index, position);
  search.Correct(points, position);
  const std::size_t point = search.Finish(points, position);
  return point == points.size() ? 0 : point;
}

// found(i, FindFirstPoint(points, index, positions[i])) for each i, with the searches in groups
// that go in step, so that none waits for the memory of another.
template <typename P, typename Found>
void FindFirstPoints(const PointArray<P>& points, const PointIndex& index,
                     std::span<const std::uint32_t> positions, const Found& found) {
  constexpr std::size_t kGroup = 32;  // more reads than a core can wait for at once
  std::array<PointSearch<P>, kGroup> searches;
  for (std::size_t begin = 0; begin < positions.size(); begin += kGroup) {
    const auto group = positions.subspan(begin, std::min(kGroup, positions.size() - begin));
    for (std::size_t i = 0; i < group.size(); ++i) {
      searches[i] = PointSearch<P>(points, index, group[i]);
      searches[i].PrefetchGuess(points);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      searches[i].Correct(points, group[i]);
      searches[i].PrefetchWindow(points);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::size_t point = searches[i].Finish(points, group[i]);
      found(begin + i, point == points.size() ? 0 : point);
    }
  }
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_POINT_SEARCH_H_
