#include "ringshift/fake_client.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/deadline.h"
#include "client/timer_queue.h"

namespace ringshift {
namespace {

constexpr std::chrono::seconds kDefaultTimeout{1};

absl::StatusOr<RouteReply> AnswerWithOneNode(const RouteQuery&) {
  RouteReply reply;
  reply.owner = {"fake-node", "fake-node.invalid:443"};
  reply.ring_version = 1;
  return reply;
}

absl::StatusOr<BatchReply> AnswerBatch(const FakeClient::Answer& answer, const BatchQuery& query) {
  if (query.keys.empty()) return absl::InvalidArgumentError("the batch has no keys");
  BatchReply batch;
  std::map<std::string, std::uint32_t> indexes;  // by name
  for (std::size_t i = 0; i < query.keys.size(); ++i) {
    absl::StatusOr<RouteReply> reply =
        answer({query.data_center, query.keys[i], query.pool, /*replicas=*/1, query.timeout});
    if (!reply.ok()) {
      return absl::Status(reply.status().code(),
                          absl::StrCat("key ", i, ": ", reply.status().message()));
    }
    const auto [found, is_new] = indexes.emplace(reply->owner.name, batch.nodes.size());
    if (is_new) batch.nodes.push_back(std::move(reply->owner));
    batch.owner_indexes.push_back(found->second);
    batch.ring_versions.push_back(static_cast<std::uint8_t>(reply->ring_version));
    batch.table = reply->table;
  }
  return batch;
}

}  // namespace

struct FakeClient::State {
  // The error of a call that is to fail.
  std::optional<absl::Status> TakeError() {
    absl::MutexLock lock(&mutex);
    if (errors.empty()) return std::nullopt;
    absl::Status error = std::move(errors.front());
    errors.pop_front();
    return error;
  }

  Answer CurrentAnswer() {
    absl::MutexLock lock(&mutex);
    return answer;
  }

  absl::Mutex mutex;
  bool closing ABSL_GUARDED_BY(mutex) = false;
  Answer answer ABSL_GUARDED_BY(mutex) = AnswerWithOneNode;
  std::deque<absl::Status> errors ABSL_GUARDED_BY(mutex);
  std::chrono::microseconds delay ABSL_GUARDED_BY(mutex){0};
  std::vector<RouteQuery> routes ABSL_GUARDED_BY(mutex);
  std::vector<BatchQuery> batches ABSL_GUARDED_BY(mutex);
  TimerQueue timers;  // last: gone before what its tasks use
};

FakeClient::FakeClient() : state_(std::make_unique<State>()) {}

FakeClient::~FakeClient() {
  absl::MutexLock lock(&state_->mutex);
  state_->closing = true;
}

void FakeClient::SetAnswer(Answer answer) {
  absl::MutexLock lock(&state_->mutex);
  state_->answer = std::move(answer);
}

void FakeClient::FailNext(const absl::Status& error, int calls) {
  absl::MutexLock lock(&state_->mutex);
  for (int i = 0; i < calls; ++i) state_->errors.push_back(error);
}

void FakeClient::SetDelay(std::chrono::microseconds delay) {
  absl::MutexLock lock(&state_->mutex);
  state_->delay = delay;
}

std::vector<RouteQuery> FakeClient::routes() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->routes;
}

std::vector<BatchQuery> FakeClient::batches() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->batches;
}

void FakeClient::RouteAsync(RouteQuery query, RouteCallback done) {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->routes.push_back(query);
  }
  const std::optional<absl::Status> error = state_->TakeError();
  Finish<RouteReply>(error ? absl::StatusOr<RouteReply>(*error) : state_->CurrentAnswer()(query),
                     query.timeout, std::move(done));
}

void FakeClient::RouteBatchAsync(BatchQuery query, BatchCallback done) {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->batches.push_back(query);
  }
  const std::optional<absl::Status> error = state_->TakeError();
  Finish<BatchReply>(
      error ? absl::StatusOr<BatchReply>(*error) : AnswerBatch(state_->CurrentAnswer(), query),
      query.timeout, std::move(done));
}

template <typename Reply>
void FakeClient::Finish(absl::StatusOr<Reply> reply, std::chrono::microseconds timeout,
                        std::function<void(absl::StatusOr<Reply>)> done) {
  const absl::Status cancelled = absl::CancelledError("the client is being destroyed");
  {
    absl::MutexLock lock(&state_->mutex);
    const TimerQueue::Clock::time_point now = TimerQueue::Clock::now();
    const TimerQueue::Clock::time_point deadline = Deadline(now, timeout, kDefaultTimeout);
    TimerQueue::Clock::time_point end = now + state_->delay;
    if (deadline < end) {
      end = deadline;
      reply = absl::DeadlineExceededError(
          absl::StrCat("no answer within ",
                       std::chrono::duration<double, std::milli>(deadline - now).count(), " ms"));
    }
    if (!state_->closing) {
      state_->timers.Add(end, [reply = std::move(reply), done, cancelled](bool due) mutable {
        done(due ? std::move(reply) : cancelled);
      });
      return;
    }
  }
  done(cancelled);
}

}  // namespace ringshift
