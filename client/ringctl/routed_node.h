// Nodes and rings as a router's answers name them.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_ROUTED_NODE_H_
#define RINGSHIFT_CLIENT_RINGCTL_ROUTED_NODE_H_

#include <string_view>

#include "client/ringctl/json_writer.h"
#include "ringshift/v1/common.pb.h"
#include "ringshift/v1/routing.pb.h"

namespace ringshift {

// "v1", "v2", or "unknown" for what this program does not know.
std::string_view RingVersionText(v1::RingVersion version);

// {"name": ..., "address": ...}
void WriteNode(const v1::RoutedNode& node, JsonWriter& json);

// The same, or null where there is none.
void WriteOptionalNode(bool is_present, const v1::RoutedNode& node, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_ROUTED_NODE_H_
