// The points of the layouts `wide` and `packed`: a sorted array and its index.
//
// Every layout has these members, and nothing outside of ring/internal/ knows another one:
//   size()                   points, 1 to 2^32 - 1
//   hash(i), node(i)         of point i in order of (hash, tie rule)
//   FindFirst(position)      the index of the first point at or after it; 0 where that wraps around
//   FindFirsts(positions, f) f(i, FindFirst(positions[i])) for each i; the searches go side by side
//   CursorAtBegin()          for a pass over all points: AtEnd(), hash(), node(), Next()
//   CursorAt(position, i)    the same from point i on, the first one at or after the position
//   bytes()                  that it holds beside its own size
//
// Thread safety: immutable.
#ifndef RINGSHIFT_RING_INTERNAL_PLAIN_POINTS_H_
#define RINGSHIFT_RING_INTERNAL_PLAIN_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "ring/internal/point_array.h"
#include "ring/internal/point_search.h"

namespace ringshift::internal {

// P is WidePoint or PackedPoint.
template <typename P>
class PlainPoints {
 public:
  class Cursor {
   public:
    Cursor(const PointArray<P>& points, std::size_t index)
        : next_(points.data() + index), end_(points.data() + points.size()) {}

    bool AtEnd() const { return next_ == end_; }
    // REQUIRES: !AtEnd()
    std::uint32_t hash() const { return next_->hash(); }
    std::uint32_t node() const { return next_->node(); }
    void Next() { ++next_; }

   private:
    const P* next_;
    const P* end_;
  };

  // REQUIRES: sorted by hash, of 1 to 2^32 - 1 points
  explicit PlainPoints(PointArray<P> points) : points_(std::move(points)), index_(points_) {}

  // bytes() of so many points.
  static std::uint64_t Bytes(std::uint64_t points) {
    return points * sizeof(P) + PointIndex::Bytes(points);
  }

  std::size_t size() const { return points_.size(); }
  std::uint32_t hash(std::size_t index) const { return points_[index].hash(); }
  std::uint32_t node(std::size_t index) const { return points_[index].node(); }
  std::size_t FindFirst(std::uint32_t position) const {
    return FindFirstPoint(points_, index_, position);
  }
  template <typename Found>
  void FindFirsts(std::span<const std::uint32_t> positions, const Found& found) const {
    FindFirstPoints(points_, index_, positions, found);
  }
  Cursor CursorAtBegin() const { return Cursor(points_, 0); }
  Cursor CursorAt(std::uint32_t /*position*/, std::size_t index) const {
    return Cursor(points_, index);
  }
  std::uint64_t bytes() const { return Bytes(size()); }

 private:
  PointArray<P> points_;
  PointIndex index_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_PLAIN_POINTS_H_
