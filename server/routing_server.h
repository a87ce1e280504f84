// The public port: RoutingService, with all but ExplainRoute and RouteHolders on completion queues;
// health; reflection, where it is switched on.
//
//   RoutingService service(lifecycle, directory);
//   auto server = RoutingServer::Start(address, {}, service, [&] {
//     return std::make_unique<TableHandler>(lifecycle, directory, &metrics);
//   });
//   (*server)->SetHealth(true);
//   ...
//   (*server)->Shutdown(std::chrono::system_clock::now() + grace);
//
// Thread safety: thread-safe, save for Shutdown, which one thread calls at a time.
#ifndef RINGSHIFT_SERVER_ROUTING_SERVER_H_
#define RINGSHIFT_SERVER_ROUTING_SERVER_H_

#include <grpcpp/server.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/call_limit.h"
#include "server/health_calls.h"
#include "server/listen_address.h"
#include "server/queue_calls.h"
#include "server/routing_handler.h"
#include "server/routing_queue.h"
#include "server/routing_service.h"

namespace ringshift {

// How long a connection lives, and how long calls may go on over it when it is older.
struct ConnectionAge {
  std::chrono::milliseconds age;
  std::chrono::milliseconds grace;
};

// Connections spread over the routers again, within minutes, after one of them was away. What goes
// on for longer than the grace is the watch of a health, which clients take up again by themselves.
inline constexpr ConnectionAge kConnectionAge{std::chrono::minutes(10), std::chrono::minutes(1)};

// One for two cores, at least 1, at most 16: on two cores a second one makes routing slower, and a
// router has more to do than to answer calls.
std::size_t DefaultRoutingQueues();

class RoutingServer {
 public:
  struct Options {
    std::size_t queues = DefaultRoutingQueues();  // at least 1
    // Route and RouteBatch calls in hand: received, and their answer not yet there. What comes
    // beyond that is refused with RESOURCE_EXHAUSTED. At least 1.
    std::size_t max_concurrent_calls = kDefaultMaxConcurrentCalls;
    ConnectionAge connection_age = kConnectionAge;
  };

  // Listens, with health NOT_SERVING, and puts the port that it really has into `address`.
  // `service`, what the handlers use and `streams`, the calls of its other methods, outlive the
  // server. Errors: those of StartGrpcServer.
  static absl::StatusOr<std::unique_ptr<RoutingServer>> Start(
      ListenAddress& address, const Options& options, RoutingService& service,
      const RoutingHandlerFactory& make_handler, const std::vector<QueueCalls*>& streams = {});
  // Stops at once.
  ~RoutingServer();

  void SetHealth(bool serving) { health_.SetServing(serving); }

  // Ends every Watch of health, lets calls finish until `deadline`, ends those that have not, and
  // closes the port. Those of `streams` must have been told to end. The second time it does
  // nothing.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  explicit RoutingServer(const Options& options)
      : health_({v1::RoutingService::service_full_name()}),
        limit_(options.max_concurrent_calls, options.queues) {}

  HealthCalls health_;
  CallLimit limit_;
  std::vector<std::unique_ptr<RoutingQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;  // null where it could not listen, or was shut down
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_SERVER_H_
