// A ring that a reader can check by eye: no tables, no threads, no binary search. Tests hold `Ring`
// against it. It shares no code with ring/ but the identity's bytes and XXH3.
#ifndef RINGSHIFT_TESTS_UNIT_RING_REFERENCE_RING_H_
#define RINGSHIFT_TESTS_UNIT_RING_REFERENCE_RING_H_

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift::testing {

inline std::uint32_t ReferenceCrc32(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = (crc & 1) != 0;
      crc >>= 1;
      if (carry) crc ^= 0xEDB88320;
    }
  }
  return ~crc;
}

struct ReferenceRing {
  struct Point {
    std::uint32_t hash;
    std::uint64_t tie;  // v1: by hash of the identity; v2: by order of the identities
    NodeIndex node;
  };
  std::vector<Point> points;

  ReferenceRing(const NodeSet& nodes, RingVersion version, std::uint32_t points_per_weight,
                std::uint32_t hash_mask = 0xFFFFFFFF) {
    for (NodeIndex node = 0; node < nodes.size(); ++node) {
      const std::string identity = nodes[node].identity.bytes();
      std::uint32_t hash = 0;
      for (std::uint32_t j = 0; j < nodes[node].weight * points_per_weight; ++j) {
        std::string bytes = identity;
        for (int shift = 0; shift < 32; shift += 8) {
          bytes += static_cast<char>((hash >> shift) & 0xFF);
        }
        hash = ReferenceCrc32(bytes);
        const std::uint32_t cut = hash & hash_mask;
        const std::uint64_t tie = version == RingVersion::kV1
                                      ? XXH3_64bits_withSeed(identity.data(), identity.size(), cut)
                                      : node;
        points.push_back({cut, tie, node});
        if (j == 0 && hash == 0) break;  // a stuck chain
      }
    }
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      if (a.tie != b.tie) return a.tie < b.tie;
      return a.node < b.node;
    });
  }

  std::size_t FirstPoint(std::uint32_t position) const {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].hash >= position) return i;
    }
    return 0;
  }

  NodeIndex Owner(std::uint32_t position) const { return points[FirstPoint(position)].node; }

  // Every distinct node of `pool` in walk order.
  std::vector<NodeIndex> Walk(std::uint32_t position, const std::vector<bool>& pool) const {
    std::vector<NodeIndex> walk;
    const std::size_t first = FirstPoint(position);
    for (std::size_t step = 0; step < points.size(); ++step) {
      const NodeIndex node = points[(first + step) % points.size()].node;
      if (pool[node] && std::find(walk.begin(), walk.end(), node) == walk.end()) {
        walk.push_back(node);
      }
    }
    return walk;
  }

  std::uint64_t Collisions() const {
    std::uint64_t collisions = 0;
    for (std::size_t i = 0; i < points.size();) {
      std::size_t end = i;
      bool several = false;
      for (; end < points.size() && points[end].hash == points[i].hash; ++end) {
        several = several || points[end].node != points[i].node;
      }
      collisions += several;
      i = end;
    }
    return collisions;
  }
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_RING_REFERENCE_RING_H_
