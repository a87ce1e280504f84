#include "server/watch_messages.h"

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <vector>

#include "server/migration_proto.h"
#include "server/routing_proto.h"

namespace ringshift {
namespace {

// A slice of the state's own bytes, which it keeps for as long as gRPC has it.
grpc::Slice Share(const ChangeFeed::State& state) {
  // gRPC does not write to them.
  return grpc::Slice(
      const_cast<char*>(state->data()), state->size(),
      [](void* kept) { delete static_cast<ChangeFeed::State*>(kept); },
      new ChangeFeed::State(state));
}

// Protobuf takes messages one after the other for one that has the fields of all.
template <typename Response>
grpc::ByteBuffer Message(const ChangeFeed::News& news) {
  Response rest;
  rest.set_is_snapshot(news.is_snapshot);
  for (const std::string& name : news.removed) rest.add_removed(name);
  rest.set_cursor(news.cursor);
  std::vector<grpc::Slice> slices;
  for (const ChangeFeed::State& state : news.states) slices.push_back(Share(state));
  slices.emplace_back(rest.SerializeAsString());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace

void ToProto(const RoutingTable& table, v1::RoutingState& proto) {
  const DataCenter& data_center = table.data_center();
  proto.set_data_center(data_center.name());
  ToProto(table, *proto.mutable_table());
  proto.set_salt(table.migration().salt);
  proto.set_decision_algorithm(table.migration().decision_algorithm);
  const NodeMask* const settled = table.state().settled.get();
  for (NodeIndex i = 0; i < data_center.node_set().size(); ++i) {
    const RingNode& node = data_center.node_set()[i];
    v1::RoutingNode& node_proto = *proto.add_nodes();
    node_proto.set_name(data_center.node(i).name);
    node_proto.set_address(data_center.node(i).address);
    node_proto.set_ring_identity(node.identity.bytes());
    node_proto.set_weight(node.weight);
    node_proto.set_is_young(settled != nullptr && !settled->Contains(i));
  }
  for (std::size_t i = 0; i < data_center.pools().size(); ++i) {
    const DataCenter::Pool& pool = data_center.pools()[i];
    v1::RoutingPool& pool_proto = *proto.add_pools();
    pool_proto.set_name(pool.name);
    if (i == 0) continue;  // `default`
    for (NodeIndex node = 0; node < pool.nodes.size(); ++node) {
      if (pool.nodes.Contains(node)) pool_proto.add_nodes(static_cast<std::int32_t>(node));
    }
  }
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    const DataCenter::BuiltRing* const built = data_center.ring(version);
    if (built == nullptr) continue;
    v1::RoutingRing& ring_proto = *proto.add_rings();
    ring_proto.set_ring_version(ToProto(version));
    ring_proto.set_algorithm(std::string(RingAlgorithm(version)));
    ring_proto.set_points_per_weight(built->ring->parameters().points_per_weight);
    ring_proto.set_checksum(built->ring->checksum());
  }
  const Warmth& warmth = table.state().warmth;
  proto.set_v1_warm_from_ppm(warmth.v1_warm_from.ppm());
  proto.set_v2_warm_below_ppm(warmth.v2_warm_below.ppm());
  proto.set_first_v2_ppm(warmth.first_share.ppm());
  const Warmth& since_nodes = table.state().warmth_since_nodes;
  proto.set_v1_warm_from_ppm_since_nodes(since_nodes.v1_warm_from.ppm());
  proto.set_v2_warm_below_ppm_since_nodes(since_nodes.v2_warm_below.ppm());
  if (table.state().past_nodes == nullptr) return;
  for (const PastNode& node : table.state().past_nodes->nodes()) {
    v1::PastNode& node_proto = *proto.add_past_nodes();
    if (node.node) node_proto.set_node_place(static_cast<std::int32_t>(*node.node + 1));
    node_proto.set_ring_identity(node.identity.bytes());
    for (const PastWeights& weights : node.pools) {
      v1::PastWeights& weights_proto = *node_proto.add_pools();
      weights_proto.set_first(weights.first);
      weights_proto.set_least(weights.least);
      weights_proto.set_most(weights.most);
    }
  }
}

std::string RoutingStateMessage(const RoutingTable& table) {
  v1::WatchRoutingResponse response;
  ToProto(table, *response.add_data_centers());
  return response.SerializeAsString();
}

std::string MigrationMessage(const MigrationController::View& view) {
  v1::WatchMigrationsResponse response;
  ToProto(view, *response.add_migrations());
  return response.SerializeAsString();
}

grpc::ByteBuffer WatchRoutingMessage(const ChangeFeed::News& news) {
  return Message<v1::WatchRoutingResponse>(news);
}

grpc::ByteBuffer WatchMigrationsMessage(const ChangeFeed::News& news) {
  return Message<v1::WatchMigrationsResponse>(news);
}

}  // namespace ringshift
