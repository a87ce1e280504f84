#include "routing/route.h"

#include "migration/decision.h"
#include "routing/internal/request.h"
#include "routing/previous_owner.h"

namespace ringshift {

absl::StatusOr<RouteAnswer> Route(const RoutingTable& table, const RouteRequest& request) {
  const absl::StatusOr<std::size_t> pool = internal::FindRequestedPool(table, request);
  if (!pool.ok()) return pool.status();
  const DataCenter& data_center = table.data_center();
  const NodeMask& eligible = data_center.pools()[*pool].nodes;

  RouteAnswer answer;
  answer.pool = *pool;
  answer.position = Ring::Position(request.key);
  answer.bucket = table.decision().Bucket(request.key);
  // A ring that is not there answers no bucket of the share.
  answer.ring_version =
      AnswersV2(answer.bucket, table.share()) ? RingVersion::kV2 : RingVersion::kV1;
  const Ring& ring = data_center.ring(answer.ring_version)->RingOf(*pool);
  const std::size_t wanted = internal::WantedNodes(request);
  if (wanted == 1 && eligible.count() == eligible.size()) {
    answer.node_indexes[0] = ring.OwnerAt(answer.position);
    answer.node_count = 1;
  } else {
    answer.node_count =
        ring.FindNodes(answer.position, eligible, std::span(answer.node_indexes).first(wanted));
  }
  if (table.has_previous_owners()) {
    answer.previous_owner = FindPreviousOwner(table, *pool, answer.position, answer.bucket,
                                              answer.ring_version, answer.nodes());
  }
  return answer;
}

}  // namespace ringshift
