#include "server/periodic_task.h"

#include <utility>

namespace ringshift {

PeriodicTask::PeriodicTask(std::chrono::milliseconds pause, std::function<void()> run)
    : pause_(pause), run_(std::move(run)), thread_([this] { Loop(); }) {}

PeriodicTask::~PeriodicTask() {
  Stop(std::chrono::steady_clock::now());
  thread_.join();
}

void PeriodicTask::RunSoon() {
  const MutexLock lock(mutex_);
  is_wanted_ = true;
  changed_.NotifyAll();
}

bool PeriodicTask::Stop(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
  while (!ended_ && changed_.WaitUntil(mutex_, deadline)) {
  }
  return ended_;
}

void PeriodicTask::Loop() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    is_wanted_ = false;
    mutex_.Unlock();
    run_();
    mutex_.Lock();
    const auto next = std::chrono::steady_clock::now() + pause_;
    while (!stopping_ && !is_wanted_ && changed_.WaitUntil(mutex_, next)) {
    }
  }
  ended_ = true;
  changed_.NotifyAll();
}

}  // namespace ringshift
