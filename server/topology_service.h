// ringshift.v1.TopologyService, as its proto describes it.
//
// Thread safety: thread-safe. What takes long is done by a WorkQueue, and its handler waits for it.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_SERVICE_H_
#define RINGSHIFT_SERVER_TOPOLOGY_SERVICE_H_

#include <cstddef>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "ringshift/v1/topology.grpc.pb.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/topology_controller.h"
#include "server/work_queue.h"

namespace ringshift {

class TopologyService final : public v1::TopologyService::Service {
 public:
  // A page ends before it has more, so that a reply stays below the 4 MiB that clients take,
  // whatever the names and features of nodes are.
  static constexpr std::size_t kMaxPageBytes = std::size_t{2} << 20;

  // `topology` is used on the thread of `reloads`, and `reads` does what takes long and changes
  // nothing. All outlive this object; the queues must have stopped before the server is gone.
  TopologyService(const Lifecycle& lifecycle, const RoutingDirectory& directory,
                  TopologyController& topology, WorkQueue& reloads, WorkQueue& reads)
      : lifecycle_(lifecycle),
        directory_(directory),
        topology_(topology),
        reloads_(reloads),
        reads_(reads) {}

  grpc::Status ListDataCenters(grpc::ServerContext* context,
                               const v1::ListDataCentersRequest* request,
                               v1::ListDataCentersResponse* response) override;
  grpc::Status GetTopology(grpc::ServerContext* context, const v1::GetTopologyRequest* request,
                           v1::GetTopologyResponse* response) override;
  grpc::Status GetRingStats(grpc::ServerContext* context, const v1::GetRingStatsRequest* request,
                            v1::GetRingStatsResponse* response) override;
  grpc::Status ReloadTopology(grpc::ServerContext* context,
                              const v1::ReloadTopologyRequest* request,
                              v1::ReloadTopologyResponse* response) override;
  grpc::Status AcceptTopology(grpc::ServerContext* context,
                              const v1::AcceptTopologyRequest* request,
                              v1::AcceptTopologyResponse* response) override;

 private:
  absl::Status List(const v1::ListDataCentersRequest& request,
                    v1::ListDataCentersResponse& response) const;
  absl::Status Get(const v1::GetTopologyRequest& request, v1::GetTopologyResponse& response) const;
  absl::Status CheckAccept(const v1::AcceptTopologyRequest& request) const;
  std::set<std::string> HeldNames() const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
  TopologyController& topology_;
  WorkQueue& reloads_;
  WorkQueue& reads_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_SERVICE_H_
