#include "server/admin_server.h"

#include <utility>

#include "server/completion.h"
#include "server/grpc_server.h"

namespace ringshift {
namespace {

// The queue has no thread that waits for it, which would also wait for the network, and take the
// events of routing calls. It is looked at now and then: what it has is health and unknown methods,
// and that may take a moment.
constexpr std::chrono::milliseconds kLookPause{20};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    ListenAddress& address, const std::vector<grpc::Service*>& services,
    const std::set<std::string>& names) {
  std::unique_ptr<AdminServer> admin(new AdminServer(names));
  absl::StatusOr<std::unique_ptr<grpc::Server>> server = StartGrpcServer(
      services, admin->health_, address,
      [&](grpc::ServerBuilder& builder) { admin->queue_ = builder.AddCompletionQueue(); });
  if (!server.ok()) return server.status();
  admin->server_ = *std::move(server);
  admin->health_.Start(*admin->queue_);
  admin->take_events_ =
      std::make_unique<PeriodicTask>(kLookPause, [admin = admin.get()] { admin->TakeEvents(); });
  return admin;
}

AdminServer::~AdminServer() { Shutdown(std::chrono::system_clock::now()); }

void AdminServer::TakeEvents() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->AsyncNext(&tag, &ok, ::gpr_inf_past(GPR_CLOCK_MONOTONIC)) ==
         grpc::CompletionQueue::GOT_EVENT) {
    static_cast<Completion*>(tag)->OnEvent(ok);
  }
}

void AdminServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (server_ == nullptr) return;
  health_.EndWatches();
  server_->Shutdown(deadline);
  take_events_.reset();
  // A call that came after the last look begins an operation, for which the queue must be open.
  TakeEvents();
  health_.Stop();
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<Completion*>(tag)->OnEvent(ok);
  server_.reset();
}

}  // namespace ringshift
