#include "server/routing_queue.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "server/status.h"

namespace ringshift {
namespace {

// Calls that gRPC can hand over while the thread is busy; more wait in gRPC until their turn comes.
constexpr int kExpectedRoutes = 64;
constexpr int kExpectedBatches = 4;

// With fewer calls in hand a Route is answered as soon as it is seen. With more there is a
// backlog: then the queue first takes in what has come, so that the limit sees all of it.
constexpr std::size_t kBacklog = 64;

// A turn: so many events, each a call that came or an answer that was sent, then so many answers to
// Route calls that wait, and a slice of a batch. That is three answers to four calls that come, so
// that in an overload the backlog grows to the limit, and most of the work still goes into answers.
constexpr int kEventsATurn = 32;
constexpr int kAnswersATurn = 12;

// Calls that gRPC may hold, 12 KiB each, until they are taken from it. As long as there are events
// it does not look at the network, where other calls wait, and those of the admin port; but a look
// may bring all calls of a connection.
constexpr int kMaxHeldCalls = 16 * RoutingQueue::kMaxCallsAConnection;

// Requests of batches that wait or are under way in a queue: 16 of the largest ones. What comes
// beyond is refused, whatever the limit of calls.
constexpr std::size_t kMaxBatchBytes = std::size_t{64} << 20;

// Answers that wait in gRPC for their client, in a queue. Where nothing can be sent, an answer and
// what gRPC keeps of its call take kBytesACall beside the answer itself.
constexpr std::size_t kMaxUnsentBytes = std::size_t{64} << 20;
constexpr std::size_t kBytesACall = std::size_t{16} << 10;

// Of a Route request, 16 times the longest key: what is more is not kept until its turn.
constexpr std::size_t kMaxRouteBytes = std::size_t{256} << 10;

constexpr std::size_t kMaxSpareCalls = 256;

gpr_timespec AtOnce() { return ::gpr_inf_past(GPR_CLOCK_MONOTONIC); }

}  // namespace

struct RoutingQueue::Call final : Completion {
  explicit Call(RoutingQueue& q) : queue(q) {}
  void OnEvent(bool ok) override { queue.OnEvent(*this, ok); }

  RoutingQueue& queue;
  RoutingMethod method = RoutingMethod::kRoute;
  bool has_come = false;
  bool has_permit = false;
  RoutingHandler::Time arrival;
  std::size_t request_bytes = 0;
  grpc::ByteBuffer request;
  // Since HandOver, until Forget:
  std::uint64_t number = 0;  // as handed_over_ counts
  std::size_t unsent_bytes = 0;
  bool is_unsent = false;
  // Its place in unsent_, or here.
  std::list<Call*> place{this};
  const std::list<Call*>::iterator position = place.begin();
  std::optional<grpc::ServerContext> context;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer;
};

RoutingQueue::RoutingQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue,
                           RoutingService& service, std::unique_ptr<RoutingHandler> handler,
                           CallLimit& limit, std::vector<QueueCalls*> others)
    : queue_(std::move(queue)),
      service_(service),
      handler_(std::move(handler)),
      permits_(limit),
      others_(std::move(others)) {}

RoutingQueue::~RoutingQueue() { Stop(); }

void RoutingQueue::Start() {
  thread_ = std::thread([this] { Run(); });
}

void RoutingQueue::Stop() {
  if (!thread_.joinable()) return;
  stop_alarm_.Set(queue_.get(), AtOnce(), static_cast<Completion*>(&stop_));
  thread_.join();
}

// Of calls that wait, the server has cancelled what nobody was left to answer.
void RoutingQueue::StopEvent::OnEvent(bool /*ok*/) {
  queue_.is_stopped_ = true;
  for (std::deque<Call*>* calls : {&queue_.waiting_, &queue_.batches_}) {
    for (Call* call : *calls) queue_.Recycle(*call);
    calls->clear();
  }
  for (QueueCalls* calls : queue_.others_) calls->Stop();
  queue_.queue_->Shutdown();
}

void RoutingQueue::Run() {
  for (QueueCalls* calls : others_) calls->Start(*queue_);
  for (int i = 0; i < kExpectedRoutes; ++i) Expect(RoutingMethod::kRoute);
  for (int i = 0; i < kExpectedBatches; ++i) Expect(RoutingMethod::kRouteBatch);
  while (TakeEvents()) DoWork();
}

bool RoutingQueue::TakeEvents() {
  void* tag = nullptr;
  bool ok = false;
  for (int i = 0; i < kEventsATurn; ++i) {
    if (waiting_.empty() && batches_.empty()) {
      if (!queue_->Next(&tag, &ok)) return false;
    } else {
      switch (queue_->AsyncNext(&tag, &ok, AtOnce())) {
        case grpc::CompletionQueue::SHUTDOWN:
          return false;
        case grpc::CompletionQueue::TIMEOUT:
          held_calls_ = 0;
          return true;
        case grpc::CompletionQueue::GOT_EVENT:
          break;
      }
    }
    static_cast<Completion*>(tag)->OnEvent(ok);
  }
  if (held_calls_ + kMaxCallsAConnection > kMaxHeldCalls) return true;
  nothing_.AsyncNext(&tag, &ok, AtOnce());
  held_calls_ += kMaxCallsAConnection;
  return true;
}

void RoutingQueue::OnEvent(Call& call, bool ok) {
  if (!call.has_come && ok && !is_stopped_) return OnArrival(call);
  if (call.is_unsent) Forget(call);
  newest_of_sent_ = std::max(newest_of_sent_, call.number);
  Recycle(call);
}

