#include "server/topology_watcher.h"

#include <utility>

#include "server/topology_file.h"

namespace ringshift {

void TopologyWatcher::Look() {
  std::string seen = ChecksumOfRead(calls_.read());
  const bool settled = seen == last_seen_;
  if (settled && seen != calls_.known()) calls_.take_up(seen);
  last_seen_ = std::move(seen);
}

}  // namespace ringshift
