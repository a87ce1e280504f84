// The pages of GetTopology: the nodes of a data center by name.
//
// Thread safety: pure function.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_PAGE_H_
#define RINGSHIFT_SERVER_TOPOLOGY_PAGE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "ringshift/v1/topology.pb.h"
#include "routing/routing_table.h"

namespace ringshift {

// Adds the page after `token` ("" is the first one), of at most `max_nodes` nodes and `max_bytes`
// (but of one node at least), and the token of the next one. Cost: O(nodes log page).
//
// INVALID_ARGUMENT  `token` is none that this function gave.
// ABORTED           it was given for another table.
absl::Status FillTopologyPage(const RoutingTable& table, std::string_view token,
                              std::size_t max_nodes, std::size_t max_bytes,
                              v1::GetTopologyResponse& response);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_PAGE_H_