void RoutingQueue::DoWork() {
  for (int i = 0; i < kAnswersATurn && !waiting_.empty(); ++i) {
    Call& call = *waiting_.front();
    waiting_.pop_front();
    AnswerRoute(call);
  }
  if (!batches_.empty()) ContinueBatch();
}

void RoutingQueue::Expect(RoutingMethod method) {
  std::unique_ptr<Call> spare;
  if (spare_calls_.empty()) {
    spare = std::make_unique<Call>(*this);
  } else {
    spare = std::move(spare_calls_.back());
    spare_calls_.pop_back();
  }
  Call* const call = spare.release();  // until Recycle
  call->method = method;
  call->has_come = false;
  call->has_permit = false;
  call->number = 0;
  call->context.emplace();
  call->writer.emplace(&*call->context);
  Completion* const tag = call;
  if (method == RoutingMethod::kRoute) {
    service_.RequestRoute(&*call->context, &call->request, &*call->writer, queue_.get(),
                          queue_.get(), tag);
  } else {
    service_.RequestRouteBatch(&*call->context, &call->request, &*call->writer, queue_.get(),
                               queue_.get(), tag);
  }
}

void RoutingQueue::OnArrival(Call& call) {
  held_calls_ = std::max(held_calls_ - 1, 0);
  call.has_come = true;
  call.arrival = std::chrono::steady_clock::now();
  call.request_bytes = call.request.Length();
  Expect(call.method);

  const bool is_batch = call.method == RoutingMethod::kRouteBatch;
  if (!is_batch && call.request_bytes > kMaxRouteBytes) {
    return Refuse(call, absl::InvalidArgumentError(absl::string_view(
                            "the request has " + std::to_string(call.request_bytes) +
                            " bytes; Route takes at most " + std::to_string(kMaxRouteBytes))));
  }
  if (is_batch && batch_bytes_ + call.request_bytes > kMaxBatchBytes) {
    return Refuse(call, absl::ResourceExhaustedError("the router has too many batches in hand; "
                                                     "wait a little, or ask another one"));
  }
  if (!permits_.TryAcquire()) {
    return Refuse(call, absl::ResourceExhaustedError("the router has too many calls in hand; wait "
                                                     "a little, or ask another one"));
  }
  call.has_permit = true;
  if (is_batch) {
    batch_bytes_ += call.request_bytes;
    batches_.push_back(&call);
  } else if (waiting_.empty() && CallsInHand() <= kBacklog) {
    AnswerRoute(call);
  } else {
    waiting_.push_back(&call);
  }
}

void RoutingQueue::AnswerRoute(Call& call) {
  grpc::ByteBuffer response;
  const absl::Status status = handler_->Route(call.request, call.arrival, response);
  Send(call, status, response);
}

void RoutingQueue::ContinueBatch() {
  Call& call = *batches_.front();
  const auto end = [&] {
    batches_.pop_front();
    batch_bytes_ -= call.request_bytes;
    is_batch_started_ = false;
  };
  if (!is_batch_started_) {
    if (call.context->deadline() < std::chrono::system_clock::now()) {
      Refuse(call, absl::DeadlineExceededError("the batch waited until its deadline was over"));
      return end();
    }
    handler_->StartBatch(call.request, call.arrival);
    is_batch_started_ = true;
  }
  grpc::ByteBuffer response;
  if (const std::optional<absl::Status> status = handler_->ContinueBatch(response)) {
    Send(call, *status, response);
    end();
  }
}

void RoutingQueue::Send(Call& call, const absl::Status& status, const grpc::ByteBuffer& response) {
  Completion* const tag = &call;
  call.request.Clear();
  HandOver(call, response.Length());
  if (status.ok()) {
    call.writer->Finish(response, grpc::Status::OK, tag);
  } else {
    call.writer->FinishWithError(ToGrpcStatus(status), tag);
  }
}

void RoutingQueue::Refuse(Call& call, const absl::Status& status) {
  call.request.Clear();
  handler_->CountRefused(status.code());
  HandOver(call, 0);
  call.writer->FinishWithError(ToGrpcStatus(status), static_cast<Completion*>(&call));
}

void RoutingQueue::HandOver(Call& call, std::size_t bytes) {
  if (call.has_permit) permits_.Release();
  call.has_permit = false;
  call.number = ++handed_over_;
  call.unsent_bytes = kBytesACall + bytes;
  call.is_unsent = true;
  unsent_.splice(unsent_.end(), call.place);
  unsent_bytes_ += call.unsent_bytes;
  while (unsent_bytes_ > kMaxUnsentBytes && unsent_.front() != &call) {
    Call& oldest = *unsent_.front();
    Forget(oldest);
    handler_->CountRefused(absl::StatusCode::kCancelled);
    oldest.context->TryCancel();
  }
}

void RoutingQueue::Forget(Call& call) {
  call.is_unsent = false;
  unsent_bytes_ -= call.unsent_bytes;
  call.place.splice(call.place.begin(), unsent_, call.position);
}

// Of answers that gRPC has, those that were sent come back in order, soon; one that a newer one has
// overtaken waits for its client.
std::uint64_t RoutingQueue::CallsInHand() const {
  return waiting_.size() + batches_.size() + handed_over_ - newest_of_sent_;
}

void RoutingQueue::Recycle(Call& call) {
  std::unique_ptr<Call> spare(&call);
  spare->writer.reset();
  spare->context.reset();
  spare->request.Clear();
  if (spare_calls_.size() < kMaxSpareCalls) spare_calls_.push_back(std::move(spare));
}

}  // namespace ringshift
