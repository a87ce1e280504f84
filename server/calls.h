// How the calls of the admin services end where their work has a queue.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_CALLS_H_
#define RINGSHIFT_SERVER_CALLS_H_

#include <grpcpp/server_context.h>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "server/status.h"
#include "server/work_queue.h"

namespace ringshift {

// Waits for the turn of `work`, and returns what it returns, an absl::StatusOr<T>; where that is OK
// `respond`, which takes a `const T&`, fills the response in before. `work` is done on the queue's
// thread, unless the call is over by then, and must not touch the call: it may go on when the queue
// has stopped and the call has ended. `respond` may.
template <typename Work, typename Respond>
grpc::Status QueueCall(WorkQueue& queue, grpc::ServerContext* context, Work work, Respond respond) {
  struct Ending {
    explicit Ending(Respond r) : respond(std::move(r)) {}
    Respond respond;
    absl::Status status;
    absl::Notification is_there;
  };
  // The queue may hold it for longer than the call is there.
  const auto ending = std::make_shared<Ending>(std::move(respond));
  queue.Add({[context] {
               return !context->IsCancelled() &&
                      std::chrono::system_clock::now() < context->deadline();
             },
             [ending, work = std::move(work)]() mutable -> WorkQueue::Deliver {
               using Result = std::invoke_result_t<Work&>;
               auto result = std::make_shared<const Result>(work());
               return [ending, result = std::move(result)] {
                 ending->status = result->status();
                 if (result->ok()) ending->respond(**result);
                 ending->is_there.Notify();
               };
             },
             [ending](const absl::Status& refusal) {
               ending->status = refusal;
               ending->is_there.Notify();
             }});
  ending->is_there.WaitForNotification();
  return ToGrpcStatus(ending->status);
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_CALLS_H_
