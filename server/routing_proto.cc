#include "server/routing_proto.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace ringshift {

absl::Status CheckCall(const Lifecycle& lifecycle, std::string_view data_center) {
  if (absl::Status answering = lifecycle.CheckAnswering(); !answering.ok()) return answering;
  if (data_center.empty()) {
    return absl::InvalidArgumentError("data_center is empty: name the data center");
  }
  return absl::OkStatus();
}

v1::RingVersion ToProto(RingVersion version) {
  switch (version) {
    case RingVersion::kV1:
      return v1::RING_VERSION_V1;
    case RingVersion::kV2:
      return v1::RING_VERSION_V2;
  }
  return v1::RING_VERSION_UNSPECIFIED;
}

void ToProto(const DataCenter::Node& node, v1::RoutedNode& proto) {
  proto.set_name(node.name);
  proto.set_address(node.address);
}

void ToProto(const RoutingTable& table, v1::TableIdentity& proto) {
  proto.set_checksum(table.checksum());
  proto.set_migration_revision(table.migration().revision);
  proto.set_v2_ppm(table.share().ppm());
}

bool IsShort(const RouteAnswer& answer, int replicas) {
  return answer.node_count < static_cast<std::size_t>(std::max(replicas, 1));
}

void ToProto(const RoutingTable& table, const RouteAnswer& answer, int replicas,
             v1::RouteResponse& proto) {
  const DataCenter& data_center = table.data_center();
  const std::span<const NodeIndex> nodes = answer.nodes();
  ToProto(data_center.node(nodes.front()), *proto.mutable_owner());
  for (const NodeIndex node : nodes.subspan(1)) {
    ToProto(data_center.node(node), *proto.add_replicas());
  }
  proto.set_ring_version(ToProto(answer.ring_version));
  ToProto(table, *proto.mutable_table());
  proto.set_is_short(IsShort(answer, replicas));
  if (answer.previous_owner) {
    ToProto(data_center.node(*answer.previous_owner), *proto.mutable_previous_owner());
  }
}

}  // namespace ringshift
