#include "routing/internal/request.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "routing/topology.h"

namespace ringshift::internal {
namespace {

absl::Status UnknownPool(const DataCenter& data_center, std::string_view name) {
  std::vector<std::string> known;
  for (const DataCenter::Pool& pool : data_center.pools()) known.push_back(pool.name);
  return absl::NotFoundError(absl::StrCat("data center ", data_center.name(), ": ",
                                          UnknownNameMessage("pool", name, known)));
}

}  // namespace

absl::StatusOr<std::size_t> FindRequestedPool(const RoutingTable& table,
                                              const RouteRequest& request) {
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
  if (data_center.pools()[*pool].nodes.count() == 0) {
    return absl::UnavailableError(absl::StrCat("data center ", data_center.name(), ": pool ",
                                               data_center.pools()[*pool].name, " has no node"));
  }
  return *pool;
}

}  // namespace ringshift::internal
