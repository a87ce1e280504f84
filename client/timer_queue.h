// A thread that does things at their time.
//
//   TimerQueue timers;
//   timers.Add(Clock::now() + 5ms, [](bool due) { if (due) ...; });
//
// Thread safety: thread-safe. Tasks run one at a time, without a lock held, and may add tasks.
#ifndef RINGSHIFT_CLIENT_TIMER_QUEUE_H_
#define RINGSHIFT_CLIENT_TIMER_QUEUE_H_

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "migration/mutex.h"

namespace ringshift {

class TimerQueue {
 public:
  using Clock = std::chrono::steady_clock;
  // `due` is false if the queue is being destroyed before the time has come.
  using Task = std::function<void(bool due)>;
  // Orders tasks by their time, then as they were added.
  struct Id {
    Clock::time_point when;
    std::uint64_t number = 0;
    auto operator<=>(const Id&) const = default;
  };

  TimerQueue();
  // Runs every task that is left, on the queue's thread. REQUIRES: no task is added any more, not
  // by a task either.
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  // Runs `task` at `when`, or soon if that is past.
  Id Add(Clock::time_point when, Task task);

  // Drops a task. False if it has begun to run.
  bool Cancel(Id id);

 private:
  void Run();

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Id, Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_TIMER_QUEUE_H_
