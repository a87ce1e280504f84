// The points of a ring in the layout that they have, for passes over all of them: Ring::point asks
// for the layout at every point.
#ifndef RINGSHIFT_RING_INTERNAL_RING_POINTS_H_
#define RINGSHIFT_RING_INTERNAL_RING_POINTS_H_

#include <utility>
#include <variant>

#include "ring/ring.h"

namespace ringshift::internal {

struct RingPoints {
  // Calls `visitor` with the ring's PointArray and returns what it returns.
  template <typename Visitor>
  static decltype(auto) Visit(const Ring& ring, Visitor&& visitor) {
    return std::visit(std::forward<Visitor>(visitor), ring.points_);
  }
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RING_POINTS_H_
