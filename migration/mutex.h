// Standard mutexes that clang's thread-safety analysis can check (ABSL_GUARDED_BY) and that
// ThreadSanitizer understands, which a packaged absl::Mutex is not built for.
#ifndef RINGSHIFT_MIGRATION_MUTEX_H_
#define RINGSHIFT_MIGRATION_MUTEX_H_

#include <mutex>
#include <shared_mutex>

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

class ABSL_LOCKABLE SharedMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION() { mutex_.lock_shared(); }
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~WriterLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class ABSL_SCOPED_LOCKABLE ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) ABSL_SHARED_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.ReaderLock();
  }
  ~ReaderLock() ABSL_UNLOCK_FUNCTION() { mutex_.ReaderUnlock(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_MUTEX_H_
