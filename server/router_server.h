// A router: its state, its three listeners, and the way from the start to the end.
//
//   Lifecycle lifecycle;
//   auto router = RouterServer::Start(options, lifecycle);   // listening, NOT_SERVING
//   absl::Status ready = (*router)->BuildAndServe();          // SERVING
//   lifecycle.WaitUntilDraining();
//   (*router)->Drain();                                       // NOT_SERVING
//   (*router)->Stop(std::chrono::seconds(3));                 // calls finish, listeners close
//
// Thread safety: used by one thread, where nothing else is said; calls that come in have their own.
#ifndef RINGSHIFT_SERVER_ROUTER_SERVER_H_
#define RINGSHIFT_SERVER_ROUTER_SERVER_H_

#include <chrono>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/store.h"
#include "routing/routing_directory.h"
#include "server/admin_server.h"
#include "server/file_reload.h"
#include "server/forecaster.h"
#include "server/http_server.h"
#include "server/lifecycle.h"
#include "server/metrics.h"
#include "server/migration_controller.h"
#include "server/migration_service.h"
#include "server/open_store.h"
#include "server/options.h"
#include "server/outcome_calls.h"
#include "server/outcome_counts.h"
#include "server/outcome_reporters.h"
#include "server/periodic_task.h"
#include "server/queued_task.h"
#include "server/rate_window.h"
#include "server/route_metrics.h"
#include "server/routing_server.h"
#include "server/routing_service.h"
#include "server/status_service.h"
#include "server/store_health.h"
#include "server/topology_controller.h"
#include "server/topology_service.h"
#include "server/topology_watcher.h"
#include "server/watch_calls.h"
#include "server/watch_states.h"
#include "server/work_queue.h"

namespace ringshift {

class RouterServer {
 public:
  // Opens the store and listens. Until BuildAndServe, health is NOT_SERVING, /readyz is 503, and
  // every call but GetStatus is refused with UNAVAILABLE. `lifecycle` outlives the server.
  //
  // Errors: those of CheckFree and OpenStore; INVALID_ARGUMENT for two listeners on one
  // port. A store is made only where the ports were free and the topology file is good.
  static absl::StatusOr<std::unique_ptr<RouterServer>> Start(const RouterOptions& options,
                                                             Lifecycle& lifecycle);
  // Stops at once.
  ~RouterServer();

  // Takes up migrations and topologies, builds the rings, and begins to answer and to watch the
  // topology file. On an error the router never answers anything.
  absl::Status BuildAndServe();

  // Has the topology file read and taken up, soon. REQUIRES: BuildAndServe was OK. May be called
  // from any thread.
  void Reload() { reload_by_signal_.Post(); }

  // Says NOT_SERVING, ends watches and reports, and goes on answering until calls cease, but not
  // for more than 2 s; then refuses them with UNAVAILABLE until they cease, but not for more than 1
  // s. Idle, it takes 1 s.
  void Drain();

  // Ends every Watch of health, lets calls finish for `grace`, ends those that have not, and closes
  // the listeners. Idle, it takes no time. False if something is still under way then that cannot
  // be ended, such as a change that waits for the store or a reload that builds rings; destroying
  // the server would wait for it. A line in the log for each data center whose rollback the store
  // does not have.
  bool Stop(std::chrono::milliseconds grace);

 private:
  // A hundred changes of migrations a second, beside which calls keep their latency.
  static constexpr std::chrono::milliseconds kChangePace{10};

  RouterServer(const RouterOptions& options, OpenedStore store, Lifecycle& lifecycle);

  absl::Status Listen(const RouterOptions& options);
  void TellWatches();
  void EndStreams();
  void StartPeriodicTasks();
  void SetHealth(bool serving);
  // Once: Stop may be called again.
  void LogLostRollbacks();
  // False if there was no time of `quiet` without a routing call within `limit`.
  bool WaitUntilQuiet(std::chrono::milliseconds quiet, std::chrono::milliseconds limit);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::unique_ptr<MigrationStore> store_;
  Lifecycle& lifecycle_;
  StoreHealth store_health_;
  RoutingDirectory directory_;
  MigrationController migrations_;
  RouteMetrics route_metrics_;
  TopologyController topology_;
  OutcomeCounts outcome_counts_;
  RateWindow rates_;
  Forecaster forecaster_;
  RouterMetrics metrics_;
  // What the queues below do, which are gone before.
  QueuedTask check_store_;
  QueuedTask catch_up_;
  QueuedTask take_changes_;
  QueuedTask save_rollbacks_;
  QueuedTask reload_by_signal_;
  FileReload reload_by_file_;
  TopologyWatcher watcher_;
  WorkQueue changes_{kChangePace};  // of the store
  WorkQueue reloads_;               // of the topology
  WorkQueue reads_;                 // that take long
  RoutingService routing_service_;
  MigrationService migration_service_;
  TopologyService topology_service_;
  StatusService status_service_;
  const OutcomeReporters outcome_reporters_;
  OutcomeCalls outcome_calls_;
  WatchStates watch_states_;
  WatchCalls routing_watches_;
  WatchCalls migration_watches_;
  // Last, so that they are gone before what they use. Null where they could not listen.
  std::unique_ptr<RoutingServer> public_server_;
  std::unique_ptr<AdminServer> admin_server_;
  std::unique_ptr<HttpServer> http_server_;
  std::vector<std::unique_ptr<PeriodicTask>> periodic_tasks_;
  bool has_logged_lost_rollbacks_ = false;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTER_SERVER_H_
