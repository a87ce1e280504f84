#include "server/migration_controller.h"

#include <string>
#include <utility>

#include "server/log.h"

namespace ringshift {

absl::Status MigrationController::Adopt(std::shared_ptr<const DataCenter> data_center) {
  const std::string name = data_center->name();
  const auto annotate = [&name](const absl::Status& status) {
    return absl::Status(status.code(), absl::string_view("data center \"" + name +
                                                         "\": " + std::string(status.message())));
  };
  // A data center without v1 is all on v2, and stays there if it is given a v1 later.
  const Share initial = data_center->v1() == nullptr ? Share::All() : Share::None();
  const MutexLock lock(mutex_);
  absl::StatusOr<MigrationStore::Ensured> ensured = store_.EnsureExists(
      {name, initial, /*salt=*/name, "ringshiftd", "first seen in the topology"});
  if (!ensured.ok()) return annotate(ensured.status());
  const Share stored = ensured->migration.share;
  if (ensured->created) {
    LogWarn("the store has no share of the data center: a new one is made",
            {{"data_center", name}, {"share", stored.ToPercent()}});
  }
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      RoutingTable::Create(std::move(data_center), std::move(ensured->migration));
  if (!table.ok()) return annotate(table.status());
  if ((*table)->share() != stored) {
    LogWarn("the data center has no v1: v2 answers every request, whatever the stored share",
            {{"data_center", name}, {"stored", stored.ToPercent()}});
  }
  directory_.Publish(*std::move(table));
  return absl::OkStatus();
}

absl::StatusOr<MigrationController::Changed> MigrationController::SetShare(
    const ShareChange& change) {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::shared_ptr<const RoutingTable>> before = directory_.Find(change.data_center);
  if (!before.ok()) return before.status();
  const std::shared_ptr<const DataCenter>& data_center = (*before)->shared_data_center();
  if (data_center->v1() == nullptr) {
    return absl::FailedPreconditionError(
        "data center \"" + data_center->name() +
        "\" has no ring v1: v2 answers every request, and there is no share to set");
  }
  absl::StatusOr<Migration> migration = store_.SetShare(change);
  if (!migration.ok()) {
    LogWarn("migration not changed", {{"data_center", change.data_center},
                                      {"to", change.share.ToPercent()},
                                      {"actor", change.actor},
                                      {"error", migration.status().ToString()}});
    return migration.status();
  }
  LogInfo("migration changed", {{"data_center", change.data_center},
                                {"from", (*before)->share().ToPercent()},
                                {"to", migration->share.ToPercent()},
                                {"revision", std::to_string(migration->revision)},
                                {"actor", migration->actor},
                                {"reason", migration->reason}});
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      RoutingTable::Create(data_center, *std::move(migration));
  if (!table.ok()) return table.status();
  directory_.Publish(*table);
  return Changed{*std::move(table), (*before)->share()};
}

}  // namespace ringshift
