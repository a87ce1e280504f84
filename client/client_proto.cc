#include "client/client_proto.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

RoutedNode FromProto(v1::RoutedNode&& node) {
  return {std::move(*node.mutable_name()), std::move(*node.mutable_address())};
}

// As the user sees it; an error if a router never sends it.
absl::StatusOr<int> KnownRingVersion(int version) {
  if (version <= 0) return absl::InternalError(absl::StrCat("an answer of ring version ", version));
  return version <= v1::RING_VERSION_V2 ? version : 0;
}

TableIdentity FromProto(const v1::TableIdentity& table) {
  return {table.checksum(), table.migration_revision(), table.v2_ppm()};
}

}  // namespace

v1::RouteRequest ToProto(RouteQuery query) {
  v1::RouteRequest request;
  request.set_data_center(std::move(query.data_center));
  request.set_key(std::move(query.key));
  request.set_pool(std::move(query.pool));
  request.set_replicas(query.replicas);
  return request;
}

v1::RouteBatchRequest ToProto(BatchQuery query) {
  v1::RouteBatchRequest request;
  request.set_data_center(std::move(query.data_center));
  request.set_pool(std::move(query.pool));
  request.mutable_keys()->Reserve(static_cast<int>(query.keys.size()));
  for (std::string& key : query.keys) request.add_keys(std::move(key));
  return request;
}

absl::StatusOr<RouteReply> FromProto(v1::RouteResponse response) {
  if (!response.has_owner()) return absl::InternalError("an answer without an owner");
  const absl::StatusOr<int> ring_version = KnownRingVersion(response.ring_version());
  if (!ring_version.ok()) return ring_version.status();
  RouteReply reply;
  reply.owner = FromProto(std::move(*response.mutable_owner()));
  reply.replicas.reserve(static_cast<std::size_t>(response.replicas_size()));
  for (v1::RoutedNode& node : *response.mutable_replicas()) {
    reply.replicas.push_back(FromProto(std::move(node)));
  }
  reply.ring_version = *ring_version;
  reply.table = FromProto(response.table());
  reply.is_short = response.is_short();
  return reply;
}

absl::StatusOr<BatchReply> FromProto(v1::RouteBatchResponse response, int keys) {
  if (response.node_indexes_size() != keys || response.ring_versions_size() != keys) {
    return absl::InternalError(absl::StrCat(response.node_indexes_size(), " owners and ",
                                            response.ring_versions_size(), " ring versions for ",
                                            keys, " keys"));
  }
  BatchReply reply;
  reply.nodes.reserve(static_cast<std::size_t>(response.nodes_size()));
  for (v1::RoutedNode& node : *response.mutable_nodes()) {
    reply.nodes.push_back(FromProto(std::move(node)));
  }
  reply.owner_indexes.reserve(static_cast<std::size_t>(keys));
  for (const std::int32_t index : response.node_indexes()) {
    if (index < 0 || index >= response.nodes_size()) {
      return absl::InternalError(absl::StrCat("key ", reply.owner_indexes.size(),
                                              " is owned by node ", index, " of ",
                                              response.nodes_size()));
    }
    reply.owner_indexes.push_back(static_cast<std::uint32_t>(index));
  }
  reply.ring_versions.reserve(static_cast<std::size_t>(keys));
  for (const int version : response.ring_versions()) {
    const absl::StatusOr<int> ring_version = KnownRingVersion(version);
    if (!ring_version.ok()) {
      return absl::InternalError(absl::StrCat("key ", reply.ring_versions.size(), " has ",
                                              ring_version.status().message()));
    }
    reply.ring_versions.push_back(static_cast<std::uint8_t>(*ring_version));
  }
  reply.table = FromProto(response.table());
  return reply;
}

absl::Status ToStatus(const grpc::Status& status) {
  // gRPC's codes and Abseil's have the same numbers.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::string_view(status.error_message()));
}

}  // namespace ringshift
