// A `Ring` assigns every key to one node by consistent hashing (ketama). Built once, never changed.
//
//   auto nodes = NodeSet::Create({{"a", identity_a, 100}, {"b", identity_b, 50}});
//   auto ring = Ring::Build(*nodes, DefaultRingParameters(RingVersion::kV2));
//   if (!ring.ok()) return ring.status();
//   const RingNode& owner = (**nodes)[(*ring)->Owner("/img/1.jpg")];
//
// Placement. A node has `weight * points_per_weight` points: h(0) = crc32(identity || le32(0)) and
// h(j+1) = crc32(identity || le32(h(j))). A key is at crc32(key), and its owner is the node of the
// first point at or after it, wrapping around. This is the rule of nginx (`hash ... consistent`)
// and of pingora-ketama. A node's points depend on that node alone, so a node that joins or leaves
// moves only the keys that it gains or loses.
//
// Ties. Several nodes may have a point on one hash; all are kept, in an order that input order
// cannot change. v2: by identity, as pingora-ketama's v2. v1: by XXH3_64bits_withSeed(identity,
// hash), because "lowest first" biases a dense ring; nginx and pingora leave v1 ties to an unstable
// sort.
//
// Pools, health and drain are masks on a walk of the one ring (FindNodes): the walk skips the nodes
// outside the mask, which gives exactly the owners of a ring of the mask's nodes alone.
//
// Thread safety: immutable; every method may be called from any number of threads.
//
// Cost, for P points of n nodes: Owner waits for memory two or three times however large the ring
// is, without allocation. Memory is some constant and
//   wide, packed  8 or 6 bytes times P, and an index of at most P / 4 and 262,148 bytes;
//   dense         about 2 bits for tables (1.4 to 2.6), 32 - floor(log2(P / 3.5)) of a hash and
//                 ceil(log2(n)) of a node, times P: 2.9 bytes for 20 million points of 2,048 nodes,
//                 2.5 for 204 million.
#ifndef RINGSHIFT_RING_RING_H_
#define RINGSHIFT_RING_RING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "ring/crc32.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"

namespace ringshift {

namespace internal {
struct RingPoints;
}  // namespace internal

// A frozen placement: it decides the rule for ties. The numbers appear in answers, metrics and
// stored state; never renumber or reuse them.
enum class RingVersion : std::uint8_t { kV1 = 1, kV2 = 2 };

// "v1" or "v2".
std::string_view RingVersionName(RingVersion version);

// The id of the rule that places points and keys and decides ties: "ketama-crc32-v1" or
// "ketama-crc32-v2". A rule is never changed; another one gets another id.
std::string_view RingAlgorithm(RingVersion version);

// How points lie in memory. Never changes an owner.
enum class RingLayout : std::uint8_t {
  kWide,    // 8 bytes a point
  kPacked,  // 6 bytes a point
  kDense,   // packed to the bit, about 3 bytes a point: the more points, the fewer bytes
};

inline constexpr RingLayout kRingLayouts[] = {RingLayout::kWide, RingLayout::kPacked,
                                              RingLayout::kDense};

// "wide", "packed" or "dense".
std::string_view RingLayoutName(RingLayout layout);

struct RingParameters {
  RingVersion version = RingVersion::kV2;
  std::uint32_t points_per_weight = 16;  // 1 to Ring::kMaxPointsPerWeight
  RingLayout layout = RingLayout::kDense;

  friend bool operator==(const RingParameters&, const RingParameters&) = default;
};

// v1: 160 points a weight, wide. v2: 16 points a weight, dense.
RingParameters DefaultRingParameters(RingVersion version);

// What a ring will take, known before anything is allocated.
struct RingSize {
  std::uint64_t points = 0;
  std::uint64_t bytes = 0;
  // Beside the ring, and only while Build makes it with a thread for each core of this machine: an
  // upper bound.
  std::uint64_t scratch_bytes = 0;
};

struct RingBuildOptions {
  // Threads to build with; 0 means one for each core.
  std::size_t threads = 0;
  // Called now and then, on the thread that called Build, with the part of the build that is done,
  // rising, above 0 and below 1: some percent apart. Not for rings of fewer than kProgressPoints
  // points, which take a fraction of a second.
  std::function<void(double)> progress = nullptr;
  static constexpr std::uint64_t kProgressPoints = 1 << 24;
  // If not null, only these nodes have points; every node keeps its index. Not empty, and
  // what is eligible on the ring must be among them.
  const NodeMask* members = nullptr;
  // Clears bits of every point's hash where it is placed, so that a test sees ties everywhere.
  std::uint32_t hash_mask_for_test = 0xFFFFFFFF;
};

class Ring {
 public:
  ~Ring();

