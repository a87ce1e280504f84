// Reads the requests of routing calls without making messages of them: names and keys stay where
// the network has left them.
//
// A reader takes what protobuf's parser takes, with the same content, and refuses the rest. It
// reads by itself what clients write, which is fields in their short forms and names in ASCII;
// where there is anything else, protobuf reads all but the keys, or refuses it. What takes it more
// than 64 KiB beside the keys, such as very many fields that are not known, is refused too: it
// would hold up other calls.
//
// Thread safety: thread-compatible. What a reader shows is valid until its next Read or Clear.
// Cost: a few nanoseconds a field, without allocation, and a copy where the bytes are not in one
// piece; for what protobuf reads a message, until Clear.
#ifndef RINGSHIFT_SERVER_WIRE_REQUESTS_H_
#define RINGSHIFT_SERVER_WIRE_REQUESTS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ringshift/v1/routing.pb.h"

namespace ringshift {

class RouteRequestReader {
 public:
  struct Fields {
    std::string_view data_center;
    std::string_view key;
    std::string_view pool;
    std::int32_t replicas = 0;
  };

  // False if the bytes are no v1::RouteRequest; then there is nothing to see.
  bool Read(const grpc::ByteBuffer& request);
  const Fields& fields() const { return fields_; }
  void Clear();

 private:
  grpc::Slice bytes_;
  std::optional<v1::RouteRequest> message_;  // what protobuf has read
  Fields fields_;
};

class BatchRequestReader {
 public:
  struct Fields {
    std::string_view data_center;
    std::string_view pool;
    std::size_t key_count = 0;
  };

  // False if the bytes are no v1::RouteBatchRequest; then there is nothing to see.
  bool Read(const grpc::ByteBuffer& request);
  const Fields& fields() const { return fields_; }
  // The first kMaxBatchKeys of them, if there are more.
  std::span<const std::string_view> keys() const { return keys_; }
  void Clear();

 private:
  bool Scan(std::string_view bytes);
  void AddKey(std::string_view key);

  grpc::Slice bytes_;
  std::optional<v1::RouteBatchRequest> message_;  // what protobuf has read
  Fields fields_;
  std::vector<std::string_view> keys_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WIRE_REQUESTS_H_
