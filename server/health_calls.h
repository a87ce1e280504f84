// grpc.health.v1.Health of one gRPC server: Check and Watch, on a completion queue of the server.
// Any other method that none of its services has is UNIMPLEMENTED.
//
// gRPC's own health service needs threads that wait for the network of the whole process, and each
// call would be handed from one of them to the one that answers it.
//
// Thread safety: SetServing and EndWatches are thread-safe. The rest is for the thread that takes
// the events of the queue.
#ifndef RINGSHIFT_SERVER_HEALTH_CALLS_H_
#define RINGSHIFT_SERVER_HEALTH_CALLS_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/completion.h"
#include "server/queue_bell.h"
#include "server/queue_calls.h"

namespace ringshift {

class HealthCalls final : public QueueCalls {
 public:
  // Knows these services, and "", which is the server as a whole. They are NOT_SERVING.
  explicit HealthCalls(std::set<std::string> services);

  // To be registered with the server, which is gone before this object.
  grpc::AsyncGenericService& service() { return service_; }

  void Start(grpc::ServerCompletionQueue& queue) override;

  // Of all known services. Every Watch hears of it.
  void SetServing(bool serving);

  // Ends every Watch, those that are still to come too, with UNAVAILABLE once it has the status of
  // this moment, so that a shutdown does not wait for clients that watch: they never end it
  // themselves. Calls of Check go on.
  void EndWatches();

  void Stop() override;

 private:
  class Call;

  enum class Status { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };  // as on the wire

  void UpdateWatches();
  bool WatchesEnd() const;
  void Expect();
  Status Of(const std::string& service) const;

  const std::set<std::string> services_;
  grpc::AsyncGenericService service_;
  grpc::ServerCompletionQueue* queue_ = nullptr;  // set by Start
  std::set<Call*> watches_;
  QueueBell bell_{[this] { UpdateWatches(); }};

  mutable absl::Mutex mutex_;
  bool is_serving_ ABSL_GUARDED_BY(mutex_) = false;
  bool watches_end_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_HEALTH_CALLS_H_
