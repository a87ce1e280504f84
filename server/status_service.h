// ringshift.v1.StatusService, as its proto describes it.
//
// Thread safety: thread-safe. No handler waits for anything.
#ifndef RINGSHIFT_SERVER_STATUS_SERVICE_H_
#define RINGSHIFT_SERVER_STATUS_SERVICE_H_

#include "migration/store.h"
#include "ringshift/v1/status.grpc.pb.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/store_health.h"
#include "server/topology_controller.h"

namespace ringshift {

class StatusService final : public v1::StatusService::Service {
 public:
  // All outlive this object. `start_time` is the router's.
  StatusService(const Lifecycle& lifecycle, WallTime start_time, const StoreHealth& store,
                const TopologyController& topology, const RoutingDirectory& directory)
      : lifecycle_(lifecycle),
        start_time_(start_time),
        store_(store),
        topology_(topology),
        directory_(directory) {}

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override;

 private:
  const Lifecycle& lifecycle_;
  const WallTime start_time_;
  const StoreHealth& store_;
  const TopologyController& topology_;
  const RoutingDirectory& directory_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_STATUS_SERVICE_H_
