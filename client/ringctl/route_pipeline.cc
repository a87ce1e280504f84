#include "client/ringctl/route_pipeline.h"

#include <utility>

namespace ringshift {

RoutePipeline::RoutePipeline(const Remote& remote, OnAnswer on_answer)
    : remote_(remote),
      on_answer_(std::move(on_answer)),
      stub_(v1::RoutingService::NewStub(remote.channel())) {}

RoutePipeline::~RoutePipeline() {
  for (std::size_t number = first_; number < next_; ++number) call(number).context->TryCancel();
  for (; first_ < next_; ++first_) {
    while (!call(first_).done) WaitForAny();
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool RoutePipeline::Send(std::string_view text, const v1::RouteRequest& request) {
  while (!gave_up_ && next_ - first_ >= kMaxOutstanding) FinishOldest();
  if (gave_up_) return false;
  Call& call = this->call(next_);
  ++next_;
  call.text = text;
  call.request = request;
  call.response.Clear();
  call.done = false;
  call.reader.reset();
  call.context.emplace();
  remote_.SetDeadline(*call.context);
  call.reader = stub_->AsyncRoute(&*call.context, call.request, &queue_);
  call.reader->Finish(&call.response, &call.status, &call);
  return true;
}

bool RoutePipeline::Drain() {
  while (!gave_up_ && first_ < next_) FinishOldest();
  return !gave_up_;
}

void RoutePipeline::FinishOldest() {
  const Call& oldest = call(first_);
  while (!oldest.done) WaitForAny();
  ++first_;
  gave_up_ =
      !on_answer_(Answer{oldest.text, first_, oldest.request, oldest.status, oldest.response});
}

void RoutePipeline::WaitForAny() {
  void* tag = nullptr;
  bool ok = false;  // always true for Finish
  if (queue_.Next(&tag, &ok)) static_cast<Call*>(tag)->done = true;
}

}  // namespace ringshift
