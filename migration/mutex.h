// A standard mutex and condition variable that clang's thread-safety analysis can check
// (ABSL_GUARDED_BY) and that ThreadSanitizer understands, which a packaged absl::Mutex is not built
// for. And a time to wait is one: timeouts of absl::Mutex and absl::Notification are moments of the
// wall clock (Abseil 20220623), so one that is set back by an hour has them wait for an hour more.
#ifndef RINGSHIFT_MIGRATION_MUTEX_H_
#define RINGSHIFT_MIGRATION_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace ringshift {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;

  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Thread safety: thread-safe.
class CondVar {
 public:
  // Gives `mutex` back until NotifyAll, or for no reason: look at what is waited for again.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // As Wait, and false at `deadline`.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool is_before = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return is_before;
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_MUTEX_H_
