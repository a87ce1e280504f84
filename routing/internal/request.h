// What a request asks for, checked: the first steps of Route and Explain.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_ROUTING_INTERNAL_REQUEST_H_
#define RINGSHIFT_ROUTING_INTERNAL_REQUEST_H_

#include <algorithm>
#include <cstddef>

#include "absl/status/statusor.h"
#include "routing/route.h"
#include "routing/routing_table.h"

namespace ringshift::internal {

// The index of the pool that may answer; it has nodes. Errors: those of Route.
// Cost: no allocation on success.
absl::StatusOr<std::size_t> FindRequestedPool(const RoutingTable& table,
                                              const RouteRequest& request);

// How many nodes a request asks for, the owner included. REQUIRES: it was not refused.
inline std::size_t WantedNodes(const RouteRequest& request) {
  return static_cast<std::size_t>(std::max(request.replicas, 1));
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_ROUTING_INTERNAL_REQUEST_H_
