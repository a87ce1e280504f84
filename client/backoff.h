// How long to pause before something is tried again: a random part of a bound that doubles each
// time, so that clients which failed together do not come back together.
//
//   constexpr Backoff kBackoff{5ms, 500ms};
//   kBackoff.Pause(/*failures=*/1, 0.5);   // 2.5ms
//
// Thread safety: immutable.
#ifndef RINGSHIFT_CLIENT_BACKOFF_H_
#define RINGSHIFT_CLIENT_BACKOFF_H_

#include <algorithm>
#include <chrono>

namespace ringshift {

struct Backoff {
  std::chrono::nanoseconds first;  // the bound after one failure
  std::chrono::nanoseconds last;   // which the bound never passes

  // REQUIRES: failures >= 1
  constexpr std::chrono::nanoseconds Bound(int failures) const {
    std::chrono::nanoseconds bound = first;
    for (int i = 1; i < failures && bound < last; ++i) bound *= 2;
    return std::min(bound, last);
  }

  // REQUIRES: failures >= 1, 0 <= random < 1
  std::chrono::nanoseconds Pause(int failures, double random) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(random * Bound(failures));
  }
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_BACKOFF_H_
