// Changes of migrations, made one after the other on a thread of the queue's own: a change waits
// for the disk, which gRPC's threads, shared by all servers of the process, must not do.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_CHANGE_QUEUE_H_
#define RINGSHIFT_SERVER_CHANGE_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "migration/store.h"
#include "server/migration_controller.h"

namespace ringshift {

class ChangeQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 64;

  using Result = absl::StatusOr<MigrationController::Changed>;
  struct Request {
    ShareChange change;
    // Whether anybody still waits for it. Must be quick; not called after `done`.
    std::function<bool()> is_wanted;
    // Called exactly once, by whichever thread ends the request.
    std::function<void(Result)> done;
  };

  // `controller` outlives this object.
  explicit ChangeQueue(MigrationController& controller);
  // Stops at once, but waits for the change that is being made.
  ~ChangeQueue();

  // The request ends with the result of MigrationController::SetShare, or, not made, with
  //
  // RESOURCE_EXHAUSTED  kMaxWaiting changes are waiting already.
  // CANCELLED           it was not wanted any more when its turn came.
  // UNAVAILABLE         the queue has stopped.
  void Add(Request request);

  // Takes no more requests and waits until there are none. At `deadline` those that are left end
  // with UNAVAILABLE; false if one of them is being made, which may still succeed.
  bool Stop(std::chrono::steady_clock::time_point deadline);

 private:
  void Run();

  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !waiting_.empty(); }
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !busy_ && waiting_.empty(); }

  MigrationController& controller_;
  absl::Mutex mutex_;
  std::deque<Request> waiting_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // a change is being made
  // Of that change; none if Stop has called it.
  std::function<void(Result)> done_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_CHANGE_QUEUE_H_
