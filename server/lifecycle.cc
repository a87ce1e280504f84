#include "server/lifecycle.h"

namespace ringshift {

absl::Status Lifecycle::CheckAnswering() const {
  switch (phase()) {
    case Phase::kStarting:
      return absl::UnavailableError("the router is starting: rings are being built; retry later");
    case Phase::kRefusing:
      return absl::UnavailableError("the router is stopping; ask another one");
    case Phase::kServing:
    case Phase::kDraining:
      break;
  }
  return absl::OkStatus();
}

bool Lifecycle::StartServing() {
  Phase expected = Phase::kStarting;
  return phase_.compare_exchange_strong(expected, Phase::kServing, std::memory_order_acq_rel);
}

bool Lifecycle::StartDraining() {
  Phase expected = Phase::kServing;
  if (!phase_.compare_exchange_strong(expected, Phase::kDraining, std::memory_order_acq_rel)) {
    return false;
  }
  phase_.notify_all();
  return true;
}

void Lifecycle::StartRefusing() {
  phase_.store(Phase::kRefusing, std::memory_order_release);
  phase_.notify_all();
}

void Lifecycle::WaitUntilDraining() const {
  phase_.wait(Phase::kServing, std::memory_order_acquire);
}

}  // namespace ringshift
