// How many calls may be in flight in the whole process, kept by the threads that serve them without
// a cache line that they all write at each call: each has a Share, which takes and gives back
// permits several at a time.
//
// Thread safety: CallLimit is thread-safe; a Share is its thread's own.
#ifndef RINGSHIFT_SERVER_CALL_LIMIT_H_
#define RINGSHIFT_SERVER_CALL_LIMIT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace ringshift {

// Enough that only an overload gets there, and few enough that the last of them is answered within
// some 0.1 s on two cores.
inline constexpr std::size_t kDefaultMaxConcurrentCalls = 4096;

class CallLimit {
 public:
  // `shares` is how many there will be. A Share may keep some permits that it does not use, so that
  // the last calls below the limit are not everybody's: a quarter of the limit at most.
  CallLimit(std::size_t max_calls, std::size_t shares)
      : portion_(std::clamp<std::size_t>(max_calls / (8 * std::max<std::size_t>(shares, 1)), 1,
                                         kMaxPortion)),
        free_(max_calls) {}

  class Share {
   public:
    // The limit outlives it.
    explicit Share(CallLimit& limit) : limit_(limit) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // False if there are as many calls in flight as there may be.
    bool TryAcquire() {
      if (spare_ == 0) spare_ = limit_.Take();
      if (spare_ == 0) return false;
      --spare_;
      return true;
    }

    // REQUIRES: it was acquired.
    void Release() {
      // Where permits are few, one that is kept is one that another thread lacks.
      if (++spare_ < 2 * limit_.portion_ && limit_.portion_ > 1) return;
      spare_ -= limit_.portion_;
      limit_.free_.fetch_add(limit_.portion_, std::memory_order_relaxed);
    }

   private:
    CallLimit& limit_;
    std::size_t spare_ = 0;
  };

 private:
  static constexpr std::size_t kMaxPortion = 64;

  // At most a portion.
  std::size_t Take() {
    std::size_t free = free_.load(std::memory_order_relaxed);
    for (;;) {
      const std::size_t taken = std::min(free, portion_);
      if (free_.compare_exchange_weak(free, free - taken, std::memory_order_relaxed)) return taken;
    }
  }

  const std::size_t portion_;
  // Relaxed: the count publishes nothing but itself.
  std::atomic<std::size_t> free_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_CALL_LIMIT_H_
