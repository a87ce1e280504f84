// What answers the routing calls of one queue. It knows nothing of gRPC: the queue has the calls.
//
// Thread safety: one thread uses it, that of its queue.
#ifndef RINGSHIFT_SERVER_ROUTING_HANDLER_H_
#define RINGSHIFT_SERVER_ROUTING_HANDLER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "ringshift/v1/routing.pb.h"

namespace ringshift {

class RoutingHandler {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~RoutingHandler() = default;

  // `response` is empty, and is sent if the status is OK. `arrival` is when the queue got the call.
  virtual absl::Status Route(const v1::RouteRequest& request, Time arrival,
                             v1::RouteResponse& response) = 0;

  // A batch is answered in slices, so that calls beside it need not wait for all of it: it begins
  // with StartBatch, and ContinueBatch is called until it returns the batch's status. Between them
  // come calls of Route, but no other batch. Both messages are there until then; `response` is
  // empty at first, and is sent if the status is OK.
  virtual void StartBatch(const v1::RouteBatchRequest& request, Time arrival,
                          v1::RouteBatchResponse& response) = 0;
  // None if there is more to do.
  virtual std::optional<absl::Status> ContinueBatch() = 0;

  // A call that the queue refused without asking: there was too much to do, or its bytes are no
  // request. Or one whose answer the queue gave up, since its client did not take it.
  virtual void CountRefused(absl::StatusCode code) = 0;
};

// Makes the handler of one queue. Called before the queues' threads start.
using RoutingHandlerFactory = std::function<std::unique_ptr<RoutingHandler>()>;

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_HANDLER_H_
