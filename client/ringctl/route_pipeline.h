// Sends Route calls to a router, up to 64 at a time, and gives the answers in the order of the
// requests.
//
//   RoutePipeline pipeline(remote, [&](const RoutePipeline::Answer& answer) { ...; return true; });
//   while (have_keys && pipeline.Send(label, request)) {}
//   pipeline.Drain();
//
// Thread safety: thread-compatible; the answers come on the thread that calls Send and Drain.
#ifndef RINGSHIFT_CLIENT_RINGCTL_ROUTE_PIPELINE_H_
#define RINGSHIFT_CLIENT_RINGCTL_ROUTE_PIPELINE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/status.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/ringctl/remote.h"
#include "ringshift/v1/routing.grpc.pb.h"

namespace ringshift {

class RoutePipeline {
 public:
  struct Answer {
    std::string_view text;  // the key as it was given
    std::size_t number;     // of the request, from 1
    const v1::RouteRequest& request;
    const grpc::Status& status;
    const v1::RouteResponse& response;
  };
  // False: give up, there is nothing more to say.
  using OnAnswer = std::function<bool(const Answer&)>;

  // `remote` must outlive the pipeline.
  RoutePipeline(const Remote& remote, OnAnswer on_answer);
  // Cancels what is under way.
  ~RoutePipeline();
  RoutePipeline(const RoutePipeline&) = delete;
  RoutePipeline& operator=(const RoutePipeline&) = delete;

  // Starts a call with the deadline of `remote`, after waiting for the oldest one where 64 are
  // under way. False once on_answer has returned false; then nothing more is sent or answered.
  bool Send(std::string_view text, const v1::RouteRequest& request);

  // Waits for all answers. False as Send.
  bool Drain();

 private:
  static constexpr std::size_t kMaxOutstanding = 64;

  struct Call {
    std::string text;
    v1::RouteRequest request;
    v1::RouteResponse response;
    grpc::Status status;
    std::optional<grpc::ClientContext> context;  // of one call only
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RouteResponse>> reader;
    bool done = false;
  };

  // Waits for the oldest call and hands out its answer.
  void FinishOldest();
  // Waits until some call is done. REQUIRES: a call is under way
  void WaitForAny();

  Call& call(std::size_t number) { return calls_[number % kMaxOutstanding]; }

  const Remote& remote_;
  const OnAnswer on_answer_;
  const std::unique_ptr<v1::RoutingService::Stub> stub_;
  grpc::CompletionQueue queue_;
  std::array<Call, kMaxOutstanding> calls_;
  // The calls [first_, next_) are under way, or done and not handed out.
  std::size_t first_ = 0;
  std::size_t next_ = 0;
  bool gave_up_ = false;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_ROUTE_PIPELINE_H_
