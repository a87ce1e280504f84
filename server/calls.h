// How the calls of the admin services end: at once, or when their turn in a WorkQueue was.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_CALLS_H_
#define RINGSHIFT_SERVER_CALLS_H_

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/status.h"
#include "server/work_queue.h"

namespace ringshift {

inline grpc::ServerUnaryReactor* FinishCall(grpc::CallbackServerContext* context,
                                            const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Ends the call with what `work` returns, an absl::StatusOr<T>; where that is OK `respond`, which
// takes a `const T&`, fills the response in before. `work` is done on the queue's thread, unless
// the call is over by then, and must not touch the call. `respond` may: its response is there until
// the call ends.
template <typename Work, typename Respond>
grpc::ServerUnaryReactor* QueueCall(WorkQueue& queue, grpc::CallbackServerContext* context,
                                    Work work, Respond respond) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  queue.Add(
      {[context] {
         return !context->IsCancelled() && std::chrono::system_clock::now() < context->deadline();
       },
       [reactor, work = std::move(work),
        respond = std::move(respond)]() mutable -> WorkQueue::Deliver {
         using Result = std::invoke_result_t<Work&>;
         auto result = std::make_shared<const Result>(work());
         return [reactor, result = std::move(result), respond = std::move(respond)]() mutable {
           if (result->ok()) respond(**result);
           reactor->Finish(ToGrpcStatus(result->status()));
         };
       },
       [reactor](const absl::Status& status) { reactor->Finish(ToGrpcStatus(status)); }});
  return reactor;
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_CALLS_H_
