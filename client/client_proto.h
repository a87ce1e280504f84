// Between what users of the client see and what goes over the wire.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_CLIENT_CLIENT_PROTO_H_
#define RINGSHIFT_CLIENT_CLIENT_PROTO_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringshift/client.h"
#include "ringshift/v1/routing.pb.h"

namespace ringshift {

v1::RouteRequest ToProto(RouteQuery query);
v1::RouteBatchRequest ToProto(BatchQuery query);

// INTERNAL if the response lacks its owner or its ring version, or a node its address.
absl::StatusOr<RouteReply> FromProto(v1::RouteResponse response);
// INTERNAL if the response is not one for `keys` keys, or lacks a ring version or an address.
absl::StatusOr<BatchReply> FromProto(v1::RouteBatchResponse response, int keys);

absl::Status ToStatus(const grpc::Status& status);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_CLIENT_PROTO_H_
