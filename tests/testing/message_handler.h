// A RoutingHandler of messages, as any service on gRPC and protobuf has them: protobuf reads the
// requests and writes the responses, and the messages are used again.
//
// Thread safety: that of RoutingHandler.
#ifndef RINGSHIFT_TESTS_TESTING_MESSAGE_HANDLER_H_
#define RINGSHIFT_TESTS_TESTING_MESSAGE_HANDLER_H_

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <optional>

#include "absl/status/status.h"
#include "ringshift/v1/routing.pb.h"
#include "server/routing_handler.h"

namespace ringshift::testing {

class MessageHandler : public RoutingHandler {
 public:
  absl::Status Route(const grpc::ByteBuffer& request, Time, grpc::ByteBuffer& response) final {
    route_response_.Clear();
    if (!Parse(request, route_request_)) return NoRequest();
    const absl::Status status = AnswerRoute(route_request_, route_response_);
    if (status.ok()) Serialize(route_response_, response);
    return status;
  }
  void StartBatch(const grpc::ByteBuffer& request, Time) final {
    batch_response_.Clear();
    is_batch_read_ = Parse(request, batch_request_);
    if (is_batch_read_) BeginBatch(batch_request_);
  }
  std::optional<absl::Status> ContinueBatch(grpc::ByteBuffer& response) final {
    if (!is_batch_read_) return NoRequest();
    const std::optional<absl::Status> status = AnswerBatch(batch_request_, batch_response_);
    if (status && status->ok()) Serialize(batch_response_, response);
    return status;
  }
  void CountRefused(absl::StatusCode) override {}

 private:
  // `response` is empty, and is sent if the status is OK.
  virtual absl::Status AnswerRoute(const v1::RouteRequest& request,
                                   v1::RouteResponse& response) = 0;
  virtual void BeginBatch(const v1::RouteBatchRequest& /*request*/) {}
  // Called until it returns a status.
  virtual std::optional<absl::Status> AnswerBatch(const v1::RouteBatchRequest& request,
                                                  v1::RouteBatchResponse& response) = 0;

  static absl::Status NoRequest() { return absl::InvalidArgumentError("no request"); }

  template <typename Message>
  static bool Parse(const grpc::ByteBuffer& bytes, Message& message) {
    // It reads, and takes no const.
    grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&bytes));
    return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
  }
  template <typename Message>
  static void Serialize(const Message& message, grpc::ByteBuffer& bytes) {
    bool is_own = false;
    (void)grpc::SerializationTraits<Message>::Serialize(message, &bytes, &is_own);
  }

  v1::RouteRequest route_request_;
  v1::RouteResponse route_response_;
  v1::RouteBatchRequest batch_request_;
  v1::RouteBatchResponse batch_response_;
  bool is_batch_read_ = false;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_MESSAGE_HANDLER_H_
