#include "server/health_calls.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ringshift {
namespace {

constexpr std::string_view kCheck = "/grpc.health.v1.Health/Check";
constexpr std::string_view kWatch = "/grpc.health.v1.Health/Watch";

constexpr int kExpectedCalls = 4;

// HealthCheckRequest has one field, string service = 1. None if the bytes are no such message.
std::optional<std::string> ReadService(grpc::ByteBuffer& bytes) {
  constexpr std::uint32_t kServiceTag = 1 << 3 | 2;
  constexpr int kMaxBytes = 1 << 10;
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return std::nullopt;
  google::protobuf::io::CodedInputStream input(&reader);
  std::string service;
  while (const std::uint32_t tag = input.ReadTag()) {
    std::uint32_t size = 0;
    if (tag != kServiceTag || !input.ReadVarint32(&size) || size > kMaxBytes ||
        !input.ReadString(&service, static_cast<int>(size))) {
      return std::nullopt;
    }
  }
  if (!input.ConsumedEntireMessage()) return std::nullopt;
  return service;
}

}  // namespace

// From the time when it is expected until gRPC has nothing more to say of it; it then destroys
// itself.
class HealthCalls::Call final : private Completion {
 public:
  explicit Call(HealthCalls& health) : health_(health) {
    context_.AsyncNotifyWhenDone(static_cast<Completion*>(&done_));
    health_.service_.RequestCall(&context_, &stream_, health_.queue_, health_.queue_,
                                 static_cast<Completion*>(this));
  }

  // The status may have changed, or watches end. REQUIRES: it is a watch.
  void Update() {
    if (state_ != State::kIdle) return;
    if (health_.Of(service_) != sent_) {
      Write();
    } else if (health_.WatchesEnd()) {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the router is stopping"));
    }
  }

 private:
  enum class State { kExpected, kReading, kWriting, kIdle, kEnding, kEnded };

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

  void OnEvent(bool ok) override {
    if (state_ == State::kExpected && !ok) return Destroy();
    if (!health_.bell_.is_open()) {
      state_ = State::kEnded;
      return EndIfOver();
    }
    switch (state_) {
      case State::kExpected:
        OnArrival();
        break;
      case State::kReading:
        OnRead(ok);
        break;
      case State::kWriting:
        state_ = State::kIdle;
        if (ok && !is_done_) Update();
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
    health_.Expect();
    if (context_.method() != kCheck && context_.method() != kWatch) {
      return Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "the router has no such method"));
    }
    state_ = State::kReading;
    stream_.Read(&request_, static_cast<Completion*>(this));
  }

  void OnRead(bool ok) {
    std::optional<std::string> service;
    if (ok) service = ReadService(request_);
    if (!service) {
      return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                                 "the bytes of the request are no HealthCheckRequest"));
    }
    service_ = *std::move(service);
    if (context_.method() == kWatch) {
      health_.watches_.insert(this);
      return Write();
    }
    const Status status = health_.Of(service_);
    if (status == Status::kServiceUnknown) {
      return Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service"));
    }
    state_ = State::kEnding;
    stream_.WriteAndFinish(Response(status), grpc::WriteOptions(), grpc::Status::OK,
                           static_cast<Completion*>(this));
  }

  void Write() {
    state_ = State::kWriting;
    sent_ = health_.Of(service_);
    stream_.Write(Response(sent_), static_cast<Completion*>(this));
  }

  void Finish(const grpc::Status& status) {
    state_ = State::kEnding;
    stream_.Finish(status, static_cast<Completion*>(this));
  }

  // HealthCheckResponse has one field, ServingStatus status = 1.
  static grpc::ByteBuffer Response(Status status) {
    const char bytes[] = {1 << 3, static_cast<char>(status)};
    const grpc::Slice slice(bytes, sizeof bytes);
    return grpc::ByteBuffer(&slice, 1);
  }

  void EndIfOver() {
    if (is_done_ && (state_ == State::kIdle || state_ == State::kEnded)) Destroy();
  }
  void Destroy() {
    health_.watches_.erase(this);
    delete this;
  }

  HealthCalls& health_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  Done done_{*this};
  grpc::ByteBuffer request_;
  std::string service_;
  Status sent_ = Status::kServiceUnknown;
  State state_ = State::kExpected;
  bool is_done_ = false;
};

HealthCalls::HealthCalls(std::set<std::string> services) : services_(std::move(services)) {}

void HealthCalls::Start(grpc::ServerCompletionQueue& queue) {
  queue_ = &queue;
  bell_.Open(queue);
  for (int i = 0; i < kExpectedCalls; ++i) Expect();
}

void HealthCalls::SetServing(bool serving) {
  {
    const absl::MutexLock lock(&mutex_);
    is_serving_ = serving;
  }
  bell_.Ring();
}

void HealthCalls::EndWatches() {
  {
    const absl::MutexLock lock(&mutex_);
    watches_end_ = true;
  }
  bell_.Ring();
}

void HealthCalls::UpdateWatches() {
  for (Call* watch : watches_) watch->Update();
}

void HealthCalls::Stop() { bell_.Close(); }

bool HealthCalls::WatchesEnd() const {
  const absl::MutexLock lock(&mutex_);
  return watches_end_;
}

void HealthCalls::Expect() {
  new Call(*this);  // destroys itself
}

HealthCalls::Status HealthCalls::Of(const std::string& service) const {
  if (!service.empty() && !services_.contains(service)) return Status::kServiceUnknown;
  const absl::MutexLock lock(&mutex_);
  return is_serving_ ? Status::kServing : Status::kNotServing;
}

}  // namespace ringshift
