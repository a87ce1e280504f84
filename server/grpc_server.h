// How both gRPC servers of a router are made, and what they allow their clients.
//
// Thread safety: thread-safe function.
#ifndef RINGSHIFT_SERVER_GRPC_SERVER_H_
#define RINGSHIFT_SERVER_GRPC_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/health_calls.h"
#include "server/listen_address.h"

namespace ringshift {

// A larger request is refused with RESOURCE_EXHAUSTED.
inline constexpr int kMaxRequestBytes = 4 << 20;

// Listens and puts the port that it really has into `address`. The services and `health`, which is
// one of them, outlive the server. `configure` must add a completion queue to the builder, or more.
// As the server has one, none of the threads that do the calls of the services waits for the
// network: whoever waits for the queues does that for all of them. (A server with methods of the
// callback API has such threads whatever it does, so there must be none in the process. They take
// the network's events away from the threads of the routing queues, and make a call half as
// dear again.)
//
// UNAVAILABLE if it cannot listen; else the errors of CheckFree.
absl::StatusOr<std::unique_ptr<grpc::Server>> StartGrpcServer(
    const std::vector<grpc::Service*>& services, HealthCalls& health, ListenAddress& address,
    const std::function<void(grpc::ServerBuilder&)>& configure);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_GRPC_SERVER_H_
