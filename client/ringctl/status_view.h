// `ringctl status`: a router on one screen, and as JSON for scripts.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_STATUS_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_STATUS_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/migration.pb.h"
#include "ringshift/v1/status.pb.h"
#include "ringshift/v1/topology.pb.h"

namespace ringshift {

struct RouterView {
  std::string server;       // as it was asked
  std::string server_flag;  // Remote::ServerFlag()
  v1::GetStatusResponse status;
  std::vector<v1::DataCenterSummary> data_centers;
  std::vector<v1::Migration> orphans;
  // Why data_centers and orphans are not there: a router that starts has none yet. "" if they are.
  std::string incomplete_reason;
};

// `now` is for how long the router is up.
void PrintStatus(const RouterView& router, absl::Time now, Output& output);

// The object of docs/ringctl.md. Every member is there whatever its value.
void WriteStatus(const RouterView& router, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_STATUS_VIEW_H_
