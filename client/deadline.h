// When a call must be over.
//
// Thread safety: a pure function, but for the clock.
#ifndef RINGSHIFT_CLIENT_DEADLINE_H_
#define RINGSHIFT_CLIENT_DEADLINE_H_

#include <algorithm>
#include <chrono>

namespace ringshift {

inline constexpr std::chrono::hours kMaxTimeout{24};

// The timeout of a query, 0 for the default, counted from `now`.
inline std::chrono::steady_clock::time_point Deadline(std::chrono::steady_clock::time_point now,
                                                      std::chrono::microseconds timeout,
                                                      std::chrono::microseconds default_timeout) {
  if (timeout == std::chrono::microseconds(0)) timeout = default_timeout;
  return now +
         std::clamp<std::chrono::microseconds>(timeout, std::chrono::microseconds(0), kMaxTimeout);
}

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_DEADLINE_H_
