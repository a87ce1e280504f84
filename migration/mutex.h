// A standard mutex that clang's thread-safety analysis can check (ABSL_GUARDED_BY) and that
// ThreadSanitizer understands, which a packaged absl::Mutex is not built for.
#ifndef RINGSHIFT_MIGRATION_MUTEX_H_
#define RINGSHIFT_MIGRATION_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace ringshift {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
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

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_MUTEX_H_
