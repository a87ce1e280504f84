#include "server/watch_states.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "server/migration_proto.h"
#include "server/watch_messages.h"

namespace ringshift {
namespace {

// No two starts of a router have the same.
std::string NewFeedId() {
  std::random_device random;
  const std::uint64_t high = random();
  return std::to_string(high << 32 | random());
}

}  // namespace

WatchStates::WatchStates(const RoutingDirectory& directory, const MigrationController& migrations)
    : directory_(directory),
      controller_(migrations),
      routing_(NewFeedId()),
      migrations_(NewFeedId()) {}

WatchStates::Changes WatchStates::Look() {
  Changes changes;
  const bool are_tables_new = TakeTables();
  if (are_tables_new) changes.routing = routing_.Update(states_);
  if (are_tables_new || looks_ % kLooksAtUnserved == 0) {
    changes.migrations = migrations_.Update(MigrationStates());
  }
  looks_ = (looks_ + 1) % kLooksAtUnserved;
  return changes;
}

bool WatchStates::TakeTables() {
  const std::vector<std::shared_ptr<const RoutingTable>> tables = directory_.Tables();
  bool is_new = false;
  for (const std::shared_ptr<const RoutingTable>& table : tables) {
    const std::string& name = table->data_center().name();
    std::weak_ptr<const RoutingTable>& known = tables_[name];
    if (known.lock() == table) continue;
    is_new = true;
    known = table;
    states_[name] = std::make_shared<const std::string>(RoutingStateMessage(*table));
  }
  if (tables.size() == tables_.size()) return is_new;
  std::map<std::string, std::weak_ptr<const RoutingTable>> served;
  for (const std::shared_ptr<const RoutingTable>& table : tables) {
    served[table->data_center().name()] = table;
  }
  tables_ = std::move(served);
  std::erase_if(states_, [this](const auto& state) { return !tables_.contains(state.first); });
  return true;
}

ChangeFeed::States WatchStates::MigrationStates() const {
  ChangeFeed::States states;
  for (const MigrationController::View& view : controller_.Migrations()) {
    states[view.migration.data_center] =
        std::make_shared<const std::string>(MigrationMessage(view));
  }
  return states;
}

}  // namespace ringshift
