#include "server/queue_bell.h"

namespace ringshift {

void QueueBell::Open(grpc::ServerCompletionQueue& queue) {
  const absl::MutexLock lock(&mutex_);
  queue_ = &queue;
}

void QueueBell::Close() {
  const absl::MutexLock lock(&mutex_);
  queue_ = nullptr;
}

bool QueueBell::is_open() const {
  const absl::MutexLock lock(&mutex_);
  return queue_ != nullptr;
}

void QueueBell::Ring() {
  const absl::MutexLock lock(&mutex_);
  if (queue_ == nullptr || is_ringing_) return;
  is_ringing_ = true;
  alarm_.Set(queue_, ::gpr_inf_past(GPR_CLOCK_MONOTONIC), static_cast<Completion*>(this));
}

void QueueBell::OnEvent(bool /*ok*/) {
  {
    const absl::MutexLock lock(&mutex_);
    is_ringing_ = false;
    if (queue_ == nullptr) return;
  }
  answer_();
}

}  // namespace ringshift
