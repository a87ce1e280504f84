// A router's data centers at one moment, as `ringctl top` shows them.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_TOP_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_TOP_VIEW_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/screen.h"
#include "ringshift/v1/migration.pb.h"
#include "ringshift/v1/status.pb.h"
#include "ringshift/v1/topology.pb.h"

namespace ringshift {

struct TopView {
  std::string server;
  absl::Time time;  // of what follows
  v1::GetStatusResponse status;
  std::vector<v1::Migration> migrations;
  std::vector<v1::DataCenterSummary> data_centers;
  std::string error;  // why it is not newer; "" if it is as new as can be
};

// Lines for a terminal of that size. Columns that do not fit are left out, the least needed ones
// first. So are data centers, and then a line says how many: those that do not answer as they shall
// come first, then those that both rings answer, then the busiest.
std::vector<std::string> TopLines(const TopView& view, Screen::Size size);

// The object of docs/ringctl.md.
void WriteTop(const TopView& view, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_TOP_VIEW_H_
