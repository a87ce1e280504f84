#include "routing/route.h"

#include "migration/decision.h"
#include "routing/internal/request.h"

namespace ringshift {

absl::StatusOr<RouteAnswer> Route(const RoutingTable& table, const RouteRequest& request) {
  const absl::StatusOr<std::size_t> pool = internal::FindRequestedPool(table, request);
  if (!pool.ok()) return pool.status();
  const DataCenter& data_center = table.data_center();
  const NodeMask& eligible = data_center.pools()[*pool].nodes;

  // Without a v1 the share is all, and every bucket is below it.
  const bool is_v2 = AnswersV2(table.decision().Bucket(request.key), table.share());
  const Ring& ring = (is_v2 ? data_center.v2() : *data_center.v1()).RingOf(*pool);

  RouteAnswer answer;
  answer.ring_version = is_v2 ? RingVersion::kV2 : RingVersion::kV1;
  answer.pool = *pool;
  const std::uint32_t position = Ring::Position(request.key);
  const std::size_t wanted = internal::WantedNodes(request);
  if (wanted == 1 && eligible.count() == eligible.size()) {
    answer.node_indexes[0] = ring.OwnerAt(position);
    answer.node_count = 1;
  } else {
    answer.node_count =
        ring.FindNodes(position, eligible, std::span(answer.node_indexes).first(wanted));
  }
  return answer;
}

}  // namespace ringshift
