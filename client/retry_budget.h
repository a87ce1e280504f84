// How many calls may be sent again: a tenth of those that are started, so that routers in trouble
// are not buried under retries. Calls earn retries ahead, up to kMaxRetries, which a router that
// dies with many calls under way takes at once.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RETRY_BUDGET_H_
#define RINGSHIFT_CLIENT_RETRY_BUDGET_H_

#include <algorithm>

namespace ringshift {

class RetryBudget {
 public:
  static constexpr int kCallsPerRetry = 10;
  static constexpr int kMaxRetries = 100;

  // A call was started.
  void OnCall() { earned_ = std::min(earned_ + 1, kMaxRetries * kCallsPerRetry); }

  // Whether one may be sent again; then the budget has paid for it.
  bool TakeRetry() {
    if (earned_ < kCallsPerRetry) return false;
    earned_ -= kCallsPerRetry;
    return true;
  }

 private:
  int earned_ = kMaxRetries * kCallsPerRetry;  // in calls
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RETRY_BUDGET_H_
