// The calls of TopologyService and StatusService that ringctl makes, with the deadline of a Remote.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_CLIENT_H_
#define RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_CLIENT_H_

#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "client/ringctl/remote.h"
#include "ringshift/v1/status.grpc.pb.h"
#include "ringshift/v1/topology.grpc.pb.h"

namespace ringshift {

class TopologyClient {
 public:
  // `remote` must outlive the client.
  explicit TopologyClient(const Remote& remote);

  grpc::Status GetStatus(v1::GetStatusResponse& response);

  // All pages.
  grpc::Status List(std::vector<v1::DataCenterSummary>& data_centers);

  // All pages, in one message. Where the data center changes between two pages it begins again, up
  // to kAttempts times; then the router's ABORTED is returned.
  static constexpr int kAttempts = 5;
  grpc::Status Get(const std::string& data_center, v1::GetTopologyResponse& topology);

  grpc::Status Reload(const v1::ReloadTopologyRequest& request,
                      v1::ReloadTopologyResponse& response);
  grpc::Status Accept(const v1::AcceptTopologyRequest& request,
                      v1::AcceptTopologyResponse& response);

 private:
  grpc::Status GetOnce(const std::string& data_center, v1::GetTopologyResponse& topology);

  const Remote& remote_;
  const std::unique_ptr<v1::TopologyService::Stub> stub_;
  const std::unique_ptr<v1::StatusService::Stub> status_stub_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_CLIENT_H_
