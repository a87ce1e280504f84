// The points of a ring in the layout that they have. The rest of the program sees only Ring, so
// that a layout can change without it.
#ifndef RINGSHIFT_RING_INTERNAL_RING_POINTS_H_
#define RINGSHIFT_RING_INTERNAL_RING_POINTS_H_

#include <utility>
#include <variant>

#include "ring/internal/dense_points.h"
#include "ring/internal/plain_points.h"
#include "ring/internal/point_array.h"
#include "ring/ring.h"

namespace ringshift::internal {

struct RingPoints {
  std::variant<PlainPoints<WidePoint>, PlainPoints<PackedPoint>, DensePoints> layout;

  // Calls `visitor` with the points of `ring` in their layout, and returns what it returns: asking
  // for the layout once, where Ring::point asks at every point.
  template <typename Visitor>
  static decltype(auto) Visit(const Ring& ring, Visitor&& visitor) {
    return std::visit(std::forward<Visitor>(visitor), ring.points_->layout);
  }
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RING_POINTS_H_
