// grpc.health.v1.Health as a client sees it, by hand: its messages have one field each, and Debian
// has no generated code for them.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_TESTING_HEALTH_CLIENT_H_
#define RINGSHIFT_TESTS_TESTING_HEALTH_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace ringshift::testing {

enum class Health { kUnknown = 0, kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

// One call of either method of the service; `Check` answers once, `Watch` at every change.
class HealthCall {
 public:
  HealthCall(std::shared_ptr<grpc::Channel> channel, const std::string& method,
             const std::string& service)
      : stub_(std::move(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    call_ = stub_.PrepareCall(&context_, "/grpc.health.v1.Health/" + method, &queue_);
    call_->StartCall(nullptr);
    if (!Wait()) return;
    std::string request;
    if (!service.empty()) {
      request = "\x0A";
      request += static_cast<char>(service.size());
      request += service;
    }
    const grpc::Slice slice(request);
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    Wait();
  }
  ~HealthCall() {
    context_.TryCancel();
    if (!status_) Finish();
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }
  HealthCall(const HealthCall&) = delete;
  HealthCall& operator=(const HealthCall&) = delete;

  // The next answer; none when the call is over.
  std::optional<Health> Next() {
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, nullptr);
    if (!Wait()) return std::nullopt;
    grpc::Slice slice;
    if (!buffer.DumpToSingleSlice(&slice).ok()) return std::nullopt;
    // proto3 leaves a zero out.
    return slice.size() == 2 ? static_cast<Health>(slice.begin()[1]) : Health::kUnknown;
  }

  // How the call ended; waits for its end.
  grpc::Status Finish() {
    if (!status_) {
      grpc::Status status;
      call_->Finish(&status, nullptr);
      Wait();
      status_ = status;
    }
    return *status_;
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  std::optional<grpc::Status> status_;
};

inline std::optional<Health> CheckHealth(const std::shared_ptr<grpc::Channel>& channel,
                                         const std::string& service) {
  return HealthCall(channel, "Check", service).Next();
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_HEALTH_CLIENT_H_
