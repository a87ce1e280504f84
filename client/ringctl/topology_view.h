// The topology that a router serves, as tables for people and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_VIEW_H_

#include <string>
#include <vector>

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/topology.pb.h"

namespace ringshift {

// The ring of this version; null if the data center has none.
const v1::RingSummary* FindRing(const v1::DataCenterSummary& data_center, v1::RingVersion version);

// "1.5 GiB", or "-" where there is no such ring.
std::string MemoryOf(const v1::RingSummary* ring);

// "12.5%" of the share that was set, and the one that the router answers with; "-" without one.
std::string RequestedShare(const v1::DataCenterSummary& data_center);
std::string EffectiveShare(const v1::DataCenterSummary& data_center);

// For each data center whose effective share is not the one that was set: which, and why, a line
// each.
std::string ShareNotes(const std::vector<v1::DataCenterSummary>& data_centers);

// Data centers, one a line.
void PrintDataCenters(const std::vector<v1::DataCenterSummary>& data_centers, Output& output);

// One data center: a summary, its rings, its pools and its nodes.
void PrintTopology(const v1::GetTopologyResponse& topology, Output& output);

// The objects of docs/ringctl.md. Every member is there whatever its value.
void WriteDataCenter(const v1::DataCenterSummary& data_center, JsonWriter& json);
void WriteTopology(const v1::GetTopologyResponse& topology, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_VIEW_H_
