// What tests ask a real router over gRPC, each call with its error as absl::Status.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_TESTS_INTEGRATION_ROUTER_CLIENT_H_
#define RINGSHIFT_TESTS_INTEGRATION_ROUTER_CLIENT_H_

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "ringshift/v1/status.grpc.pb.h"
#include "ringshift/v1/topology.grpc.pb.h"
#include "tests/integration/router_process.h"

namespace ringshift::testing {

class RouterClient {
 public:
  explicit RouterClient(const RouterProcess& router)
      : routing_(v1::RoutingService::NewStub(router.PublicChannel())),
        migration_(v1::MigrationService::NewStub(router.AdminChannel())),
        topology_(v1::TopologyService::NewStub(router.AdminChannel())),
        status_(v1::StatusService::NewStub(router.AdminChannel())) {}

  absl::StatusOr<v1::RouteResponse> Route(const v1::RouteRequest& request) const {
    return Call<v1::RouteResponse>(*routing_, &v1::RoutingService::Stub::Route, request);
  }
  absl::StatusOr<v1::ExplainRouteResponse> Explain(const v1::ExplainRouteRequest& request) const {
    return Call<v1::ExplainRouteResponse>(*routing_, &v1::RoutingService::Stub::ExplainRoute,
                                          request);
  }
  absl::StatusOr<v1::RouteHoldersResponse> Holders(const v1::RouteHoldersRequest& request) const {
    return Call<v1::RouteHoldersResponse>(*routing_, &v1::RoutingService::Stub::RouteHolders,
                                          request);
  }
  absl::StatusOr<v1::ListDataCentersResponse> ListDataCenters(
      const v1::ListDataCentersRequest& request = {}) const {
    return Call<v1::ListDataCentersResponse>(*topology_,
                                             &v1::TopologyService::Stub::ListDataCenters, request);
  }
  absl::StatusOr<v1::GetTopologyResponse> GetTopology(const v1::GetTopologyRequest& request) const {
    return Call<v1::GetTopologyResponse>(*topology_, &v1::TopologyService::Stub::GetTopology,
                                         request);
  }
  absl::StatusOr<v1::GetRingStatsResponse> GetRingStats(const std::string& data_center) const {
    v1::GetRingStatsRequest request;
    request.set_data_center(data_center);
    return Call<v1::GetRingStatsResponse>(*topology_, &v1::TopologyService::Stub::GetRingStats,
                                          request);
  }
  absl::StatusOr<v1::ReloadTopologyResponse> Reload(const std::string& requested_by = "") const {
    v1::ReloadTopologyRequest request;
    request.set_requested_by(requested_by);
    return Call<v1::ReloadTopologyResponse>(*topology_, &v1::TopologyService::Stub::ReloadTopology,
                                            request);
  }
  absl::StatusOr<v1::AcceptTopologyResponse> Accept(
      const v1::AcceptTopologyRequest& request) const {
    return Call<v1::AcceptTopologyResponse>(*topology_, &v1::TopologyService::Stub::AcceptTopology,
                                            request);
  }
  absl::StatusOr<v1::AcceptTopologyResponse> Accept(const std::string& checksum) const {
    v1::AcceptTopologyRequest request;
    request.set_checksum(checksum);
    return Accept(request);
  }
  // However even ring v2 is.
  absl::StatusOr<v1::SetMigrationResponse> SetShare(const std::string& data_center, int ppm) const {
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers(data_center);
    request.set_v2_ppm(ppm);
    request.set_accept_imbalance(true);
    return Call<v1::SetMigrationResponse>(*migration_, &v1::MigrationService::Stub::SetMigration,
                                          request);
  }
  absl::StatusOr<v1::RenameMigrationResponse> Rename(const std::string& from,
                                                     const std::string& to) const {
    v1::RenameMigrationRequest request;
    request.set_data_center(from);
    request.set_new_data_center(to);
    return Call<v1::RenameMigrationResponse>(*migration_,
                                             &v1::MigrationService::Stub::RenameMigration, request);
  }
  absl::StatusOr<v1::ListMigrationChangesResponse> History(const std::string& data_center) const {
    v1::ListMigrationChangesRequest request;
    request.set_data_center(data_center);
    return Call<v1::ListMigrationChangesResponse>(
        *migration_, &v1::MigrationService::Stub::ListMigrationChanges, request);
  }
  absl::StatusOr<v1::Migration> GetMigration(const std::string& data_center) const {
    v1::GetMigrationRequest request;
    request.set_data_center(data_center);
    auto response = Call<v1::GetMigrationResponse>(
        *migration_, &v1::MigrationService::Stub::GetMigration, request);
    if (!response.ok()) return response.status();
    return response->migration();
  }

  // A test failure and an empty answer if there is none.
  v1::GetStatusResponse Status() const {
    auto response = Call<v1::GetStatusResponse>(*status_, &v1::StatusService::Stub::GetStatus,
                                                v1::GetStatusRequest());
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::GetStatusResponse();
  }

  // Asks until `is_there` of the status; a test failure if that takes too long.
  v1::GetStatusResponse WaitFor(
      const std::function<bool(const v1::GetStatusResponse&)>& is_there) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      v1::GetStatusResponse status = Status();
      if (is_there(status)) return status;
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "the status does not become what it should: " << status.DebugString();
        return status;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // The answers to `count` keys, by key, without their table. A failure is a test failure.
  std::map<std::string, std::string> Owners(const std::string& data_center, int count) const {
    std::map<std::string, std::string> owners;
    for (int i = 0; i < count; ++i) {
      v1::RouteRequest request;
      request.set_data_center(data_center);
      request.set_key("/img/" + std::to_string(i));
      const absl::StatusOr<v1::RouteResponse> response = Route(request);
      EXPECT_TRUE(response.ok()) << response.status();
      if (response.ok()) owners[request.key()] = response->owner().name();
    }
    return owners;
  }

  // The checksum of the table that answers; 0 if none does.
  std::uint64_t TableChecksum(const std::string& data_center) const {
    v1::RouteRequest request;
    request.set_data_center(data_center);
    request.set_key("key");
    const absl::StatusOr<v1::RouteResponse> response = Route(request);
    return response.ok() ? response->table().checksum() : 0;
  }

 private:
  template <typename Response, typename Stub, typename Method, typename Request>
  static absl::StatusOr<Response> Call(Stub& stub, Method method, const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (status.ok()) return response;
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::string_view(status.error_message()));
  }

  const std::unique_ptr<v1::RoutingService::Stub> routing_;
  const std::unique_ptr<v1::MigrationService::Stub> migration_;
  const std::unique_ptr<v1::TopologyService::Stub> topology_;
  const std::unique_ptr<v1::StatusService::Stub> status_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_ROUTER_CLIENT_H_
