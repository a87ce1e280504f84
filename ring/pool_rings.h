// How far lookups in a pool walk on a ring, and small rings for the pools in which that is far.
//
//   std::vector<PoolRing> pools = BuildPoolRings(nodes, *ring, {{&all, &fedramp}}).value();
//   const Ring& asked = pools[1].own != nullptr ? *pools[1].own : *ring;
//   asked.FindNodes(position, fedramp, out);   // the same nodes, sooner
//
// A pool is a view of the whole ring: a lookup skips the points of nodes outside of it, some ten of
// them in a pool of a tenth of the nodes. Only in a very sparse pool is that long. It gets a ring
// of its nodes' points alone, on which nodes have the indexes of the whole ring, so that nobody
// sees a difference but in speed. Nodes outside of the pool must not be eligible there.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_RING_POOL_RINGS_H_
#define RINGSHIFT_RING_POOL_RINGS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/node_mask.h"
#include "ring/ring.h"

namespace ringshift {

// How many points lookups in a pool look at on the whole ring, exactly: 1 where the owner of the
// position is in the pool, one more for each point that is skipped. All 0 for a pool without nodes.
struct PoolWalk {
  std::uint64_t points = 0;  // of the pool's nodes
  double mean = 0;           // over all positions
  std::uint64_t longest = 0;
};

// By index in `pools`. Cost: a pass over the points for every 64 pools, with a nanosecond or two
// for each gap that a pool has between its points; divided by the threads. 0 threads means one for
// each core, as far as the ring is worth it. REQUIRES: no pool is null; each is of the ring's nodes
std::vector<PoolWalk> MeasurePoolWalks(const Ring& ring, std::span<const NodeMask* const> pools,
                                       std::size_t threads = 0);

// A pool whose mean walk is above that many points, about a nanosecond each, gets a ring of its
// own.
inline constexpr double kLongMeanWalk = 512;
// All of them together take at most the whole ring's memory divided by this. Who walks farthest
// comes first; whom nothing is left for goes on walking.
inline constexpr std::uint64_t kPoolRingsPart = 16;

struct PoolRing {
  PoolWalk walk;
  // Null where the pool is a view of the whole ring.
  std::shared_ptr<const Ring> own;

  // 0 without an own ring.
  std::uint64_t own_bytes() const { return own == nullptr ? 0 : own->memory_bytes(); }
  // True where its walks are long and no memory was left for a ring of its own.
  bool lacks_own() const { return own == nullptr && walk.mean > kLongMeanWalk; }
};

// By index in `pools`. Errors: those of Ring::Build. Cost: that of MeasurePoolWalks, and of
// Ring::Build for each ring of its own. REQUIRES: as MeasurePoolWalks
absl::StatusOr<std::vector<PoolRing>> BuildPoolRings(const std::shared_ptr<const NodeSet>& nodes,
                                                     const Ring& ring,
                                                     std::span<const NodeMask* const> pools);

// The most that such rings take together, from the weights alone: a ring is not needed. Cost:
// linear in the nodes, for each pool. Errors: those of Ring::Measure.
absl::StatusOr<std::uint64_t> MeasurePoolRings(const NodeSet& nodes,
                                               const RingParameters& parameters,
                                               std::span<const NodeMask* const> pools);

}  // namespace ringshift

#endif  // RINGSHIFT_RING_POOL_RINGS_H_
