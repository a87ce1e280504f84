// How long to pause before the health of a router is watched again. The pause grows, whether the
// router cannot be reached or answers and ends the watch, until a watch has lived for a while.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_WATCH_BACKOFF_H_
#define RINGSHIFT_CLIENT_WATCH_BACKOFF_H_

#include <chrono>

#include "client/backoff.h"

namespace ringshift {

class WatchBackoff {
 public:
  // A watch that lived that long was a good one.
  static constexpr std::chrono::seconds kWhile{10};

  // A watch has ended. `lived`: since its first answer, 0 without one. REQUIRES: 0 <= random < 1
  std::chrono::nanoseconds NextPause(std::chrono::nanoseconds lived, double random) {
    if (lived >= kWhile) endings_ = 0;
    return kPause.Pause(++endings_, random);
  }

 private:
  static constexpr Backoff kPause{std::chrono::milliseconds(20), std::chrono::seconds(5)};

  int endings_ = 0;  // since the last good one
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_WATCH_BACKOFF_H_
