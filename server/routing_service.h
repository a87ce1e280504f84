// ringshift.v1.RoutingService, as its proto describes it: Route, RouteBatch and the streams for the
// completion queues of a RoutingServer, which get the bytes of a request; ExplainRoute and
// RouteHolders on a thread of their own.
//
// Thread safety: thread-safe. A call takes one routing table and never waits for a change.
#ifndef RINGSHIFT_SERVER_ROUTING_SERVICE_H_
#define RINGSHIFT_SERVER_ROUTING_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"

namespace ringshift {

class RoutingService final
    : public v1::RoutingService::WithRawMethod_Route<v1::RoutingService::WithRawMethod_RouteBatch<
          v1::RoutingService::WithRawMethod_ReportOutcomes<
              v1::RoutingService::WithRawMethod_WatchRouting<v1::RoutingService::Service>>>> {
 public:
  // Both outlive this object.
  RoutingService(const Lifecycle& lifecycle, const RoutingDirectory& directory)
      : lifecycle_(lifecycle), directory_(directory) {}

  // Are not counted among the routes.
  grpc::Status ExplainRoute(grpc::ServerContext* context, const v1::ExplainRouteRequest* request,
                            v1::ExplainRouteResponse* response) override;
  grpc::Status RouteHolders(grpc::ServerContext* context, const v1::RouteHoldersRequest* request,
                            v1::RouteHoldersResponse* response) override;

 private:
  absl::StatusOr<std::shared_ptr<const RoutingTable>> FindTable(
      const std::string& data_center) const;
  absl::Status Explain(const v1::ExplainRouteRequest& request,
                       v1::ExplainRouteResponse& response) const;
  absl::Status Holders(const v1::RouteHoldersRequest& request,
                       v1::RouteHoldersResponse& response) const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_SERVICE_H_
