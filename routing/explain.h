// Explain: why Route answers as it does, every step of it, from the same table.
//
// Thread safety: pure. Cost: a lookup and a walk of both rings; allocates.
#ifndef RINGSHIFT_ROUTING_EXPLAIN_H_
#define RINGSHIFT_ROUTING_EXPLAIN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/share.h"
#include "ring/node_set.h"
#include "ring/ring.h"
#include "routing/route.h"
#include "routing/routing_table.h"

namespace ringshift {

// Why a walk passes a node over.
enum class PassReason { kNotInPool };

struct PassedNode {
  NodeIndex node;
  PassReason reason;
};

// What one ring says about the key.
struct RingExplanation {
  // At most this many nodes are listed in `passed`.
  static constexpr std::size_t kMaxPassed = 1000;

  RingVersion version = RingVersion::kV1;
  std::size_t point_index = 0;  // of the first point at or after the key's position
  Ring::Point point{};
  bool wraps = false;            // no point from the position to 2^32: it is the ring's first
  bool is_tied = false;          // several nodes have a point on its hash
  std::vector<NodeIndex> nodes;  // the owner, then the replicas, as Route would answer
  // The nodes that the walk met and passed over before it had them, each once, in its order.
  std::vector<PassedNode> passed;
  std::size_t passed_count = 0;  // all of them
};

struct Explanation {
  RouteAnswer answer;  // Route's
  std::uint64_t decision_hash = 0;
  // None where the ring is not there.
  std::optional<RingExplanation> v1;
  std::optional<RingExplanation> v2;
  std::string previous_owner_reason;  // for people
};

// Errors: those of Route.
absl::StatusOr<Explanation> Explain(const RoutingTable& table, const RouteRequest& request);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_EXPLAIN_H_
