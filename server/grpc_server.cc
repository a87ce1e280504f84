#include "server/grpc_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace ringshift {
namespace {

// Clients may ping as often as the common libraries let them, with calls or without; one that goes
// on pinging more often is sent away.
constexpr std::chrono::milliseconds kMinPingInterval{10'000};
constexpr int kMaxPingStrikes = 2;

// Each call that is not on a completion queue has a thread. Those of the admin port mostly wait in
// the WorkQueues, which take fewer; ExplainRoute works. What comes beyond is refused with
// RESOURCE_EXHAUSTED.
constexpr int kMaxHandlerThreads = 256;

// What gRPC may hold of messages that are being received or sent, over however many connections:
// more than the batches that may wait in 4 queues, and little beside large rings. Beyond it gRPC
// takes no more from connections and ends calls and then connections until it fits. It does not
// count what it keeps of a call beside its messages.
constexpr std::size_t kMaxMessageBytes = std::size_t{512} << 20;

constexpr std::chrono::milliseconds kPingInterval{30'000};
constexpr std::chrono::milliseconds kPingTimeout{10'000};

}  // namespace

absl::StatusOr<std::unique_ptr<grpc::Server>> StartGrpcServer(
    const std::vector<grpc::Service*>& services, HealthCalls& health, ListenAddress& address,
    const std::function<void(grpc::ServerBuilder&)>& configure) {
  if (absl::Status free = CheckFree(address); !free.ok()) return free;
  const std::string wanted = address.ToString();
  grpc::ServerBuilder builder;
  // Without it a second router on the port would silently take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(kMinPingInterval.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  // A client that is gone without a word, or stopped, does not hold its calls for long.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kPingInterval.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(kPingTimeout.count()));
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  // gRPC looks at that limit once it has unpacked a message, which may be a thousand times as long.
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddListeningPort(wanted, grpc::InsecureServerCredentials(), &address.port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.RegisterAsyncGenericService(&health.service());
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(kMaxHandlerThreads);
  quota.Resize(kMaxMessageBytes);
  builder.SetResourceQuota(quota);
  configure(builder);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || address.port <= 0) {
    return absl::UnavailableError("cannot listen on " + wanted);
  }
  return server;
}

}  // namespace ringshift
