// Watches the health of RoutingService on one router, over the channel that the calls take, and
// keeps that connected.
//
// Thread safety: thread-safe. Reports come from threads of gRPC, one at a time.
#ifndef RINGSHIFT_CLIENT_HEALTH_WATCH_H_
#define RINGSHIFT_CLIENT_HEALTH_WATCH_H_

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/router_picker.h"
#include "client/timer_queue.h"
#include "client/watch_backoff.h"

namespace ringshift {

class HealthWatch {
 public:
  // `reason` says why for kNotServing and kDown.
  using Report = std::function<void(RouterState state, const std::string& reason)>;

  // Starts at once; until the first report the router is kConnecting. `timers` outlives the call of
  // Stop.
  HealthWatch(std::shared_ptr<grpc::Channel> channel, TimerQueue& timers, Report report);
  // Waits until the last report is over. REQUIRES: Stop was called, and `timers` is destroyed.
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  // Begins to end it.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Stream;

  // Null when it is stopping. `is_patient`: waits until the router can be reached. To be started
  // without the lock.
  Stream* NewStream(bool is_patient) ABSL_LOCKS_EXCLUDED(mutex_);
  // `answered`: when it got its first answer.
  void OnStreamDone(const grpc::Status& status,
                    std::optional<TimerQueue::Clock::time_point> answered)
      ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::GenericStub stub_;
  TimerQueue& timers_;
  const Report report_;

  absl::Mutex mutex_;
  // Null while the next one is waited for. Shared with nobody but Stop, so that it is destroyed by
  // OnStreamDone or in the thread that stops the watch.
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mutex_);
  bool has_stream_ ABSL_GUARDED_BY(mutex_) = false;  // until OnStreamDone is over
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  WatchBackoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_){std::random_device{}()};
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_HEALTH_WATCH_H_
