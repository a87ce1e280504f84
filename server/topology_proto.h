// Topologies, and what becomes of them, as they leave the process.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_PROTO_H_
#define RINGSHIFT_SERVER_TOPOLOGY_PROTO_H_

#include <string>

#include "ringshift/v1/topology.pb.h"
#include "routing/routing_table.h"
#include "server/topology_controller.h"

namespace ringshift {

void ToProto(const DataCenter::BuiltRing& built, v1::RingSummary& proto);

// Without `is_held`.
void ToProto(const RoutingTable& table, v1::DataCenterSummary& proto);

void ToProto(const TopologyController::Change& change, v1::TopologyChange& proto);

// `file` is the path of the topology file.
void ToProto(const TopologyController::Status& status, const std::string& file,
             v1::ReloadStatus& proto);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_PROTO_H_
