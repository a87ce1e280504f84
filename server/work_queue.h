// Work that waits for the disk or takes long, done in order on a thread of the queue's own, and not
// all at once on the threads of the calls that ask for it.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_WORK_QUEUE_H_
#define RINGSHIFT_SERVER_WORK_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "migration/mutex.h"

namespace ringshift {

class WorkQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 64;

  // Tells whoever waits what came of the work.
  using Deliver = std::function<void()>;

  struct Request {
    // Whether anybody still waits for it. Must be quick; not called after the request has ended.
    std::function<bool()> is_wanted;
    // Does the work. It must not touch what belongs to whoever waits: they may be gone when it
    // ends.
    std::function<Deliver()> work;
    // Tells whoever waits that there is no result.
    std::function<void(const absl::Status&)> refuse;
  };

  // Its thread gives way to those that answer calls: it has a low priority (TakeLowPriority), and
  // the beginnings of what it does are `pace` apart, until it stops, since even such a thread ends
  // its turn on a core first.
  explicit WorkQueue(std::chrono::milliseconds pace = std::chrono::milliseconds(0));
  // Stops at once, but waits for the work that is being done.
  ~WorkQueue();

  // The request ends, exactly once and on whichever thread that is, with what `work` delivers or
  // with `refuse`, then not done:
  //
  // RESOURCE_EXHAUSTED  kMaxWaiting requests are waiting already.
  // CANCELLED           it was not wanted any more when its turn came.
  // UNAVAILABLE         the queue has stopped.
  void Add(Request request);

  // Takes no more requests and waits until there are none. At `deadline` those that are left are
  // refused with UNAVAILABLE; false if one of them is being done, which may still succeed.
  bool Stop(std::chrono::steady_clock::time_point deadline);

 private:
  void Run();
  bool IsStopping();

  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !busy_ && waiting_.empty(); }

  const std::chrono::milliseconds pace_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Request> waiting_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // work is being done
  // Of that work; none if Stop has called it.
  std::function<void(const absl::Status&)> refuse_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WORK_QUEUE_H_
