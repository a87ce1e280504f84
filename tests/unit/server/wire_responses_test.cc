// The bytes of responses against those that protobuf writes.
#include "server/wire_responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "migration/decision.h"
#include "migration/share.h"
#include "server/routing_proto.h"
#include "tests/testing/byte_buffers.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ToString;

// With `nodes` nodes, of names of 3 to some 300 bytes.
std::shared_ptr<const RoutingTable> MakeTable(std::size_t nodes, std::int64_t revision,
                                              std::int64_t ppm) {
  DataCenterSpec spec = testing::SmallDataCenter("ams");
  spec.nodes.clear();
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i) + std::string(i % 7 == 6 ? 250 : i % 7 * 20, 'x');
    node.address = "10." + std::to_string(i / 65'536) + "." + std::to_string(i / 256 % 256) + "." +
                   std::to_string(i % 256) + ":443";
    node.weight = 1;
    node.features = {"special"};
    spec.nodes.push_back(node);
  }
  spec.v1->points_per_weight = 1;
  Migration migration;
  migration.data_center = spec.name;
  migration.share = Share::FromPpm(ppm).value();
  migration.salt = spec.name;
  migration.decision_algorithm = std::string(kDecisionAlgorithm);
  migration.revision = revision;
  return RoutingTable::Create(testing::Built(spec), migration).value();
}

constexpr std::int64_t kRevisions[] = {0, 1, 127, 128, std::numeric_limits<std::int64_t>::max(),
                                       -1};

TEST(WireResponsesTest, ARouteIsByteForByteWhatProtobufWrites) {
  RouteResponseWriter writer;
  for (const std::int64_t revision : kRevisions) {
    for (const std::int64_t ppm : {0, 1, 500'000, 1'000'000}) {
      const auto table = MakeTable(20, revision, ppm);
      for (int i = 0; i < 50; ++i) {
        const int replicas = i % (kMaxReplicas + 1);
        const std::string key = "key " + std::to_string(i);
        RouteAnswer answer = Route(*table, {key, "", replicas}).value();
        if (i % 3 == 1) answer.previous_owner = static_cast<NodeIndex>(i % 20);
        // Also where the pool has too few.
        for (const int wanted : {replicas, replicas + 1}) {
          v1::RouteResponse message;
          ToProto(*table, answer, wanted, message);
          grpc::ByteBuffer bytes;
          writer.Write(*table, answer, wanted, bytes);
          ASSERT_EQ(ToString(bytes), message.SerializeAsString()) << message.ShortDebugString();
        }
      }
    }
  }
}

TEST(WireResponsesTest, ABatchIsByteForByteWhatProtobufWrites) {
  const auto writer = std::make_unique<BatchResponseWriter>();
  constexpr std::size_t kNodes[] = {1, 5, 128, 129, 9'000};  // indexes of one and two bytes
  for (const std::size_t nodes : kNodes) {
    for (const std::int64_t revision : kRevisions) {
      const auto table = MakeTable(nodes, revision, 500'000);
      v1::RouteBatchResponse message;
      for (NodeIndex node = 0; node < nodes; ++node) {
        writer->AddNode(table->data_center().node(node));
        ToProto(table->data_center().node(node), *message.add_nodes());
      }
      for (std::size_t key = 0; key < kMaxBatchKeys; ++key) {
        const auto node = static_cast<std::uint32_t>(key % nodes * 7 % nodes);
        const RingVersion version = key % 3 == 0 ? RingVersion::kV2 : RingVersion::kV1;
        // None in the first revision's batch, and in the others none of the first keys.
        const std::uint32_t place = revision == 0 || key < 100 || key % 5 == 0
                                        ? 0
                                        : static_cast<std::uint32_t>(key % nodes + 1);
        writer->AddKey(node, version, place);
        message.add_node_indexes(static_cast<std::int32_t>(node));
        message.add_ring_versions(ToProto(version));
        message.add_previous_owner_places(static_cast<std::int32_t>(place));
      }
      if (revision == 0) message.clear_previous_owner_places();
      ToProto(*table, *message.mutable_table());
      grpc::ByteBuffer bytes;
      writer->Finish(*table, bytes);
      ASSERT_EQ(ToString(bytes), message.SerializeAsString()) << nodes;
    }
  }
}

TEST(WireResponsesTest, ANodeOfAnyNameIsByteForByteWhatProtobufWrites) {
  const auto writer = std::make_unique<BatchResponseWriter>();
  const auto table = MakeTable(1, 1, 0);
  v1::RouteBatchResponse message;
  constexpr std::size_t kSizes[] = {0, 1, 62, 63, 64, 127, 128, 20'000};
  for (const std::size_t size : kSizes) {
    for (const DataCenter::Node& node : {DataCenter::Node{std::string(size, 'n'), "a"},
                                         DataCenter::Node{"", std::string(size, 'a')}}) {
      writer->AddNode(node);
      ToProto(node, *message.add_nodes());
    }
  }
  ToProto(*table, *message.mutable_table());
  grpc::ByteBuffer bytes;
  writer->Finish(*table, bytes);
  EXPECT_EQ(ToString(bytes), message.SerializeAsString());
}

TEST(WireResponsesTest, TheLargestIndexHasItsBytes) {
  const auto writer = std::make_unique<BatchResponseWriter>();
  const auto table = MakeTable(1, 1, 0);
  v1::RouteBatchResponse message;
  for (std::size_t key = 0; key < kMaxBatchKeys; ++key) {
    writer->AddKey(65'535, RingVersion::kV1, 65'536);
    message.add_node_indexes(65'535);
    message.add_previous_owner_places(65'536);
    message.add_ring_versions(v1::RING_VERSION_V1);
  }
  ToProto(*table, *message.mutable_table());
  grpc::ByteBuffer bytes;
  writer->Finish(*table, bytes);
  EXPECT_EQ(ToString(bytes), message.SerializeAsString());
}

TEST(WireResponsesTest, WhatIsClearedOrFinishedIsNotInTheNextBatch) {
  const auto writer = std::make_unique<BatchResponseWriter>();
  const auto table = MakeTable(2'000, 1, 0);
  for (const bool is_finished : {false, true}) {
    for (NodeIndex node = 0; node < 2'000; ++node) {
      writer->AddNode(table->data_center().node(node));
      writer->AddKey(node, RingVersion::kV1, node);
    }
    grpc::ByteBuffer bytes;
    if (is_finished) {
      writer->Finish(*table, bytes);
    } else {
      writer->Clear();
    }
    v1::RouteBatchResponse empty;
    ToProto(*table, *empty.mutable_table());
    writer->Finish(*table, bytes);
    EXPECT_EQ(ToString(bytes), empty.SerializeAsString());
  }
}

}  // namespace
}  // namespace ringshift
