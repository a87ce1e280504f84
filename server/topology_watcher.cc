#include "server/topology_watcher.h"

#include <utility>

#include "server/topology_file.h"

namespace ringshift {

void TopologyWatcher::Look() {
  absl::StatusOr<std::string> bytes = calls_.read();
  std::string seen = bytes.ok() ? TopologyChecksum(*bytes) : "";
  const bool settled = seen == last_seen_;
  if (settled && seen != calls_.known()) calls_.take_up(std::move(bytes));
  last_seen_ = std::move(seen);
}

}  // namespace ringshift
