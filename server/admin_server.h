// The admin port: the services of operators, and health. Nothing here is on the path of a request.
//
// Thread safety: thread-safe, save for Shutdown, which one thread calls at a time.
#ifndef RINGSHIFT_SERVER_ADMIN_SERVER_H_
#define RINGSHIFT_SERVER_ADMIN_SERVER_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/health_calls.h"
#include "server/listen_address.h"
#include "server/periodic_task.h"
#include "server/queue_calls.h"

namespace ringshift {

class AdminServer {
 public:
  // Listens, with health NOT_SERVING, and puts the port that it really has into `address`. `names`
  // are those of the services. They and `streams`, the calls of methods that have no thread,
  // outlive the server. A RoutingServer of the process must be there for as long as calls come: its
  // threads do the waiting for the network. Errors: those of StartGrpcServer.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      ListenAddress& address, const std::vector<grpc::Service*>& services,
      const std::set<std::string>& names, const std::vector<QueueCalls*>& streams = {});
  // Stops at once.
  ~AdminServer();

  void SetHealth(bool serving) { health_.SetServing(serving); }

  // What is in the queue of streams and health is done now, and not within a moment.
  void TakeEventsSoon() { take_events_->RunSoon(); }

  // Ends every Watch of health, lets calls finish until `deadline`, those of `streams` must have
  // been told to, cancels those that have not, waits for their handlers, and closes the port. The
  // second time it does nothing.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  AdminServer(const std::set<std::string>& names, std::vector<QueueCalls*> streams)
      : health_(names), calls_(std::move(streams)) {
    calls_.push_back(&health_);
  }

  void TakeEvents();

  HealthCalls health_;
  std::vector<QueueCalls*> calls_;  // of the queue
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;  // null where it could not listen, or was shut down
  std::unique_ptr<PeriodicTask> take_events_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ADMIN_SERVER_H_
