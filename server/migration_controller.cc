#include "server/migration_controller.h"

#include <algorithm>
#include <utility>

#include "routing/topology.h"
#include "server/log.h"
#include "server/selection.h"

namespace ringshift {
namespace {

absl::Status Annotate(const std::string& data_center, const absl::Status& status) {
  return absl::Status(status.code(), absl::string_view("data center \"" + data_center +
                                                       "\": " + std::string(status.message())));
}

}  // namespace

absl::Status MigrationController::Load() {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::vector<Migration>> migrations = store_.Load();
  if (!migrations.ok()) return migrations.status();
  const MutexLock unserved_lock(unserved_mutex_);
  for (Migration& migration : *migrations) {
    std::string name = migration.data_center;
    unserved_.insert_or_assign(std::move(name), std::move(migration));
  }
  return absl::OkStatus();
}

absl::Status MigrationController::Adopt(std::shared_ptr<const DataCenter> data_center,
                                        const Check& check) {
  const std::string name = data_center->name();
  const MutexLock lock(mutex_);
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> served = directory_.Find(name);
  Migration migration;
  if (served.ok()) {
    migration = (*served)->migration();
  } else {
    absl::StatusOr<Migration> stored = Stored(*data_center);
    if (!stored.ok()) return Annotate(name, stored.status());
    migration = *std::move(stored);
  }
  if (absl::Status allowed = check(migration); !allowed.ok()) return allowed;
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      RoutingTable::Create(std::move(data_center), std::move(migration));
  if (!table.ok()) return Annotate(name, table.status());
  if (const Share stored = (*table)->migration().share; (*table)->share() != stored) {
    LogWarn("the data center has no v1: v2 answers every request, whatever the stored share",
            {{"data_center", name}, {"stored", stored.ToPercent()}});
  }
  Publish(*std::move(table));
  return absl::OkStatus();
}

absl::StatusOr<Migration> MigrationController::Stored(const DataCenter& data_center) {
  const std::string& name = data_center.name();
  // A data center without v1 is all on v2, and stays there if it is given a v1 later.
  const Share initial = data_center.v1() == nullptr ? Share::All() : Share::None();
  absl::StatusOr<MigrationStore::Ensured> ensured = store_.EnsureExists(
      {name, initial, /*salt=*/name, "ringshiftd", "first seen in the topology"});
  if (!ensured.ok()) return ensured.status();
  if (ensured->created) {
    LogWarn("the store has no share of the data center: a new one is made",
            {{"data_center", name}, {"share", ensured->migration.share.ToPercent()}});
    const MutexLock unserved_lock(unserved_mutex_);
    unserved_.insert_or_assign(name, ensured->migration);
  }
  return std::move(ensured->migration);
}

void MigrationController::Publish(std::shared_ptr<const RoutingTable> table) {
  const std::string name = table->data_center().name();
  const MutexLock unserved_lock(unserved_mutex_);
  directory_.Publish(std::move(table));
  unserved_.erase(name);
}

void MigrationController::Drop(const std::string& data_center) {
  // Goes away after the lock: its rings may go with it.
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table;
  const MutexLock lock(mutex_);
  table = directory_.Find(data_center);
  if (!table.ok()) return;
  {
    const MutexLock unserved_lock(unserved_mutex_);
    directory_.Remove(data_center);
    unserved_.insert_or_assign(data_center, (*table)->migration());
  }
  LogInfo("data center not served any more: its migration is kept",
          {{"data_center", data_center}, {"share", (*table)->migration().share.ToPercent()}});
}

absl::StatusOr<MigrationController::Changed> MigrationController::SetShare(
    const ShareChange& change) {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::shared_ptr<const RoutingTable>> before = directory_.Find(change.data_center);
  if (!before.ok()) return before.status();
  const std::shared_ptr<const DataCenter>& data_center = (*before)->shared_data_center();
  // 100 % is what is in force there; with it the data center may get a v1.
  if (data_center->v1() == nullptr && change.share != Share::All()) {
    return absl::FailedPreconditionError("data center \"" + data_center->name() +
                                         "\" has no ring v1: v2 answers every request, and the "
                                         "only share to set is 100%");
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

absl::StatusOr<Migration> MigrationController::Forget(const ForgetRequest& request) {
  const MutexLock lock(mutex_);
  if (directory_.Find(request.data_center).ok()) {
    return absl::FailedPreconditionError("the router serves data center \"" + request.data_center +
                                         "\": take it out of the topology before its migration is "
                                         "forgotten");
  }
  if (!IsSelected(selected_, request.data_center)) {
    return absl::FailedPreconditionError("--data-centers leaves data center \"" +
                                         request.data_center +
                                         "\" out: its migration is no orphan of this router");
  }
  absl::StatusOr<Migration> migration = store_.Forget(request);
  if (!migration.ok()) {
    LogWarn("migration not forgotten", {{"data_center", request.data_center},
                                        {"actor", request.actor},
                                        {"error", migration.status().ToString()}});
    return migration.status();
  }
  LogInfo("migration forgotten", {{"data_center", request.data_center},
                                  {"share", migration->share.ToPercent()},
                                  {"actor", request.actor},
                                  {"reason", request.reason}});
  const MutexLock unserved_lock(unserved_mutex_);
  unserved_.erase(request.data_center);
  return migration;
}

absl::StatusOr<Migration> MigrationController::Rename(RenameRequest request) {
  const MutexLock lock(mutex_);
  request.keep_from = directory_.Find(request.from).ok() || !IsSelected(selected_, request.from);
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> served = directory_.Find(request.to);
  // Before the store is changed: afterwards it would be too late to find that there can be no
  // table.
  if (absl::StatusOr<View> from = Find(request.from); served.ok() && from.ok()) {
    from->migration.data_center = request.to;
    absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
        RoutingTable::Create((*served)->shared_data_center(), std::move(from->migration));
    if (!table.ok()) return Annotate(request.to, table.status());
  }
  absl::StatusOr<Migration> migration = store_.Rename(request);
  if (!migration.ok()) {
    LogWarn("migration not renamed", {{"from", request.from},
                                      {"to", request.to},
                                      {"actor", request.actor},
                                      {"error", migration.status().ToString()}});
    return migration.status();
  }
  LogInfo("migration renamed", {{"from", request.from},
                                {"to", request.to},
                                {"share", migration->share.ToPercent()},
                                {"revision", std::to_string(migration->revision)},
                                {"actor", request.actor},
                                {"reason", request.reason}});
  std::shared_ptr<const RoutingTable> table;
  if (served.ok()) {
    absl::StatusOr<std::shared_ptr<const RoutingTable>> created =
        RoutingTable::Create((*served)->shared_data_center(), *migration);
    if (!created.ok()) return Annotate(request.to, created.status());
    table = *std::move(created);
  }
  const MutexLock unserved_lock(unserved_mutex_);
  if (!request.keep_from) unserved_.erase(request.from);
  if (table != nullptr) {
    directory_.Publish(std::move(table));
  } else {
    unserved_.insert_or_assign(request.to, *migration);
  }
  return migration;
}

std::vector<MigrationController::View> MigrationController::Migrations() const {
  std::vector<View> views;
  {
    const MutexLock unserved_lock(unserved_mutex_);
    for (const auto& [name, migration] : unserved_) {
      views.push_back({migration, nullptr, IsSelected(selected_, name)});
    }
    for (std::shared_ptr<const RoutingTable>& table : directory_.Tables()) {
      views.push_back({table->migration(), std::move(table), false});
    }
  }
  std::sort(views.begin(), views.end(), [](const View& a, const View& b) {
    return a.migration.data_center < b.migration.data_center;
  });
  return views;
}

absl::StatusOr<MigrationController::View> MigrationController::Find(
    std::string_view data_center) const {
  {
    const MutexLock unserved_lock(unserved_mutex_);
    if (absl::StatusOr<std::shared_ptr<const RoutingTable>> table = directory_.Find(data_center);
        table.ok()) {
      return View{(*table)->migration(), *table, false};
    }
    if (const auto found = unserved_.find(data_center); found != unserved_.end()) {
      return View{found->second, nullptr, IsSelected(selected_, found->first)};
    }
  }
  std::vector<std::string> known;
  for (const View& view : Migrations()) known.push_back(view.migration.data_center);
  return absl::NotFoundError(UnknownNameMessage("data center", data_center, known));
}

std::size_t MigrationController::OrphanCount() const {
  const MutexLock unserved_lock(unserved_mutex_);
  return static_cast<std::size_t>(
      std::count_if(unserved_.begin(), unserved_.end(),
                    [this](const auto& entry) { return IsSelected(selected_, entry.first); }));
}

}  // namespace ringshift
