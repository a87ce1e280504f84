#include "routing/route.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "routing/topology.h"

namespace ringshift {
namespace {

absl::Status UnknownPool(const DataCenter& data_center, std::string_view name) {
  std::vector<std::string> known;
  for (const DataCenter::Pool& pool : data_center.pools()) known.push_back(pool.name);
  return absl::NotFoundError(absl::StrCat("data center ", data_center.name(), ": ",
                                          UnknownNameMessage("pool", name, known)));
}

}  // namespace

absl::StatusOr<RouteAnswer> Route(const RoutingTable& table, const RouteRequest& request) {
  if (request.key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key is empty; it must have 1 to ", kMaxKeyBytes, " bytes"));
  }
  if (request.key.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the key has ", request.key.size(),
                                                   " bytes; it must have 1 to ", kMaxKeyBytes));
  }
  if (request.replicas < 0 || request.replicas > kMaxReplicas) {
    return absl::InvalidArgumentError(
        absl::StrCat("replicas is ", request.replicas, "; it must be 0 to ", kMaxReplicas));
  }
  const DataCenter& data_center = table.data_center();
  const std::optional<std::size_t> pool = data_center.FindPool(request.pool);
  if (!pool) return UnknownPool(data_center, request.pool);
  const NodeMask& eligible = data_center.pools()[*pool].nodes;
  if (eligible.count() == 0) {
    return absl::UnavailableError(absl::StrCat("data center ", data_center.name(), ": pool ",
                                               data_center.pools()[*pool].name, " has no node"));
  }

  // Without a v1 the share is all, and every bucket is below it.
  const bool is_v2 = AnswersV2(table.decision().Bucket(request.key), table.share());
  const Ring& ring = is_v2 ? *data_center.v2().ring : *data_center.v1()->ring;

  RouteAnswer answer;
  answer.ring_version = is_v2 ? RingVersion::kV2 : RingVersion::kV1;
  answer.pool = *pool;
  const std::uint32_t position = Ring::Position(request.key);
  const auto wanted = static_cast<std::size_t>(std::max(request.replicas, 1));
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
