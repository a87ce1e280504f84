#include "server/topology_watcher.h"

#include <utility>

#include "server/log.h"
#include "server/topology_file.h"

namespace ringshift {

void TopologyWatcher::Look() {
  absl::StatusOr<std::string> bytes = calls_.read();
  const std::string error = bytes.ok() ? "" : std::string(bytes.status().message());
  if (error != last_error_) {
    if (bytes.ok()) {
      LogInfo("the topology file can be read again");
    } else {
      LogError("the topology file cannot be read; what is served goes on", {{"error", error}});
    }
    last_error_ = error;
  }
  const std::string seen = bytes.ok() ? TopologyChecksum(*bytes) : "";
  const bool settled = seen == last_seen_;
  last_seen_ = seen;
  if (settled && bytes.ok() && seen != calls_.known()) calls_.take_up(*std::move(bytes));
}

}  // namespace ringshift
