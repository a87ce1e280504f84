// Messages of calls whose bytes a completion queue takes as they are.
//
// Thread safety: pure function.
#ifndef RINGSHIFT_SERVER_READ_MESSAGE_H_
#define RINGSHIFT_SERVER_READ_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "absl/status/status.h"

namespace ringshift {

// Reads `bytes` into `message`. INVALID_ARGUMENT if they are no such message.
template <typename Message>
absl::Status ReadMessage(const grpc::ByteBuffer& bytes, Message& message) {
  // It reads, and takes no const.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&bytes));
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return absl::InvalidArgumentError("the bytes of the request are no " +
                                    Message::descriptor()->name());
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_READ_MESSAGE_H_
