#include "server/watch_calls.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "server/completion.h"
#include "server/status.h"

namespace ringshift {
namespace {

// Calls that gRPC can hand over while the thread is busy.
constexpr int kExpectedCalls = 4;

// Each costs some 10 us; the thread may have requests to route.
constexpr int kUpdatesATurn = 16;

}  // namespace

// From the time when it is expected until gRPC has nothing more to say of it; it then destroys
// itself.
class WatchCalls::Call final : private Completion {
 public:
  explicit Call(WatchCalls& watch) : watch_(watch) {
    context_.AsyncNotifyWhenDone(static_cast<Completion*>(&done_));
    watch_.method_.expect(&context_, &request_, &writer_, watch_.queue_,
                          static_cast<Completion*>(this));
  }

  // Sends what is new, or ends.
  void Update() {
    if (state_ == State::kWriting &&
        watch_.options_.clock() - write_start_ > watch_.options_.max_write_time) {
      context_.TryCancel();
    }
    if (state_ != State::kIdle || is_done_) return;
    if (watch_.is_ending_) return Finish(Ending());
    if (!watch_.HasLookedSince(look_)) {
      watch_.is_look_awaited_ = true;
      return;
    }
    const std::optional<ChangeFeed::News> news = reader_->Next(kMaxMessageBytes);
    if (!news) return;
    state_ = State::kWriting;
    write_start_ = watch_.options_.clock();
    writer_.Write(watch_.method_.write(*news), static_cast<Completion*>(this));
  }

 private:
  enum class State { kExpected, kWriting, kIdle, kEnding, kEnded };

  // The call is over; it comes once for a call that has come.
  class Done final : public Completion {
   public:
    explicit Done(Call& call) : call_(call) {}
    void OnEvent(bool /*ok*/) override {
      call_.is_done_ = true;
      call_.EndIfOver();
    }

   private:
    Call& call_;
  };

  static absl::Status Ending() {
    return absl::UnavailableError("the router is stopping; watch another one");
  }

  void OnEvent(bool ok) override {
    if (state_ == State::kExpected && !ok) return Destroy();
    if (!watch_.bell_.is_open()) {
      state_ = State::kEnded;
      return EndIfOver();
    }
    switch (state_) {
      case State::kExpected:
        OnArrival();
        break;
      case State::kWriting:
        state_ = State::kIdle;
        if (ok) Update();
        break;
      case State::kEnding:
        state_ = State::kEnded;
        break;
      case State::kIdle:
      case State::kEnded:
        break;
    }
    EndIfOver();
  }

  void OnArrival() {
    watch_.Expect();
    if (watch_.is_ending_) return Finish(Ending());
    if (watch_.calls_.size() >= watch_.options_.max_calls) {
      return Finish(absl::ResourceExhaustedError(absl::string_view(
          std::to_string(watch_.calls_.size()) +
          " clients watch, as many as the router takes; wait a little, or watch another one")));
    }
    absl::StatusOr<Query> query = watch_.method_.read(request_);
    request_.Clear();
    if (!query.ok()) return Finish(query.status());
    reader_.emplace(watch_.feed_, std::move(query->names), query->cursor);
    number_ = ++watch_.last_number_;
    watch_.calls_.emplace(number_, this);
    watch_.count_ = watch_.calls_.size();
    state_ = State::kIdle;
    look_ = watch_.looks_;
    Update();
  }

  void Finish(const absl::Status& status) {
    state_ = State::kEnding;
    writer_.Finish(ToGrpcStatus(status), static_cast<Completion*>(this));
  }

  void EndIfOver() {
    if (is_done_ && (state_ == State::kIdle || state_ == State::kEnded)) Destroy();
  }
  void Destroy() {
    watch_.calls_.erase(number_);
    watch_.count_ = watch_.calls_.size();
    delete this;
  }

  WatchCalls& watch_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  Done done_{*this};
  std::optional<ChangeFeed::Reader> reader_;  // once it is answered
  std::uint64_t number_ = 0;                  // likewise
  std::uint64_t look_ = 0;                    // the last one that had begun when it came
  std::chrono::steady_clock::time_point write_start_;
  State state_ = State::kExpected;
  bool is_done_ = false;
};

WatchCalls::WatchCalls(const ChangeFeed& feed, Method method, Options options)
    : feed_(feed), method_(std::move(method)), options_(std::move(options)) {}

void WatchCalls::Start(grpc::ServerCompletionQueue& queue) {
  queue_ = &queue;
  bell_.Open(queue);
  for (int i = 0; i < kExpectedCalls; ++i) Expect();
}

void WatchCalls::Stop() { bell_.Close(); }

void WatchCalls::Notify() {
  is_changed_ = true;
  bell_.Ring();
}

void WatchCalls::EndLook(bool is_changed) {
  ended_looks_ = looks_.load();
  if (is_look_awaited_.exchange(false) || is_changed) Notify();
}

void WatchCalls::End() {
  is_ending_ = true;
  Notify();
}

void WatchCalls::UpdateDue() {
  if (is_changed_.exchange(false)) due_ = calls_.size();
  for (int i = 0; i < kUpdatesATurn && due_ > 0 && !calls_.empty(); ++i, --due_) {
    auto next = calls_.upper_bound(updated_);
    if (next == calls_.end()) next = calls_.begin();
    updated_ = next->first;
    next->second->Update();
  }
  if (due_ > 0) bell_.Ring();
}

void WatchCalls::Expect() {
  new Call(*this);  // destroys itself
}

}  // namespace ringshift
