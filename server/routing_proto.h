// What routing answers, as messages; and what all calls of RoutingService check alike.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_ROUTING_PROTO_H_
#define RINGSHIFT_SERVER_ROUTING_PROTO_H_

#include <string_view>

#include "absl/status/status.h"
#include "ringshift/v1/routing.pb.h"
#include "routing/data_center.h"
#include "routing/route.h"
#include "routing/routing_table.h"
#include "server/lifecycle.h"

namespace ringshift {

// UNAVAILABLE where the router does not answer now, INVALID_ARGUMENT for an empty name.
absl::Status CheckCall(const Lifecycle& lifecycle, std::string_view data_center);

v1::RingVersion ToProto(RingVersion version);
void ToProto(const DataCenter::Node& node, v1::RoutedNode& proto);
void ToProto(const RoutingTable& table, v1::TableIdentity& proto);
// Whether the pool has fewer nodes than the number that was asked for, `replicas`.
bool IsShort(const RouteAnswer& answer, int replicas);
void ToProto(const RoutingTable& table, const RouteAnswer& answer, int replicas,
             v1::RouteResponse& proto);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_PROTO_H_
