// What a request asks for, checked: the first steps of Route, RouteBatch and Explain.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_ROUTING_INTERNAL_REQUEST_H_
#define RINGSHIFT_ROUTING_INTERNAL_REQUEST_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "routing/route.h"
#include "routing/routing_table.h"

namespace ringshift::internal {

inline bool IsValidKey(std::string_view key) { return !key.empty() && key.size() <= kMaxKeyBytes; }

// INVALID_ARGUMENT; `subject` says which key. REQUIRES: !IsValidKey(key)
absl::Status InvalidKey(std::string_view key, std::string_view subject);

// The index of the pool called `name`; it has nodes. Errors: those of BatchRouter::Create.
// Cost: no allocation on success.
absl::StatusOr<std::size_t> FindPoolWithNodes(const RoutingTable& table, std::string_view name);

// The same for a whole request. Errors: those of Route.
absl::StatusOr<std::size_t> FindRequestedPool(const RoutingTable& table,
                                              const RouteRequest& request);

// How many nodes a request asks for, the owner included. REQUIRES: it was not refused.
inline std::size_t WantedNodes(const RouteRequest& request) {
  return static_cast<std::size_t>(std::max(request.replicas, 1));
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_ROUTING_INTERNAL_REQUEST_H_
