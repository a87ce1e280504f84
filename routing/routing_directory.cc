#include "routing/routing_directory.h"

#include <string>
#include <utility>

#include "routing/topology.h"

namespace ringshift {

void RoutingDirectory::Publish(std::shared_ptr<const RoutingTable> table) {
  tables_.Set(table->data_center().name(), table);
}

bool RoutingDirectory::Remove(std::string_view data_center) {
  return tables_.Remove(data_center) != nullptr;
}

absl::StatusOr<std::shared_ptr<const RoutingTable>> RoutingDirectory::Find(
    std::string_view data_center) const {
  std::shared_ptr<const RoutingTable> table = tables_.Find(data_center);
  if (table == nullptr) return NotFound(data_center);
  return table;
}

absl::Status RoutingDirectory::NotFound(std::string_view data_center) const {
  std::vector<std::string> known;
  for (const auto& [name, table] : tables_.All()) known.push_back(name);
  return absl::NotFoundError(UnknownNameMessage("data center", data_center, known));
}

std::vector<std::shared_ptr<const RoutingTable>> RoutingDirectory::Tables() const {
  std::vector<std::shared_ptr<const RoutingTable>> tables;
  for (const auto& [name, table] : tables_.All()) tables.push_back(table);
  return tables;
}

}  // namespace ringshift
