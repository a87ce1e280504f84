// Messages as gRPC has them on the way, and back.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_TESTS_TESTING_BYTE_BUFFERS_H_
#define RINGSHIFT_TESTS_TESTING_BYTE_BUFFERS_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <string>
#include <vector>

namespace ringshift::testing {

inline grpc::ByteBuffer ToByteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

inline grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  return ToByteBuffer(message.SerializeAsString());
}

inline std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// False if the bytes are no message of that type.
inline bool Parse(grpc::ByteBuffer buffer, google::protobuf::MessageLite& message) {
  grpc::ProtoBufferReader reader(&buffer);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_BYTE_BUFFERS_H_
