// Calls that a completion queue serves beside its own: those of a service, or of one method.
//
// Thread safety: used by the thread that takes the events of the queue.
#ifndef RINGSHIFT_SERVER_QUEUE_CALLS_H_
#define RINGSHIFT_SERVER_QUEUE_CALLS_H_

#include <grpcpp/completion_queue.h>

namespace ringshift {

class QueueCalls {
 public:
  // Begins to take calls. All events of `queue` are Completions.
  virtual void Start(grpc::ServerCompletionQueue& queue) = 0;

  // Nothing is begun in the queue any more; what was begun ends with an event. REQUIRES: the server
  // was shut down.
  virtual void Stop() = 0;

 protected:
  ~QueueCalls() = default;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_QUEUE_CALLS_H_
