// Route: the answer to one request, as a pure function of a routing table.
//
// Thread safety: pure. Cost: two hashes of the key, one ring lookup and walk, and those of
// FindPreviousOwner; no allocation on success.
#ifndef RINGSHIFT_ROUTING_ROUTE_H_
#define RINGSHIFT_ROUTING_ROUTE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "ring/node_set.h"
#include "ring/ring.h"
#include "routing/routing_table.h"

namespace ringshift {

inline constexpr std::size_t kMaxKeyBytes = 16 * 1024;
inline constexpr int kMaxReplicas = 16;

struct RouteRequest {
  std::string_view key;   // 1 to kMaxKeyBytes bytes, any
  std::string_view pool;  // "" means `default`
  int replicas = 0;  // distinct nodes wanted, the owner included; 0 means 1, at most kMaxReplicas
};

struct RouteAnswer {
  RingVersion ring_version = RingVersion::kV1;
  std::size_t pool = 0;                     // index in DataCenter::pools()
  std::uint32_t position = 0;               // of the key on the rings
  std::uint32_t bucket = 0;                 // of the decision
  std::optional<NodeIndex> previous_owner;  // none of nodes()
  std::size_t node_count = 0;
  std::array<NodeIndex, kMaxReplicas> node_indexes{};

  // The owner, then the further replicas in walk order; fewer than asked for where the pool is
  // smaller.
  std::span<const NodeIndex> nodes() const { return std::span(node_indexes).first(node_count); }
};

// INVALID_ARGUMENT  the key is empty or too long, replicas out of range.
// NOT_FOUND         no such pool; the message has the known ones, bounded.
// UNAVAILABLE       the pool has no node.
absl::StatusOr<RouteAnswer> Route(const RoutingTable& table, const RouteRequest& request);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROUTE_H_
