#include "server/work_queue.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace ringshift {
namespace {

absl::Status NotWanted() {
  return absl::CancelledError("the call ended before its turn; nothing was done");
}

// Of the calling thread; those that it starts inherit it. Where the system refuses, it stays as it
// was: that costs latency of calls, and no call.
void TakeLowPriority() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), WorkQueue::kNiceAfterCalls);
}

}  // namespace

WorkQueue::WorkQueue(Turn turn) : thread_([this, turn] { Run(turn); }) {}

WorkQueue::~WorkQueue() {
  Stop(std::chrono::steady_clock::now());
  thread_.join();
}

void WorkQueue::Add(Request request) {
  absl::Status refusal;
  std::deque<Request> unwanted;
  {
    const absl::MutexLock lock(&mutex_);
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
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    mutex_.AwaitWithTimeout(absl::Condition(this, &WorkQueue::IsIdle),
                            absl::FromChrono(deadline - std::chrono::steady_clock::now()));
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

void WorkQueue::Run(Turn turn) {
  if (turn == Turn::kAfterCalls) TakeLowPriority();
  for (;;) {
    Request request;
    bool wanted = false;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &WorkQueue::HasWork));
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
      request.refuse(NotWanted());
      continue;
    }
    const Deliver deliver = request.work();
    bool awaited = false;
    {
      const absl::MutexLock lock(&mutex_);
      awaited = static_cast<bool>(refuse_);
      refuse_ = nullptr;
      busy_ = false;
    }
    if (awaited && deliver) deliver();
  }
}

}  // namespace ringshift
