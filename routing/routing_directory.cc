#include "routing/routing_directory.h"

#include <utility>

#include "absl/status/status.h"
#include "routing/topology.h"

namespace ringshift {

void RoutingDirectory::Publish(std::shared_ptr<const RoutingTable> table) {
  // What it replaces goes away with `table`, after the lock: it may be the last holder of two
  // rings.
  MutexLock lock(mutex_);
  tables_[table->data_center().name()].swap(table);
}

bool RoutingDirectory::Remove(std::string_view data_center) {
  std::shared_ptr<const RoutingTable> removed;  // goes away after the lock, as in Publish
  MutexLock lock(mutex_);
  const auto found = tables_.find(data_center);
  if (found == tables_.end()) return false;
  removed = std::move(found->second);
  tables_.erase(found);
  return true;
}

absl::StatusOr<std::shared_ptr<const RoutingTable>> RoutingDirectory::Find(
    std::string_view data_center) const {
  std::vector<std::string> known;
  {
    MutexLock lock(mutex_);
    if (const auto found = tables_.find(data_center); found != tables_.end()) return found->second;
    for (const auto& [name, table] : tables_) known.push_back(name);
  }
  return absl::NotFoundError(UnknownNameMessage("data center", data_center, known));
}

std::vector<std::shared_ptr<const RoutingTable>> RoutingDirectory::Tables() const {
  std::vector<std::shared_ptr<const RoutingTable>> tables;
  MutexLock lock(mutex_);
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

}  // namespace ringshift
