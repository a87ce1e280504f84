// One call of a user's, from its query to its callback; it may take several attempts.
//
// Thread safety: the constant parts are immutable; the rest belongs to whoever holds the call: the
// attempt under way, else the timer or the list in which it waits.
#ifndef RINGSHIFT_CLIENT_OUTGOING_CALL_H_
#define RINGSHIFT_CLIENT_OUTGOING_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/client_proto.h"
#include "client/timer_queue.h"
#include "ringshift/client.h"
#include "ringshift/v1/routing.pb.h"

namespace ringshift {

class OutgoingCall {
 public:
  using Clock = TimerQueue::Clock;

  OutgoingCall(Clock::time_point now, Clock::time_point end) : start(now), deadline(end) {}
  virtual ~OutgoingCall() = default;

  // Sends it. The call and `attempt` outlive the attempt; the channel may go once this returns.
  virtual void Send(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& attempt,
                    std::function<void(grpc::Status)> done) = 0;
  // INTERNAL if the answer to an attempt that was OK is bad.
  virtual absl::Status TakeAnswer() = 0;
  // Tells the user what TakeAnswer took, or `status`, an error.
  virtual void Finish(const absl::Status& status) = 0;

  const Clock::time_point start;
  const Clock::time_point deadline;
  std::vector<std::size_t> tried;  // routers, one an attempt
  // Of the attempt under way. Guarded by the client's mutex.
  std::shared_ptr<grpc::ClientContext> context;
  Clock::time_point sent;
  // The end of waiting for a connection, while the call does.
  TimerQueue::Id timer;
};

// Of Route and of RouteBatch.
template <typename Query, typename Reply, typename Request, typename Response>
class TypedCall final : public OutgoingCall {
 public:
  using Callback = std::function<void(absl::StatusOr<Reply>)>;

  TypedCall(Clock::time_point now, Clock::time_point end, Query query, Callback done)
      : OutgoingCall(now, end), request_(ToProto(std::move(query))), done_(std::move(done)) {}

  void Send(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& attempt,
            std::function<void(grpc::Status)> done) override {
    constexpr bool kIsRoute = std::is_same_v<Request, v1::RouteRequest>;
    response_.Clear();
    // Bytes, since a stub gives an empty message for bytes that are none.
    grpc::TemplatedGenericStub<Request, grpc::ByteBuffer>(channel).UnaryCall(
        &attempt,
        kIsRoute ? "/ringshift.v1.RoutingService/Route" : "/ringshift.v1.RoutingService/RouteBatch",
        grpc::StubOptions(), &request_, &response_, std::move(done));
  }

  absl::Status TakeAnswer() override {
    Response response;
    if (!grpc::SerializationTraits<Response>::Deserialize(&response_, &response).ok()) {
      reply_ = absl::InternalError(
          absl::StrCat("the bytes of the answer are no ", Response::descriptor()->full_name()));
    } else if constexpr (std::is_same_v<Request, v1::RouteRequest>) {
      reply_ = FromProto(std::move(response));
    } else {
      reply_ = FromProto(std::move(response), request_.keys_size());
    }
    return reply_.status();
  }

  void Finish(const absl::Status& status) override {
    // What the callback holds is gone when the call is.
    const Callback done = std::move(done_);
    done_ = nullptr;
    if (status.ok()) {
      done(std::move(reply_));
    } else {
      done(status);
    }
  }

 private:
  const Request request_;
  grpc::ByteBuffer response_;
  absl::StatusOr<Reply> reply_;
  Callback done_;
};

using RouteCall = TypedCall<RouteQuery, RouteReply, v1::RouteRequest, v1::RouteResponse>;
using BatchCall = TypedCall<BatchQuery, BatchReply, v1::RouteBatchRequest, v1::RouteBatchResponse>;

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_OUTGOING_CALL_H_
