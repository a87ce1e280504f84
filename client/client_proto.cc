#include "client/client_proto.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

// An error if it cannot be asked; `what` it is, for the message.
absl::StatusOr<RoutedNode> FromProto(v1::RoutedNode&& node, const std::string& what) {
  if (node.address().empty()) {
    return absl::InternalError(
        absl::StrCat("an answer with ", what, " \"", node.name(), "\", which has no address"));
  }
  return RoutedNode{std::move(*node.mutable_name()), std::move(*node.mutable_address())};
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
  absl::StatusOr<RoutedNode> node = FromProto(std::move(*response.mutable_owner()), "owner");
  if (!node.ok()) return node.status();
  reply.owner = *std::move(node);
  reply.replicas.reserve(static_cast<std::size_t>(response.replicas_size()));
  for (v1::RoutedNode& replica : *response.mutable_replicas()) {
    node = FromProto(std::move(replica), "replica");
    if (!node.ok()) return node.status();
    reply.replicas.push_back(*std::move(node));
  }
  if (response.has_previous_owner()) {
    node = FromProto(std::move(*response.mutable_previous_owner()), "previous owner");
    if (!node.ok()) return node.status();
    reply.previous_owner = *std::move(node);
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
  for (v1::RoutedNode& proto : *response.mutable_nodes()) {
    absl::StatusOr<RoutedNode> node = FromProto(std::move(proto), "node");
    if (!node.ok()) return node.status();
    reply.nodes.push_back(*std::move(node));
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
  const int places = response.previous_owner_places_size();
  if (places != 0 && places != keys) {
    return absl::InternalError(
        absl::StrCat(places, " places of previous owners for ", keys, " keys"));
  }
  reply.previous_owner_places.reserve(static_cast<std::size_t>(places));
  for (const std::int32_t place : response.previous_owner_places()) {
    if (place < 0 || place > response.nodes_size()) {
      return absl::InternalError(absl::StrCat("key ", reply.previous_owner_places.size(),
                                              " has the previous owner at place ", place, " of ",
                                              response.nodes_size()));
    }
    reply.previous_owner_places.push_back(static_cast<std::uint32_t>(place));
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
