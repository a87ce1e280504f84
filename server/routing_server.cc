#include "server/routing_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "server/grpc_server.h"

namespace ringshift {
namespace {

constexpr std::size_t kMaxQueues = 16;

}  // namespace

std::size_t DefaultRoutingQueues() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, kMaxQueues);
}

absl::StatusOr<std::unique_ptr<RoutingServer>> RoutingServer::Start(
    ListenAddress& address, const Options& options, RoutingService& service,
    const RoutingHandlerFactory& make_handler, const std::vector<QueueCalls*>& streams) {
  std::unique_ptr<RoutingServer> server(new RoutingServer(options));
  absl::StatusOr<std::unique_ptr<grpc::Server>> started =
      StartGrpcServer({&service}, server->health_, address, [&](grpc::ServerBuilder& builder) {
        builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                                   RoutingQueue::kMaxCallsAConnection);
        builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                                   static_cast<int>(options.connection_age.age.count()));
        builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                                   static_cast<int>(options.connection_age.grace.count()));
        for (std::size_t i = 0; i < options.queues; ++i) {
          std::vector<QueueCalls*> others;
          if (i == 0) {
            others = streams;
            others.push_back(&server->health_);
          }
          server->queues_.push_back(std::make_unique<RoutingQueue>(
              builder.AddCompletionQueue(), service, make_handler(), server->limit_, others));
        }
      });
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  for (const std::unique_ptr<RoutingQueue>& queue : server->queues_) queue->Start();
  return server;
}

RoutingServer::~RoutingServer() { Shutdown(std::chrono::system_clock::now()); }

void RoutingServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (server_ == nullptr) return;
  health_.EndWatches();
  server_->Shutdown(deadline);
  for (const std::unique_ptr<RoutingQueue>& queue : queues_) queue->Stop();
  server_.reset();
}

}  // namespace ringshift
