#include "server/lifecycle.h"

namespace ringshift {

absl::Status Lifecycle::CheckStarted() const {
  if (phase() != Phase::kStarting) return absl::OkStatus();
  return absl::UnavailableError("the router is starting: rings are being built; retry later");
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

void Lifecycle::WaitUntilDraining() const {
  phase_.wait(Phase::kServing, std::memory_order_acquire);
}

}  // namespace ringshift
