#include "server/periodic_task.h"

#include <utility>

#include "absl/time/time.h"

namespace ringshift {

PeriodicTask::PeriodicTask(std::chrono::milliseconds pause, std::function<void()> run)
    : pause_(pause), run_(std::move(run)), thread_([this] { Loop(); }) {}

PeriodicTask::~PeriodicTask() {
  Stop(std::chrono::steady_clock::now());
  thread_.join();
}

bool PeriodicTask::Stop(std::chrono::steady_clock::time_point deadline) {
  const absl::MutexLock lock(&mutex_);
  stopping_ = true;
  return mutex_.AwaitWithTimeout(absl::Condition(&ended_),
                                 absl::FromChrono(deadline - std::chrono::steady_clock::now()));
}

void PeriodicTask::Loop() {
  const absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    mutex_.Unlock();
    run_();
    mutex_.Lock();
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), absl::FromChrono(pause_));
  }
  ended_ = true;
}

}  // namespace ringshift
