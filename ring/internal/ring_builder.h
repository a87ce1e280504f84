// Generates the points of a ring and sorts them, on several threads.
//
// Points are cheap to generate, so they are generated several times: once to count how many fall
// into each range of the hash space, then to place them there. Each range is sorted by itself. So
// there is never much more memory than the finished ring's: see the builders.
#ifndef RINGSHIFT_RING_INTERNAL_RING_BUILDER_H_
#define RINGSHIFT_RING_INTERNAL_RING_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ring/internal/dense_points.h"
#include "ring/internal/plain_points.h"
#include "ring/internal/point_array.h"
#include "ring/internal/point_chains.h"
#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift::internal {

template <typename Points>
struct BuiltRing {
  Points points;
  std::uint64_t collision_count;  // hashes on which several nodes have a point
  std::uint64_t checksum;
};

// Upper bounds on what the builders, with a thread for each core, allocate beside a ring of
// `points` points of `nodes` nodes, in bytes.
std::uint64_t PlainScratchBytes(std::size_t nodes, std::uint64_t points);
std::uint64_t DenseScratchBytes(std::size_t nodes, std::uint64_t points);

// The builders of the layouts. REQUIRES: chains of `nodes`, of 1 to 2^32 - 1 points.
// Throw std::bad_alloc or std::system_error where memory or threads cannot be had.

// P is WidePoint or PackedPoint. Points are placed where they are to be, and sorted there.
template <typename P>
BuiltRing<PlainPoints<P>> BuildPlain(const NodeSet& nodes, const PointChains& chains,
                                     RingVersion version, const RingBuildOptions& options);

// A point that is to be sorted is larger than a dense one. So the hash space is built in rounds,
// two for a large ring, each as much of it as fits into the part of the ring that is still to be
// written and some scratch memory.
BuiltRing<DensePoints> BuildDense(const NodeSet& nodes, const PointChains& chains,
                                  RingVersion version, const RingBuildOptions& options);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RING_BUILDER_H_
