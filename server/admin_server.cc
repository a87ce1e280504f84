#include "server/admin_server.h"

#include <grpcpp/alarm.h>

#include <utility>

#include "server/completion.h"
#include "server/grpc_server.h"

namespace ringshift {
namespace {

// The queue has no thread that waits for it, which would also wait for the network, and take the
// events of routing calls. What is in it is taken now and then: health, watches and unknown
// methods, and that may take a moment.
constexpr std::chrono::milliseconds kLookPause{20};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    ListenAddress& address, const std::vector<grpc::Service*>& services,
    const std::set<std::string>& names, const std::vector<QueueCalls*>& streams) {
  std::unique_ptr<AdminServer> admin(new AdminServer(names, streams));
  absl::StatusOr<std::unique_ptr<grpc::Server>> server = StartGrpcServer(
      services, admin->health_, address,
      [&](grpc::ServerBuilder& builder) { admin->queue_ = builder.AddCompletionQueue(); });
  if (!server.ok()) return server.status();
  admin->server_ = *std::move(server);
  for (QueueCalls* calls : admin->calls_) calls->Start(*admin->queue_);
  admin->take_events_ =
      std::make_unique<PeriodicTask>(kLookPause, [admin = admin.get()] { admin->TakeEvents(); });
  return admin;
}

AdminServer::~AdminServer() { Shutdown(std::chrono::system_clock::now()); }

void AdminServer::TakeEvents() {
  void* tag = nullptr;
  bool ok = false;
  // gRPC looks at the network only where it finds no event, and so it has one that is the last.
  grpc::Alarm last;
  last.Set(queue_.get(), ::gpr_inf_past(GPR_CLOCK_MONOTONIC), &last);
  while (queue_->Next(&tag, &ok) && tag != &last) static_cast<Completion*>(tag)->OnEvent(ok);
}

void AdminServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (server_ == nullptr) return;
  health_.EndWatches();
  server_->Shutdown(deadline);
  take_events_->Stop(std::chrono::steady_clock::time_point::max());
  // A call that came after the last look begins an operation, for which the queue must be open.
  TakeEvents();
  for (QueueCalls* calls : calls_) calls->Stop();
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<Completion*>(tag)->OnEvent(ok);
  server_.reset();
}

}  // namespace ringshift
