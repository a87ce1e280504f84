// The hashes of the points of a ring's nodes.
//
// A step of a node's chain is linear over GF(2), but for a constant: h(j+1) = x^32 h(j) + c modulo
// the polynomial of the crc. So k steps are a multiplication by x^(32 k) and a constant too. That
// is used twice: one look-up a byte of h(j) gives four hashes from h(j+1) to h(j+4), and a chain
// can be entered anywhere, so that the points of one node can be divided between threads like those
// of many. Such a step still waits for the one before, so several chains run abreast.
//
// Thread safety: immutable.
#ifndef RINGSHIFT_RING_INTERNAL_POINT_CHAINS_H_
#define RINGSHIFT_RING_INTERNAL_POINT_CHAINS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ring/crc32.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"

namespace ringshift::internal {

// Four hashes that follow each other on a chain.
using Hashes = std::uint32_t __attribute__((vector_size(16)));

// [i][b]: what byte b of a hash, its i-th from the lowest on, adds to the next four.
using StepTables = std::array<std::array<Hashes, 256>, 4>;
const StepTables& GetStepTables();

// The hash that a node's chain has after `steps` steps from 0, where `state` is the crc's register
// after its identity: h(steps - 1), and 0 for no step.
std::uint32_t HashAfter(std::uint32_t state, std::uint64_t steps);

class PointChains {
 public:
  // Of the nodes in `members` alone, if it is not null. `hash_mask`: the bits of hashes that points
  // keep; the chains go on with all of them. REQUIRES: fewer than 2^32 points in all.
  PointChains(const NodeSet& nodes, std::uint32_t points_per_weight, const NodeMask* members,
              std::uint32_t hash_mask);

  std::uint64_t point_count() const { return begins_.back(); }

  // What it allocates for so many nodes.
  static std::uint64_t Bytes(std::size_t nodes) { return (nodes + 1) * sizeof(begins_[0]); }

  // emit(hashes, node) for the points from number `begin` up to `end`, up to kBlock of one node at
  // a time, in any order; they are numbered node by node. Between them, now and then, calls
  // progress(how many came before).
  template <typename Emit, typename Progress>
  void Generate(std::uint64_t begin, std::uint64_t end, Emit emit, Progress progress) const;

  // The most points that are emitted at a time.
  static constexpr std::size_t kBlock = 256;

 private:
  // The longest part of a chain that is generated without entering it anew, which takes about as
  // long as some hundred points.
  static constexpr std::uint64_t kLongestPart = 1 << 16;

  const NodeSet& nodes_;
  const std::uint32_t hash_mask_;
  std::vector<std::uint32_t> begins_;  // the number of each node's first point, and of all points
};

template <typename Emit, typename Progress>
void PointChains::Generate(std::uint64_t begin, std::uint64_t end, Emit emit,
                           Progress progress) const {
  constexpr std::size_t kLanes = 8;
  struct Lane {
    Hashes constants{};      // what the identity adds to the next four hashes
    std::uint32_t hash = 0;  // of the last point
    NodeIndex node = 0;
    std::uint64_t left = 0;  // points still to come
    std::array<std::uint32_t, kBlock> block;
  };
  std::array<Lane, kLanes> lanes;
  const std::uint64_t longest_part =
      std::clamp<std::uint64_t>((end - begin) / kLanes, 1, kLongestPart);
  std::uint64_t next = begin;
  auto node = static_cast<NodeIndex>(std::upper_bound(begins_.begin(), begins_.end(), next) -
                                     begins_.begin() - 1);
  const auto refill = [&](Lane& lane) {
    progress(next - begin);
    while (begins_[node + 1] <= next) ++node;
    const std::uint32_t state = Crc32Extend(0xFFFFFFFF, nodes_[node].identity.bytes());
    const std::uint64_t part_end =
        std::min({std::uint64_t{begins_[node + 1]}, end, next + longest_part});
    std::uint32_t constant = 0;
    for (int i = 0; i < 4; ++i) {
      lane.constants[i] = constant = Crc32OfStateThenWord(state, constant);
    }
    lane.hash = HashAfter(state, next - begins_[node]);
    lane.node = node;
    lane.left = part_end - next;
    next = part_end;
  };
  const StepTables& tables = GetStepTables();
  const Hashes mask = {hash_mask_, hash_mask_, hash_mask_, hash_mask_};
  for (;;) {
    // As many steps, of four points each, as the lane with the fewest points has.
    std::size_t steps = kBlock / 4;
    bool done = true;
    for (Lane& lane : lanes) {
      if (lane.left == 0 && next < end) refill(lane);
      if (lane.left == 0) continue;
      done = false;
      if (lane.left < 4 * steps) steps = static_cast<std::size_t>(lane.left + 3) / 4;
    }
    if (done) return;
    for (std::size_t s = 0; s < steps; ++s) {
      for (Lane& lane : lanes) {
        const std::uint32_t h = lane.hash;
        const Hashes hashes = tables[0][h & 0xFF] ^ tables[1][(h >> 8) & 0xFF] ^
                              tables[2][(h >> 16) & 0xFF] ^ tables[3][h >> 24] ^ lane.constants;
        lane.hash = hashes[3];
        const Hashes masked = hashes & mask;
        std::memcpy(&lane.block[4 * s], &masked, sizeof masked);
      }
    }
    for (Lane& lane : lanes) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(lane.left, 4 * steps));
      if (count > 0) emit(std::span<const std::uint32_t>(lane.block).first(count), lane.node);
      lane.left -= count;
    }
  }
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_POINT_CHAINS_H_
