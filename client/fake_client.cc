#include "ringshift/fake_client.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/client_proto.h"
#include "client/deadline.h"
#include "client/timer_queue.h"

namespace ringshift {
namespace {

constexpr std::chrono::seconds kDefaultTimeout{1};

// As routers have them, which tests/integration/client_router_test.cc holds this against.
constexpr std::size_t kMaxKeyBytes = 16'384;
constexpr int kMaxReplicas = 16;
constexpr std::size_t kMaxBatchKeys = 10'000;
constexpr std::size_t kMaxRequestBytes = std::size_t{4} << 20;

absl::StatusOr<RouteReply> AnswerWithOneNode(const RouteQuery&) {
  RouteReply reply;
  reply.owner = {"fake-node", "fake-node.invalid:443"};
  reply.ring_version = 1;
  return reply;
}

absl::Status CheckDataCenter(const std::string& data_center) {
  if (!data_center.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("data_center is empty: name the data center");
}

// `which` is "key" or "key 7".
absl::Status CheckKey(const std::string& which, const std::string& key) {
  if (key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(which, " is empty; it must have 1 to ", kMaxKeyBytes, " bytes"));
  }
  if (key.size() <= kMaxKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(which, " has ", key.size(), " bytes; it must have 1 to ", kMaxKeyBytes));
}

absl::Status Check(const RouteQuery& query) {
  if (absl::Status good = CheckDataCenter(query.data_center); !good.ok()) return good;
  if (absl::Status good = CheckKey("key", query.key); !good.ok()) return good;
  if (query.replicas >= 0 && query.replicas <= kMaxReplicas) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("replicas is ", query.replicas, "; it must be 0 to ", kMaxReplicas));
}

absl::Status Check(const BatchQuery& query) {
  const std::size_t bytes = ToProto(query).ByteSizeLong();
  if (bytes > kMaxRequestBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the batch has ", bytes, " bytes; it must have at most ", kMaxRequestBytes));
  }
  if (absl::Status good = CheckDataCenter(query.data_center); !good.ok()) return good;
  if (query.keys.empty() || query.keys.size() > kMaxBatchKeys) {
    return absl::InvalidArgumentError(absl::StrCat("the batch has ", query.keys.size(),
                                                   " keys; it must have 1 to ", kMaxBatchKeys));
  }
  for (std::size_t i = 0; i < query.keys.size(); ++i) {
    if (absl::Status good = CheckKey(absl::StrCat("keys[", i, "]"), query.keys[i]); !good.ok()) {
      return good;
    }
  }
  return absl::OkStatus();
}

// Of a query that has been checked.
absl::StatusOr<BatchReply> AnswerBatch(const FakeClient::Answer& answer, const BatchQuery& query) {
  BatchReply batch;
  std::map<std::string, std::uint32_t> indexes;  // by name
  const auto index_of = [&](RoutedNode node) {
    const auto [found, is_new] = indexes.emplace(node.name, batch.nodes.size());
    if (is_new) batch.nodes.push_back(std::move(node));
    return found->second;
  };
  for (std::size_t i = 0; i < query.keys.size(); ++i) {
    absl::StatusOr<RouteReply> reply =
        answer({query.data_center, query.keys[i], query.pool, /*replicas=*/1, query.timeout});
    if (!reply.ok()) {
      return absl::Status(reply.status().code(),
                          absl::StrCat("key ", i, ": ", reply.status().message()));
    }
    batch.owner_indexes.push_back(index_of(std::move(reply->owner)));
    if (reply->previous_owner) {
      batch.previous_owner_places.resize(query.keys.size());
      batch.previous_owner_places[i] = 1 + index_of(*std::move(reply->previous_owner));
    }
    const bool is_known = reply->ring_version == 1 || reply->ring_version == 2;
    batch.ring_versions.push_back(static_cast<std::uint8_t>(is_known ? reply->ring_version : 0));
    batch.table = reply->table;
  }
  return batch;
}

}  // namespace

struct FakeClient::State {
  // The error of a call that is to fail, else OK.
  absl::Status TakeError() {
    absl::MutexLock lock(&mutex);
    if (errors.empty()) return absl::OkStatus();
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
  state_->answer = answer == nullptr ? AnswerWithOneNode : std::move(answer);
}

void FakeClient::FailNext(const absl::Status& error, int calls) {
  absl::MutexLock lock(&state_->mutex);
  for (int i = 0; i < calls; ++i) state_->errors.push_back(error);
}

void FakeClient::SetDelay(std::chrono::microseconds delay) {
  absl::MutexLock lock(&state_->mutex);
  // Longer than any timeout is long enough, and can be added to a time.
  state_->delay =
      std::clamp<std::chrono::microseconds>(delay, std::chrono::microseconds(0), 2 * kMaxTimeout);
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
  absl::Status error = state_->TakeError();
  if (error.ok()) error = Check(query);
  Finish<RouteReply>(error.ok() ? state_->CurrentAnswer()(query) : error, query.timeout,
                     std::move(done));
}

void FakeClient::RouteBatchAsync(BatchQuery query, BatchCallback done) {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->batches.push_back(query);
  }
  absl::Status error = state_->TakeError();
  if (error.ok()) error = Check(query);
  Finish<BatchReply>(error.ok() ? AnswerBatch(state_->CurrentAnswer(), query) : error,
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
