// The Client that asks routers.
//
// Thread safety: that of Client. A call takes the mutex for a moment when it starts and when it
// ends.
#ifndef RINGSHIFT_CLIENT_GRPC_CLIENT_H_
#define RINGSHIFT_CLIENT_GRPC_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/health_watch.h"
#include "client/outgoing_call.h"
#include "client/retry_budget.h"
#include "client/router_picker.h"
#include "client/timer_queue.h"
#include "ringshift/client.h"

namespace ringshift {

// Of a connection: a ping `interval` after the last one was answered; if one is not within
// `timeout` the connection is given up. Routers send away who pings more often than every 10 s.
struct Keepalive {
  std::chrono::milliseconds interval = std::chrono::seconds(11);
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
};

class GrpcClient final : public Client {
 public:
  // REQUIRES: checked options
  explicit GrpcClient(const ClientOptions& options, const Keepalive& keepalive = {});
  ~GrpcClient() override;

  void RouteAsync(RouteQuery query, RouteCallback done) override;
  void RouteBatchAsync(BatchQuery query, BatchCallback done) override;

 private:
  using Clock = OutgoingCall::Clock;
  using CallPtr = std::shared_ptr<OutgoingCall>;

  struct Router {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<HealthWatch> watch;
  };

  void Start(CallPtr call) ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins an attempt, or waits until there is a router to ask.
  void Send(CallPtr call) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAttemptDone(const CallPtr& call, absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it was arranged for `call` to be sent again.
  bool Retry(const CallPtr& call, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWaitedInVain(const CallPtr& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnState(std::size_t router, RouterState state, const std::string& reason)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The end of a call.
  void Finish(const CallPtr& call, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Why no router serves.
  std::string Reasons() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::microseconds timeout_;
  std::vector<Router> routers_;         // constant once constructed
  std::unique_ptr<TimerQueue> timers_;  // unused once closing_

  mutable absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  RouterPicker picker_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> reasons_ ABSL_GUARDED_BY(mutex_);  // by router, why it does not serve
  RetryBudget budget_ ABSL_GUARDED_BY(mutex_);
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<OutgoingCall*> calls_ ABSL_GUARDED_BY(mutex_);  // all that have not ended
  absl::flat_hash_map<OutgoingCall*, CallPtr> waiting_ ABSL_GUARDED_BY(mutex_);  // for a router
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_GRPC_CLIENT_H_
