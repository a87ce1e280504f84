// ringshift.v1.RoutingService, as its proto describes it: Route and RouteBatch for the completion
// queues of a RoutingServer, which get the bytes of a request; ExplainRoute on a thread of its own.
//
// Thread safety: thread-safe. A call takes one routing table and never waits for a change.
#ifndef RINGSHIFT_SERVER_ROUTING_SERVICE_H_
#define RINGSHIFT_SERVER_ROUTING_SERVICE_H_

#include "absl/status/status.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"

namespace ringshift {

class RoutingService final
    : public v1::RoutingService::WithRawMethod_Route<
          v1::RoutingService::WithRawMethod_RouteBatch<v1::RoutingService::Service>> {
 public:
  // Both outlive this object.
  RoutingService(const Lifecycle& lifecycle, const RoutingDirectory& directory)
      : lifecycle_(lifecycle), directory_(directory) {}

  // Is not counted among the routes.
  grpc::Status ExplainRoute(grpc::ServerContext* context, const v1::ExplainRouteRequest* request,
                            v1::ExplainRouteResponse* response) override;

 private:
  absl::Status Explain(const v1::ExplainRouteRequest& request,
                       v1::ExplainRouteResponse& response) const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_SERVICE_H_
