// What answers the routing calls of one queue. The queue has the calls; what their bytes mean is
// the handler's.
//
// Thread safety: one thread uses it, that of its queue.
#ifndef RINGSHIFT_SERVER_ROUTING_HANDLER_H_
#define RINGSHIFT_SERVER_ROUTING_HANDLER_H_

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"

namespace ringshift {

class RoutingHandler {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~RoutingHandler() = default;

  // Answers a v1::RouteRequest with a v1::RouteResponse. `arrival` is when the queue got the call.
  // `response` is empty, and is sent if the status is OK. Bytes that are no request are
  // INVALID_ARGUMENT.
  virtual absl::Status Route(const grpc::ByteBuffer& request, Time arrival,
                             grpc::ByteBuffer& response) = 0;

  // Answers a v1::RouteBatchRequest with a v1::RouteBatchResponse, in slices, so that calls beside
  // it need not wait for all of it: it begins with StartBatch, and ContinueBatch is called until it
  // returns the batch's status. Between them come calls of Route, but no other batch. `request` is
  // there until the last of them, or until there are no calls any more.
  virtual void StartBatch(const grpc::ByteBuffer& request, Time arrival) = 0;
  // None if there is more to do. As in Route, `response` is empty, and is sent if the status is OK.
  virtual std::optional<absl::Status> ContinueBatch(grpc::ByteBuffer& response) = 0;

  // A call that the queue refused without asking, since there was too much to do. Or one whose
  // answer the queue gave up, since its client did not take it.
  virtual void CountRefused(absl::StatusCode code) = 0;
};

// Makes the handler of one queue. Called before the queues' threads start.
using RoutingHandlerFactory = std::function<std::unique_ptr<RoutingHandler>()>;

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_HANDLER_H_
