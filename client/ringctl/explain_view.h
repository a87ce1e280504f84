// Explanations as text for people and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_EXPLAIN_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_EXPLAIN_VIEW_H_

#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/routing.pb.h"

namespace ringshift {

// `as_hex` shows the key as its bytes in hex.
void PrintExplanation(const v1::ExplainRouteRequest& request,
                      const v1::ExplainRouteResponse& response, bool as_hex, Output& output);

// The object of docs/ringctl.md.
void WriteExplanation(const v1::ExplainRouteRequest& request,
                      const v1::ExplainRouteResponse& response, bool as_hex, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_EXPLAIN_VIEW_H_
