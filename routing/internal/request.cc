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

absl::Status InvalidKey(std::string_view key, std::string_view subject) {
  const absl::string_view which(subject.data(), subject.size());
  if (key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(which, " is empty; it must have 1 to ", kMaxKeyBytes, " bytes"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(which, " has ", key.size(), " bytes; it must have 1 to ", kMaxKeyBytes));
}

absl::StatusOr<std::size_t> FindPoolWithNodes(const RoutingTable& table, std::string_view name) {
  const DataCenter& data_center = table.data_center();
  const std::optional<std::size_t> pool = data_center.FindPool(name);
  if (!pool) return UnknownPool(data_center, name);
  if (data_center.pools()[*pool].nodes.count() == 0) {
    return absl::UnavailableError(absl::StrCat("data center ", data_center.name(), ": pool ",
                                               data_center.pools()[*pool].name, " has no node"));
  }
  return *pool;
}

absl::StatusOr<std::size_t> FindRequestedPool(const RoutingTable& table,
                                              const RouteRequest& request) {
  if (!IsValidKey(request.key)) return InvalidKey(request.key, "the key");
  if (request.replicas < 0 || request.replicas > kMaxReplicas) {
    return absl::InvalidArgumentError(
        absl::StrCat("replicas is ", request.replicas, "; it must be 0 to ", kMaxReplicas));
  }
  return FindPoolWithNodes(table, request.pool);
}

}  // namespace ringshift::internal
