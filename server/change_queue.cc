#include "server/change_queue.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace ringshift {
namespace {

absl::Status NotWanted() {
  return absl::CancelledError("the call ended before the turn of its change, which was not made");
}

}  // namespace

ChangeQueue::ChangeQueue(MigrationController& controller)
    : controller_(controller), thread_([this] { Run(); }) {}

ChangeQueue::~ChangeQueue() {
  Stop(std::chrono::steady_clock::now());
  thread_.join();
}

void ChangeQueue::Add(Request request) {
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
      refusal = absl::UnavailableError("the router is stopping; the change was not made");
    } else if (waiting_.size() >= kMaxWaiting) {
      refusal = absl::ResourceExhaustedError(std::to_string(waiting_.size()) +
                                             " changes are waiting for the store, as many as may; "
                                             "the change was not made: try again later");
    } else {
      waiting_.push_back(std::move(request));
    }
  }
  if (!refusal.ok()) request.done(refusal);
  for (const Request& each : unwanted) each.done(NotWanted());
}

bool ChangeQueue::Stop(std::chrono::steady_clock::time_point deadline) {
  std::deque<Request> left;
  std::function<void(Result)> unfinished;
  bool idle = false;
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    mutex_.AwaitWithTimeout(absl::Condition(this, &ChangeQueue::IsIdle),
                            absl::FromChrono(deadline - std::chrono::steady_clock::now()));
    left.swap(waiting_);
    unfinished.swap(done_);
    idle = !busy_;
  }
  if (unfinished) {
    unfinished(absl::UnavailableError(
        "the router is stopping while the change is being made: read the migration to see whether "
        "it was"));
  }
  for (const Request& each : left) {
    each.done(absl::UnavailableError("the router is stopping; the change was not made"));
  }
  return idle;
}

void ChangeQueue::Run() {
  for (;;) {
    Request request;
    bool wanted = false;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ChangeQueue::HasWork));
      if (waiting_.empty()) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
      wanted = request.is_wanted();
      if (wanted) {
        busy_ = true;
        done_ = std::move(request.done);
      }
    }
    if (!wanted) {
      request.done(NotWanted());
      continue;
    }
    Result result = controller_.SetShare(request.change);
    std::function<void(Result)> done;
    {
      const absl::MutexLock lock(&mutex_);
      done.swap(done_);
      busy_ = false;
    }
    if (done) done(std::move(result));
  }
}

}  // namespace ringshift
