// Generates the points of a ring and sorts them in place, on several threads.
//
// Points are cheap to generate, so they are generated twice: once to count how many fall into each
// range of the hash space, once to place them there. Each range is then sorted by itself. So the
// only large memory is the finished array.
#ifndef RINGSHIFT_RING_INTERNAL_RING_BUILDER_H_
#define RINGSHIFT_RING_INTERNAL_RING_BUILDER_H_

#include <cstddef>
#include <cstdint>

#include "ring/internal/point_array.h"
#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift::internal {

// How many different points a node has.
std::uint64_t NodePointCount(const RingNode& node, std::uint32_t points_per_weight);

// An upper bound on what BuildPoints, with a thread for each core, allocates beside the points of a
// ring of `points` points of `nodes` nodes, in bytes.
std::uint64_t ScratchBytes(std::size_t nodes, std::uint64_t points);

template <typename P>
struct BuiltPoints {
  PointArray<P> points;           // by hash, then by the version's tie rule
  std::uint64_t collision_count;  // hashes on which several nodes have a point
};

// P is WidePoint or PackedPoint. REQUIRES: parameters that Ring::Measure accepts.
// Throws std::bad_alloc or std::system_error where memory or threads cannot be had.
template <typename P>
BuiltPoints<P> BuildPoints(const NodeSet& nodes, const RingParameters& parameters,
                           const RingBuildOptions& options);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RING_BUILDER_H_
