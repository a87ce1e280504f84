#include "client/ringctl/topology_client.h"

#include <utility>

namespace ringshift {

TopologyClient::TopologyClient(const Remote& remote)
    : remote_(remote),
      stub_(v1::TopologyService::NewStub(remote.channel())),
      status_stub_(v1::StatusService::NewStub(remote.channel())) {}

grpc::Status TopologyClient::GetStatus(v1::GetStatusResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return status_stub_->GetStatus(&context, v1::GetStatusRequest(), &response);
}

grpc::Status TopologyClient::List(std::vector<v1::DataCenterSummary>& data_centers) {
  v1::ListDataCentersRequest request;
  do {
    grpc::ClientContext context;
    remote_.SetDeadline(context);
    v1::ListDataCentersResponse response;
    const grpc::Status status = stub_->ListDataCenters(&context, request, &response);
    if (!status.ok()) return status;
    for (v1::DataCenterSummary& data_center : *response.mutable_data_centers()) {
      data_centers.push_back(std::move(data_center));
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return grpc::Status::OK;
}

grpc::Status TopologyClient::Get(const std::string& data_center,
                                 v1::GetTopologyResponse& topology) {
  grpc::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = GetOnce(data_center, topology);
    if (status.error_code() != grpc::StatusCode::ABORTED) break;
  }
  return status;
}

grpc::Status TopologyClient::GetOnce(const std::string& data_center,
                                     v1::GetTopologyResponse& topology) {
  topology.Clear();
  v1::GetTopologyRequest request;
  request.set_data_center(data_center);
  do {
    grpc::ClientContext context;
    remote_.SetDeadline(context);
    v1::GetTopologyResponse page;
    const grpc::Status status = stub_->GetTopology(&context, request, &page);
    if (!status.ok()) return status;
    request.set_page_token(page.next_page_token());
    page.clear_next_page_token();
    if (topology.nodes().empty()) {
      topology = std::move(page);
    } else {
      for (v1::Node& node : *page.mutable_nodes()) *topology.add_nodes() = std::move(node);
    }
  } while (!request.page_token().empty());
  return grpc::Status::OK;
}

grpc::Status TopologyClient::Reload(const v1::ReloadTopologyRequest& request,
                                    v1::ReloadTopologyResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->ReloadTopology(&context, request, &response);
}

grpc::Status TopologyClient::Accept(const v1::AcceptTopologyRequest& request,
                                    v1::AcceptTopologyResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->AcceptTopology(&context, request, &response);
}

}  // namespace ringshift
