#include "client/timer_queue.h"

#include <utility>

namespace ringshift {
namespace {

// What std::condition_variable_any unlocks and locks again.
struct HeldMutex {
  Mutex& mutex;
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Unlock(); }
};

}  // namespace

TimerQueue::TimerQueue() : thread_([this] { Run(); }) {}

TimerQueue::~TimerQueue() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

TimerQueue::Id TimerQueue::Add(Clock::time_point when, Task task) {
  Id id;
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    id = {when, next_number_++};
    tasks_.emplace(id, std::move(task));
    is_first = tasks_.begin()->first == id;
  }
  if (is_first) changed_.notify_one();
  return id;
}

bool TimerQueue::Cancel(Id id) {
  // Destroyed without the lock: what a task holds may be anything.
  std::map<Id, Task>::node_type dropped;
  MutexLock lock(mutex_);
  dropped = tasks_.extract(id);
  return !dropped.empty();
}

void TimerQueue::Run() {
  for (;;) {
    Task task;
    bool due = false;
    {
      MutexLock lock(mutex_);
      HeldMutex held{mutex_};
      for (;;) {
        if (tasks_.empty()) {
          if (stopping_) return;
          changed_.wait(held);
          continue;
        }
        const Clock::time_point when = tasks_.begin()->first.when;
        due = when <= Clock::now();
        if (due || stopping_) break;
        changed_.wait_until(held, when);
      }
      task = std::move(tasks_.extract(tasks_.begin()).mapped());
    }
    task(due);
  }
}

}  // namespace ringshift
