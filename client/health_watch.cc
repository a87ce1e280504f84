#include "client/health_watch.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ringshift/v1/routing.grpc.pb.h"

namespace ringshift {
namespace {

constexpr const char* kMethod = "/grpc.health.v1.Health/Watch";

// The messages of grpc.health.v1 have one field each, and no package has generated code for them.
grpc::ByteBuffer Request() {
  const std::string_view service = v1::RoutingService::service_full_name();
  std::string bytes = "\x0A";  // field 1, a string
  bytes += static_cast<char>(service.size());
  bytes += service;
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

enum class Health { kUnknown = 0, kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

// Zero, which proto3 leaves out, for what is not understood.
Health ToHealth(const grpc::ByteBuffer& response) {
  grpc::Slice slice;
  if (!response.DumpToSingleSlice(&slice).ok() || slice.size() < 2 || slice.begin()[0] != 0x08) {
    return Health::kUnknown;
  }
  return static_cast<Health>(slice.begin()[1]);
}

double Uniform(std::minstd_rand& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

// One call of Watch.
class HealthWatch::Stream : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(HealthWatch& watch, bool is_patient) : watch_(watch), request_(Request()) {
    context_.set_wait_for_ready(is_patient);
  }

  void Start() {
    watch_.stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (!answered_) answered_ = TimerQueue::Clock::now();
    switch (ToHealth(response_)) {
      case Health::kServing:
        watch_.report_(RouterState::kServing, "");
        break;
      case Health::kServiceUnknown:
        watch_.report_(RouterState::kNotServing,
                       "it has no RoutingService: is this the public port?");
        break;
      default:
        watch_.report_(RouterState::kNotServing, "it starts or drains");
        break;
    }
    StartRead(&response_);
  }

  // Destroys this object.
  void OnDone(const grpc::Status& status) override { watch_.OnStreamDone(status, answered_); }

 private:
  HealthWatch& watch_;
  grpc::ClientContext context_;
  const grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::optional<TimerQueue::Clock::time_point> answered_;
};

HealthWatch::HealthWatch(std::shared_ptr<grpc::Channel> channel, TimerQueue& timers, Report report)
    : stub_(std::move(channel)), timers_(timers), report_(std::move(report)) {
  NewStream(/*is_patient=*/false)->Start();
}

HealthWatch::~HealthWatch() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](bool* has_stream) { return !*has_stream; }, &has_stream_));
}

void HealthWatch::Stop() {
  std::shared_ptr<Stream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    stream = stream_;
  }
  if (stream != nullptr) stream->Cancel();
}

HealthWatch::Stream* HealthWatch::NewStream(bool is_patient) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return nullptr;
  stream_ = std::make_shared<Stream>(*this, is_patient);
  has_stream_ = true;
  return stream_.get();
}

void HealthWatch::OnStreamDone(const grpc::Status& status,
                               std::optional<TimerQueue::Clock::time_point> answered) {
  const TimerQueue::Clock::time_point now = TimerQueue::Clock::now();
  bool stopping = false;
  {
    // It holds the channel, whose last holder may not be a thread of gRPC: the destructor waits
    // until this one has let go.
    std::shared_ptr<Stream> stream;
    absl::MutexLock lock(&mutex_);
    stream.swap(stream_);
    stopping = stopping_;
  }
  if (!stopping) {
    if (answered) {
      report_(RouterState::kConnecting, "");
    } else {
      report_(RouterState::kDown, status.error_message());
    }
  }
  absl::MutexLock lock(&mutex_);
  has_stream_ = false;
  if (stopping_) return;
  // A connection that was lost is either soon there again or cannot be had, which the next stream
  // finds out; one that could not be had is waited for.
  const std::chrono::nanoseconds pause = backoff_.NextPause(
      answered ? now - *answered : std::chrono::nanoseconds(0), Uniform(random_));
  timers_.Add(now + pause, [this, is_patient = !answered](bool) {
    if (Stream* stream = NewStream(is_patient)) stream->Start();
  });
}

}  // namespace ringshift
