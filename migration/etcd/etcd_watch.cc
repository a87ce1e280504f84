#include "migration/etcd/etcd_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{5};
constexpr std::chrono::seconds kQuietPeriod{10};  // before the stream is asked whether it is alive

void* const kStarted = reinterpret_cast<void*>(1);
void* const kRead = reinterpret_cast<void*>(2);
void* const kWritten = reinterpret_cast<void*>(3);
void* const kFinished = reinterpret_cast<void*>(4);

}  // namespace

struct EtcdWatch::Stream {
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  std::unique_ptr<
      grpc::ClientAsyncReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>>
      calls;
  etcdserverpb::WatchResponse response;
  int pending = 0;  // operations whose tags have not come
  bool writing = false;

  void Write(const etcdserverpb::WatchRequest& request) {
    calls->Write(request, kWritten);
    writing = true;
    ++pending;
  }
  void Read() {
    calls->Read(&response, kRead);
    ++pending;
  }
  // Cancels the stream, waits for what is pending, and returns how it ended.
  grpc::Status Finish() {
    context.TryCancel();
    void* tag = nullptr;
    bool ok = false;
    for (; pending > 0; --pending) queue.Next(&tag, &ok);
    grpc::Status status;
    calls->Finish(&status, kFinished);
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return status;
  }
};

EtcdWatch::EtcdWatch(EtcdClient& client, std::string key, std::int64_t start_revision)
    : client_(client), key_(std::move(key)), start_revision_(start_revision) {}

EtcdWatch::~EtcdWatch() {
  if (stream_ != nullptr) stream_->Finish();
}

absl::StatusOr<std::vector<etcdserverpb::Event>> EtcdWatch::Next(Clock::time_point deadline,
                                                                 const Wait& wait) {
  if (ended_.ok() && stream_ == nullptr) ended_ = Start();
  while (ended_.ok()) {
    const absl::StatusOr<bool> polled = Poll();
    if (!polled.ok()) {
      ended_ = polled.status();
      break;
    }
    if (*polled) continue;
    if (!events_.empty() || Clock::now() >= deadline) return std::exchange(events_, {});
    ended_ = CheckAlive();
    if (ended_.ok() && !wait(kPollInterval)) return std::vector<etcdserverpb::Event>();
  }
  return ended_;
}

absl::Status EtcdWatch::Start() {
  endpoint_ = client_.CurrentEndpoint();
  auto stream = std::make_unique<Stream>();
  if (absl::Status status = client_.Prepare(endpoint_, stream->context); !status.ok()) {
    client_.MoveOn(endpoint_);
    return status;
  }
  stream->calls = client_.WatchStub(endpoint_).PrepareAsyncWatch(&stream->context, &stream->queue);
  stream->calls->StartCall(kStarted);
  ++stream->pending;
  stream_ = std::move(stream);
  heard_ = Clock::now();
  return absl::OkStatus();
}

absl::StatusOr<bool> EtcdWatch::Poll() {
  void* tag = nullptr;
  bool ok = false;
  if (stream_->queue.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC)) !=
      grpc::CompletionQueue::GOT_EVENT) {
    return false;
  }
  --stream_->pending;
  if (tag == kWritten) stream_->writing = false;
  if (!ok) return EndOf();
  if (tag == kStarted) {
    etcdserverpb::WatchRequest request;
    request.mutable_create_request()->set_key(key_);
    request.mutable_create_request()->set_start_revision(start_revision_);
    stream_->Write(request);
    stream_->Read();
  } else if (tag == kRead) {
    if (absl::Status status = Take(); !status.ok()) return status;
    stream_->Read();
  }
  return true;
}

absl::Status EtcdWatch::Take() {
  etcdserverpb::WatchResponse& response = stream_->response;
  heard_ = Clock::now();
  asked_ = false;
  if (response.compact_revision() > 0) {
    return absl::OutOfRangeError(absl::StrCat("a watch of etcd from revision ", start_revision_,
                                              " on: compacted up to ",
                                              response.compact_revision()));
  }
  if (response.canceled()) {
    const bool denied = response.cancel_reason().find("permission denied") != std::string::npos;
    return client_.ErrorOf(
        endpoint_,
        grpc::Status(denied ? grpc::StatusCode::PERMISSION_DENIED : grpc::StatusCode::UNAVAILABLE,
                     "the watch was cancelled: " + response.cancel_reason()));
  }
  created_ = created_ || response.created();
  for (etcdserverpb::Event& event : *response.mutable_events()) {
    events_.push_back(std::move(event));
  }
  response.Clear();
  return absl::OkStatus();
}

absl::Status EtcdWatch::CheckAlive() {
  const std::chrono::nanoseconds quiet = Clock::now() - heard_;
  const std::chrono::milliseconds patience = client_.call_timeout();
  if (!created_ ? quiet > patience : asked_ && quiet > kQuietPeriod + patience) {
    client_.MoveOn(endpoint_);
    return client_.ErrorOf(endpoint_,
                           grpc::Status(grpc::StatusCode::UNAVAILABLE, "the watch is silent"));
  }
  if (created_ && !asked_ && quiet > kQuietPeriod && !stream_->writing) {
    etcdserverpb::WatchRequest request;
    request.mutable_progress_request();
    stream_->Write(request);
    asked_ = true;
  }
  return absl::OkStatus();
}

absl::Status EtcdWatch::EndOf() {
  const grpc::Status status = stream_->Finish();
  stream_.reset();
  client_.MoveOn(endpoint_);
  if (status.ok()) {
    return client_.ErrorOf(endpoint_,
                           grpc::Status(grpc::StatusCode::UNAVAILABLE, "the watch was ended"));
  }
  return client_.ErrorOf(endpoint_, status);
}

}  // namespace ringshift
