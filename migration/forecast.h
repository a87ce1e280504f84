// What another share will do to the keys of a data center.
//
// Buckets do not depend on positions, and a step from p to q gives |q - p| of them to the other
// ring: so it moves that part of what differs between the rings, exactly; and a node owns its share
// of v1 in the buckets of v1, and its share of v2 in those of v2. What that is of the traffic,
// where some keys come more often than others, the keys that were routed last tell.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_MIGRATION_FORECAST_H_
#define RINGSHIFT_MIGRATION_FORECAST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "migration/estimate.h"
#include "migration/key_sample.h"
#include "migration/share.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/ownership.h"
#include "ring/ring.h"

namespace ringshift {

struct ShareStep {
  Share from;
  Share to;

  // The part of the buckets that another ring answers then, in parts per million.
  std::int32_t ring_change_ppm() const {
    return from < to ? to.ppm() - from.ppm() : from.ppm() - to.ppm();
  }
  // Whether another ring answers the bucket then.
  bool Changes(std::uint32_t bucket) const;
};

// The part of the key space whose owner differs between two rings of the same nodes, 0 to 1. Cost:
// one pass over the points of both, 1 to 2 s on one core for the 225 million of the largest pair.
double MeasureRingChurn(const Ring& v1, const Ring& v2);

// The part of the key space that a node owns, 0 to 1.
struct NodeShift {
  NodeIndex node = 0;
  double before = 0;
  double after = 0;
};

// The `count` nodes that gain most and those that lose most, those that gain first; none that
// does neither. Cost: linear in the nodes. REQUIRES: both are of the same nodes
std::vector<NodeShift> LargestShifts(const Ownership& v1, const Ownership& v2, ShareStep step,
                                     std::size_t count);

// A pool: the rings that answer it, which may be null where the step gives none of them a bucket,
// and its nodes.
struct PoolOfRings {
  const Ring* v1 = nullptr;
  const Ring* v2 = nullptr;
  const NodeMask* nodes = nullptr;  // null: none
};

// Of the requests, by their keys.
struct RoutedChurn {
  EstimatedRatio moved;  // those whose owner changes
  // Those of them whose old owner is not named as the previous one, because it is young.
  EstimatedRatio moved_from_young;
};

// None if there is no key of `pools`, by which RoutedKey::pool counts, that has nodes. `settled`
// has the nodes that are not young; null: all of them. Cost: for 100,000 keys some 10 ms.
std::optional<RoutedChurn> EstimateRoutedChurn(std::vector<RoutedKey> keys,
                                               std::span<const PoolOfRings> pools, ShareStep step,
                                               const NodeMask* settled);

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_FORECAST_H_
