// Has something done by the thread that takes the events of a completion queue.
//
// Thread safety: Ring is thread-safe; the rest is for that thread.
#ifndef RINGSHIFT_SERVER_QUEUE_BELL_H_
#define RINGSHIFT_SERVER_QUEUE_BELL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/completion.h"

namespace ringshift {

class QueueBell final : private Completion {
 public:
  explicit QueueBell(std::function<void()> answer) : answer_(std::move(answer)) {}

  // Between them the bell is heard. After Close nothing is begun in the queue.
  void Open(grpc::ServerCompletionQueue& queue);
  void Close();
  bool is_open() const;

  // `answer` is called after this, once for all who have rung by then, unless the bell is not open.
  void Ring();

 private:
  void OnEvent(bool ok) override;

  const std::function<void()> answer_;
  grpc::Alarm alarm_;
  mutable absl::Mutex mutex_;
  grpc::ServerCompletionQueue* queue_ ABSL_GUARDED_BY(mutex_) = nullptr;  // while it is open
  bool is_ringing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_QUEUE_BELL_H_
