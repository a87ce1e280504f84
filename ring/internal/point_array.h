// The two plain layouts: sorted arrays of 8-byte and of 6-byte points.
#ifndef RINGSHIFT_RING_INTERNAL_POINT_ARRAY_H_
#define RINGSHIFT_RING_INTERNAL_POINT_ARRAY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "ring/internal/huge_pages.h"

namespace ringshift::internal {

class WidePoint {
 public:
  WidePoint() = default;
  WidePoint(std::uint32_t hash, std::uint32_t node) : hash_(hash), node_(node) {}
  std::uint32_t hash() const { return hash_; }
  std::uint32_t node() const { return node_; }

 private:
  std::uint32_t hash_;
  std::uint32_t node_;
};
static_assert(sizeof(WidePoint) == 8 && alignof(WidePoint) == 4);

// REQUIRES: node < 65,536, which NodeSet guarantees.
class PackedPoint {
 public:
  PackedPoint() = default;
  PackedPoint(std::uint32_t hash, std::uint32_t node) {
    const auto low = static_cast<std::uint16_t>(node);
    std::memcpy(bytes_.data(), &hash, sizeof hash);
    std::memcpy(bytes_.data() + sizeof hash, &low, sizeof low);
  }
  std::uint32_t hash() const {
    std::uint32_t hash;
    std::memcpy(&hash, bytes_.data(), sizeof hash);
    return hash;
  }
  std::uint32_t node() const {
    std::uint16_t node;
    std::memcpy(&node, bytes_.data() + 4, sizeof node);
    return node;
  }

 private:
  std::array<unsigned char, 6> bytes_;
};
static_assert(sizeof(PackedPoint) == 6 && alignof(PackedPoint) == 1);

// A fixed number of points on the heap, left uninitialised: a builder writes every one.
template <typename P>
class PointArray {
 public:
  explicit PointArray(std::size_t size)
      : size_(size), points_(std::make_unique_for_overwrite<P[]>(size)) {
    PreferHugePages(points_.get(), size * sizeof(P));
  }

  std::size_t size() const { return size_; }
  P* data() { return points_.get(); }
  const P* data() const { return points_.get(); }
  const P& operator[](std::size_t index) const { return points_[index]; }

 private:
  std::size_t size_;
  std::unique_ptr<P[]> points_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_POINT_ARRAY_H_
