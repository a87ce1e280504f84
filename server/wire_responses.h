// Writes the responses of routing calls without making messages of them: byte for byte what
// protobuf writes of the messages that routing_proto.h makes.
//
// Thread safety: thread-compatible. Cost: a copy of the bytes.
#ifndef RINGSHIFT_SERVER_WIRE_RESPONSES_H_
#define RINGSHIFT_SERVER_WIRE_RESPONSES_H_

#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

  // The answer to the next key. `previous_owner_place` is that of v1::RouteBatchResponse.
  // REQUIRES: node_index < 65,536, the place at most that; there were fewer than kMaxBatchKeys
  void AddKey(std::uint32_t node_index, RingVersion version, std::uint32_t previous_owner_place) {
    indexes_.Add(node_index);
    if (previous_owner_place != 0 || places_.bytes > 0) {
      if (places_.bytes == 0) places_.AddZeros(keys_);
      places_.Add(previous_owner_place);
    }
    versions_[keys_++] = static_cast<std::uint8_t>(version);
  }

  // Replaces `response` by the message, and forgets it.
  void Finish(const RoutingTable& table, grpc::ByteBuffer& response);
  // Forgets what was added.
  void Clear();

 private:
  static constexpr std::size_t kMaxNumberBytes = 3;

  // A number for each key, packed.
  struct Numbers {
    void Add(std::uint32_t number) {
      if (number < 0x80) [[likely]] {
        all[bytes++] = static_cast<std::uint8_t>(number);
      } else {
        AddLarge(number);
      }
    }
    void AddLarge(std::uint32_t number);
    void AddZeros(std::size_t count) {
      std::fill_n(all.begin(), count, std::uint8_t{0});
      bytes = count;
    }
    std::string_view view() const { return {reinterpret_cast<const char*>(all.data()), bytes}; }

    std::array<std::uint8_t, kMaxBatchKeys * kMaxNumberBytes> all;
    std::size_t bytes = 0;
  };

  std::string nodes_;
  Numbers indexes_;
  Numbers places_;  // of previous owners; none before the first key that has one
  std::array<std::uint8_t, kMaxBatchKeys> versions_;
  std::size_t keys_ = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WIRE_RESPONSES_H_
