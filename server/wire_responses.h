// Writes the responses of routing calls without making messages of them: byte for byte what
// protobuf writes of the messages that routing_proto.h makes.
//
// Thread safety: thread-compatible. Cost: a copy of the bytes.
#ifndef RINGSHIFT_SERVER_WIRE_RESPONSES_H_
#define RINGSHIFT_SERVER_WIRE_RESPONSES_H_

#include <grpcpp/support/byte_buffer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ring/ring.h"
#include "routing/data_center.h"
#include "routing/route.h"
#include "routing/route_batch.h"
#include "routing/routing_table.h"

namespace ringshift {

class RouteResponseWriter {
 public:
  // Replaces `response` by a v1::RouteResponse. `replicas` is the number that was asked for.
  void Write(const RoutingTable& table, const RouteAnswer& answer, int replicas,
             grpc::ByteBuffer& response);

 private:
  std::string bytes_;  // used again
};

// Takes the parts of a v1::RouteBatchResponse as they become known.
class BatchResponseWriter {
 public:
  void AddNode(const DataCenter::Node& node);

  // The answer to the next key. REQUIRES: node_index < 65,536; there were fewer than kMaxBatchKeys
  void AddKey(std::uint32_t node_index, RingVersion version) {
    std::uint8_t* const at = indexes_.data() + index_bytes_;
    if (node_index < 0x80) [[likely]] {
      at[0] = static_cast<std::uint8_t>(node_index);
      index_bytes_ += 1;
    } else {
      index_bytes_ += PutLargeIndex(node_index, at);
    }
    versions_[keys_++] = static_cast<std::uint8_t>(version);
  }

  // Replaces `response` by the message, and forgets it.
  void Finish(const RoutingTable& table, grpc::ByteBuffer& response);
  // Forgets what was added.
  void Clear();

 private:
  static constexpr std::size_t kMaxIndexBytes = 3;

  static std::size_t PutLargeIndex(std::uint32_t node_index, std::uint8_t* at);

  std::string nodes_;
  std::array<std::uint8_t, kMaxBatchKeys * kMaxIndexBytes> indexes_;
  std::array<std::uint8_t, kMaxBatchKeys> versions_;
  std::size_t index_bytes_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WIRE_RESPONSES_H_
