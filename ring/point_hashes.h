// The hashes of one node's points, in the order of its chain: those of a lower weight come first.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_RING_POINT_HASHES_H_
#define RINGSHIFT_RING_POINT_HASHES_H_

#include <cstdint>
#include <functional>

#include "ring/ring_identity.h"

namespace ringshift {

// How many different points a node of this weight has.
std::uint64_t PointCount(const RingIdentity& identity, std::uint32_t weight,
                         std::uint32_t points_per_weight);

// From `begin` up to `end`, counted from 0.
struct PointNumbers {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t count() const { return end - begin; }
};

// found(hash) for each of the points, in their order. Cost: some nanoseconds a point, wherever on
// the chain they begin.
void ForEachPointHash(const RingIdentity& identity, PointNumbers numbers,
                      const std::function<void(std::uint32_t)>& found);

}  // namespace ringshift

#endif  // RINGSHIFT_RING_POINT_HASHES_H_
