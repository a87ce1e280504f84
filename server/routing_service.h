// ringshift.v1.RoutingService, as its proto describes it.
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
#include "server/route_metrics.h"

namespace ringshift {

class RoutingService final : public v1::RoutingService::CallbackService {
 public:
  // All three outlive this object.
  RoutingService(const Lifecycle& lifecycle, const RoutingDirectory& directory,
                 RouteMetrics& metrics)
      : lifecycle_(lifecycle), directory_(directory), metrics_(metrics) {}

  grpc::ServerUnaryReactor* Route(grpc::CallbackServerContext* context,
                                  const v1::RouteRequest* request,
                                  v1::RouteResponse* response) override;
  // Is not counted among the routes.
  grpc::ServerUnaryReactor* ExplainRoute(grpc::CallbackServerContext* context,
                                         const v1::ExplainRouteRequest* request,
                                         v1::ExplainRouteResponse* response) override;

 private:
  absl::Status Answer(const v1::RouteRequest& request, const DataCenterRouteMetrics& metrics,
                      v1::RouteResponse& response) const;
  absl::Status Explain(const v1::ExplainRouteRequest& request,
                       v1::ExplainRouteResponse& response) const;
  absl::StatusOr<std::shared_ptr<const RoutingTable>> Find(const std::string& data_center) const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
  RouteMetrics& metrics_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_SERVICE_H_
