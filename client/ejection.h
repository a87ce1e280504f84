// Whether a router is passed over because it takes calls and answers none. After 5 calls in a row
// that ran into their deadline it is, for 1 s; then one call goes there, and if that is not
// answered either the next one does after 2 s, and so on up to every 30 s. Any answer ends it.
//
//   Ejection ejection;
//   if (ejection.MayTake(now)) { ejection.OnSent(now); ... }
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_EJECTION_H_
#define RINGSHIFT_CLIENT_EJECTION_H_

#include <chrono>

#include "client/backoff.h"

namespace ringshift {

class Ejection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr int kTimeoutsInARow = 5;
  // Not random: what comes back all at once is one call of each client.
  static constexpr Backoff kPause{std::chrono::seconds(1), std::chrono::seconds(30)};

  bool is_in_force() const { return pauses_ > 0; }

  // Whether the router may get a call.
  bool MayTake(Time now) const { return !is_in_force() || now >= until_; }

  // It gets one, whether it may or there is no other.
  void OnSent(Time now) {
    if (is_in_force() && now >= until_) Pause(now);
  }

  // A call ran into its deadline there.
  void OnTimeout(Time now) {
    if (!is_in_force() && ++timeouts_ == kTimeoutsInARow) Pause(now);
  }

  // A call was answered there, with an error perhaps.
  void OnAnswer() {
    timeouts_ = 0;
    pauses_ = 0;
  }

 private:
  void Pause(Time now) { until_ = now + kPause.Bound(++pauses_); }

  int timeouts_ = 0;  // since the last answer
  int pauses_ = 0;    // likewise
  Time until_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_EJECTION_H_
