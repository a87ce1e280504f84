#include "server/work_queue.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "server/low_priority.h"

namespace ringshift {
namespace {

absl::Status NotWanted() {
  return absl::CancelledError("the call ended before its turn; nothing was done");
}

}  // namespace

WorkQueue::WorkQueue(std::chrono::milliseconds pace) : pace_(pace), thread_([this] { Run(); }) {}

WorkQueue::~WorkQueue() {
  Stop(std::chrono::steady_clock::now());
  thread_.join();
}

void WorkQueue::Add(Request request) {
  absl::Status refusal;
  std::deque<Request> unwanted;
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= kMaxWaiting) {
      const auto begin = std::stable_partition(
          waiting_.begin(), waiting_.end(), [](const Request& each) { return each.is_wanted(); });
      std::move(begin, waiting_.end(), std::back_inserter(unwanted));
      waiting_.erase(begin, waiting_.end());
    }
    if (stopping_) {
      refusal = absl::UnavailableError("the router is stopping; nothing was done");
    } else if (waiting_.size() >= kMaxWaiting) {
      refusal = absl::ResourceExhaustedError(
          std::to_string(waiting_.size()) +
          " calls are waiting for their turn, as many as may; nothing was done: try again later");
    } else {
      waiting_.push_back(std::move(request));
      changed_.NotifyAll();
    }
  }
  if (!refusal.ok()) request.refuse(refusal);
  for (const Request& each : unwanted) each.refuse(NotWanted());
}

bool WorkQueue::Stop(std::chrono::steady_clock::time_point deadline) {
  std::deque<Request> left;
  std::function<void(const absl::Status&)> refuse_unfinished;
  bool idle = false;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    while (!IsIdle() && changed_.WaitUntil(mutex_, deadline)) {
    }
    left.swap(waiting_);
    refuse_unfinished.swap(refuse_);
    idle = !busy_;
  }
  if (refuse_unfinished) {
    refuse_unfinished(absl::UnavailableError(
        "the router is stopping while this is being done: look whether it was"));
  }
  for (const Request& each : left) {
    each.refuse(absl::UnavailableError("the router is stopping; nothing was done"));
  }
  return idle;
}

bool WorkQueue::IsStopping() {
  const MutexLock lock(mutex_);
  return stopping_;
}

void WorkQueue::Run() {
  TakeLowPriority();
  for (;;) {
    Request request;
    bool wanted = false;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && waiting_.empty()) changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
      wanted = request.is_wanted();
      if (wanted) {
        busy_ = true;
        refuse_ = std::move(request.refuse);
      }
    }
    if (!wanted) {
      changed_.NotifyAll();
      request.refuse(NotWanted());
      continue;
    }
    const std::chrono::steady_clock::time_point next = std::chrono::steady_clock::now() + pace_;
    const Deliver deliver = request.work();
    bool awaited = false;
    {
      const MutexLock lock(mutex_);
      awaited = static_cast<bool>(refuse_);
      refuse_ = nullptr;
      busy_ = false;
      changed_.NotifyAll();
    }
    if (awaited && deliver) deliver();
    if (!IsStopping()) std::this_thread::sleep_until(next);
  }
}

}  // namespace ringshift
