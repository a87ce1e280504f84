// Lets one log line a second through, for what callers can have logged as often as they like.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_LOG_THROTTLE_H_
#define RINGSHIFT_SERVER_LOG_THROTTLE_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace ringshift {

class LogThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // None if the line of this moment is to be left out; else how many were since the last one.
  std::optional<std::uint64_t> Admit(Time now) {
    const absl::MutexLock lock(&mutex_);
    if (last_ && now - *last_ < std::chrono::seconds(1)) {
      ++left_out_;
      return std::nullopt;
    }
    last_ = now;
    const std::uint64_t left_out = left_out_;
    left_out_ = 0;
    return left_out;
  }

 private:
  absl::Mutex mutex_;
  std::optional<Time> last_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_LOG_THROTTLE_H_
