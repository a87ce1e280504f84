// A router: its state, its three listeners, and the way from the start to the end.
//
//   Lifecycle lifecycle;
//   auto router = RouterServer::Start(options, lifecycle);   // listening, NOT_SERVING
//   absl::Status ready = (*router)->BuildAndServe();          // SERVING
//   lifecycle.WaitUntilDraining();
//   (*router)->Stop(std::chrono::seconds(3));                 // NOT_SERVING, calls finish,
//   listeners close
//
// Thread safety: used by one thread; calls that come in have their own.
#ifndef RINGSHIFT_SERVER_ROUTER_SERVER_H_
#define RINGSHIFT_SERVER_ROUTER_SERVER_H_

#include <grpcpp/server.h>

#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/sqlite_store.h"
#include "routing/routing_directory.h"
#include "routing/topology.h"
#include "server/http_server.h"
#include "server/lifecycle.h"
#include "server/metrics.h"
#include "server/migration_controller.h"
#include "server/migration_service.h"
#include "server/options.h"
#include "server/route_metrics.h"
#include "server/routing_service.h"

namespace ringshift {

class RouterServer {
 public:
  // Loads the topology, opens the store and listens. Until BuildAndServe, health is NOT_SERVING,
  // /readyz is 503, and every call is refused with UNAVAILABLE. `lifecycle` outlives the server.
  //
  // Errors: those of LoadTopologyFile, CheckFree and SqliteStore::Open; NOT_FOUND for a data center
  // in `options` that the topology does not have; INVALID_ARGUMENT for two listeners on one port. A
  // store is made only where the ports were free.
  static absl::StatusOr<std::unique_ptr<RouterServer>> Start(const RouterOptions& options,
                                                             Lifecycle& lifecycle);
  // Stops at once.
  ~RouterServer();

  // Builds every data center's rings, takes up their migrations, and begins to answer. On an error
  // the router never answers anything.
  absl::Status BuildAndServe();

  // Says NOT_SERVING and goes on answering until calls cease, but not for more than 2 s; then
  // refuses them with UNAVAILABLE until they cease, but not for more than 1 s. Idle, it takes 1 s.
  void Drain();

  // Lets calls finish for `grace`, ends those that have not (an open health Watch
  // never does), and closes the listeners. Idle, it takes no time. False if a change of a migration
  // still waits for the store then; destroying the server would wait for it.
  bool Stop(std::chrono::milliseconds grace);

 private:
  RouterServer(Topology topology, std::unique_ptr<SqliteStore> store, Lifecycle& lifecycle);

  absl::Status Listen(const RouterOptions& options);
  void SetHealth(bool serving);
  // False if there was no time of `quiet` without a routing call within `limit`.
  bool WaitUntilQuiet(std::chrono::milliseconds quiet, std::chrono::milliseconds limit);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Topology topology_;
  const std::unique_ptr<SqliteStore> store_;
  Lifecycle& lifecycle_;
  RoutingDirectory directory_;
  MigrationController controller_;
  RouteMetrics route_metrics_;
  RouterMetrics metrics_;
  RoutingService routing_service_;
  MigrationService migration_service_;
  // Last, so that they are gone before what they use. Null where they could not listen.
  std::unique_ptr<grpc::Server> public_server_;
  std::unique_ptr<grpc::Server> admin_server_;
  std::unique_ptr<HttpServer> http_server_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTER_SERVER_H_