  static constexpr std::uint32_t kMaxPointsPerWeight = 1'000'000;
  static constexpr std::uint64_t kMaxPoints = 0xFFFFFFFF;

  // The points and bytes of the ring that Build would make, with points of `members` alone if that
  // is not null. The bytes of a dense ring are those of an even one: where hashes are crowded, it
  // takes up to half a byte a point more. Cost: linear in the nodes.
  //
  // INVALID_ARGUMENT  points_per_weight out of range, or more than kMaxPoints points; the message
  //                   has the points, the bytes, the limit and the node with the most points.
  static absl::StatusOr<RingSize> Measure(const NodeSet& nodes, const RingParameters& parameters,
                                          const NodeMask* members = nullptr);

  // Builds the ring of `nodes`. Refuses what Measure refuses, before it allocates.
  // RESOURCE_EXHAUSTED if the memory cannot be had; the message has the bytes.
  //
  // Cost: O(P) time, divided by the threads. Scratch memory beside the ring: a quarter of a dense
  // one; for each thread some 100 KiB, and 16 bytes a point of the largest of up to 4,096 ranges of
  // the hash space: under a percent of a large ring on a few cores.
  static absl::StatusOr<std::shared_ptr<const Ring>> Build(std::shared_ptr<const NodeSet> nodes,
                                                           const RingParameters& parameters,
                                                           const RingBuildOptions& options = {});

  // Where `key` (any bytes, also none) is on every ring.
  static std::uint32_t Position(std::string_view key) { return Crc32(key); }

  // The owner of `key` among all nodes.
  NodeIndex Owner(std::string_view key) const { return OwnerAt(Position(key)); }
  NodeIndex OwnerAt(std::uint32_t position) const;
  // Among the nodes of `eligible` alone: what FindNodes finds first.
  // REQUIRES: eligible.size() == nodes().size(); eligible.count() > 0
  NodeIndex OwnerAt(std::uint32_t position, const NodeMask& eligible) const;

  // OwnerAt for many positions: the searches go on side by side, so that one does not wait for the
  // other's memory. REQUIRES: owners.size() == positions.size()
  void OwnersAt(std::span<const std::uint32_t> positions, std::span<NodeIndex> owners) const;

  // The same among the nodes of `eligible` alone. REQUIRES: as OwnerAt
  void OwnersAt(std::span<const std::uint32_t> positions, const NodeMask& eligible,
                std::span<NodeIndex> owners) const;

  // Fills `out` with distinct nodes of `eligible` in the order in which a walk clockwise from
  // `position` first meets them: the owner of a ring of these nodes alone, then where its keys go
  // without it, and so on. Returns how many were found: fewer than out.size() only if `eligible`
  // has fewer nodes. Ends when `out` is full or every eligible node was met; never after a fixed
  // number of points.
  //
  // Cost: FindPoint and the points walked, about (all points / points of eligible nodes) a node
  // found. REQUIRES: eligible.size() == nodes().size()
  std::size_t FindNodes(std::uint32_t position, const NodeMask& eligible,
                        std::span<NodeIndex> out) const;

  // The index of the first point at or after `position`: 0 when that wraps around.
  std::size_t FindPoint(std::uint32_t position) const;

  // Point `index` in order of (hash, tie rule). REQUIRES: index < point_count()
  struct Point {
    std::uint32_t hash;
    NodeIndex node;
  };
  Point point(std::size_t index) const;

  std::size_t point_count() const { return point_count_; }
  const NodeSet& nodes() const { return *nodes_; }
  const RingParameters& parameters() const { return parameters_; }

  // Bytes that this ring holds, all of them; the node set, which rings share, is not counted.
  std::uint64_t memory_bytes() const;

  // Hash values on which several nodes have a point.
  std::uint64_t collision_count() const { return collision_count_; }

  // XXH3 over the identities, weights and points: equal wherever the owners of all keys are,
  // whatever the order of input, the layout, the compiler or the machine.
  std::uint64_t checksum() const { return checksum_; }

 private:
  friend struct internal::RingPoints;

  Ring(std::shared_ptr<const NodeSet> nodes, const RingParameters& parameters,
       std::unique_ptr<const internal::RingPoints> points, std::uint64_t collision_count,
       std::uint64_t checksum);

  const std::shared_ptr<const NodeSet> nodes_;
  const RingParameters parameters_;
  const std::unique_ptr<const internal::RingPoints> points_;
  const std::size_t point_count_;
  const std::uint64_t collision_count_;
  const std::uint64_t checksum_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_RING_RING_H_
