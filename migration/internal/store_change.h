// What one change does to a store whose contents are in the tables of sqlite_schema.h: planned from
// what they hold, and made.
//
//   const absl::StatusOr<StoreChange> change = PlanUpdate(database, update, now);
//   if (change.ok()) status = ApplyChange(database, *change);
//
// A plan holds as long as the contents are those that it was made from; whoever plans sees to that,
// by a transaction or by comparing before the change is made. Planning writes nothing.
//
// Thread safety: thread-compatible, as the database is.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_STORE_CHANGE_H_
#define RINGSHIFT_MIGRATION_INTERNAL_STORE_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/internal/sqlite.h"
#include "migration/store.h"

namespace ringshift::internal {

// Whole rows as they are after the change, so that it can be made without what was before.
struct StoreChange {
  std::int64_t revision = 0;          // the next one
  std::vector<std::string> erased;    // data centers of which the store has nothing any more
  std::vector<Migration> migrations;  // of this revision, in the order of the request
  std::vector<StoredTopology> topologies;
  std::vector<std::string> dropped_topologies;  // data centers that have none any more
  std::optional<DefaultShare> default_share;
  std::vector<MigrationChange> history;  // of this revision

  friend bool operator==(const StoreChange&, const StoreChange&) = default;
};

// Errors, beside those of reading: those of the methods of MigrationStore that make the change.
// `store` is what messages call it.

// REQUIRES: there is no migration of the data center.
absl::StatusOr<StoreChange> PlanCreation(SqliteDatabase& database, const NewMigration& wanted,
                                         const WallClock& clock);
absl::StatusOr<StoreChange> PlanUpdate(SqliteDatabase& database, const std::string& store,
                                       const MigrationUpdate& update, const WallClock& clock);
absl::StatusOr<StoreChange> PlanDefaultShare(SqliteDatabase& database,
                                             const DefaultShareUpdate& update,
                                             const WallClock& clock);
struct PlannedForget {
  StoreChange change;
  Migration before;
};
absl::StatusOr<PlannedForget> PlanForget(SqliteDatabase& database, const std::string& store,
                                         const ForgetRequest& request, const WallClock& clock);
absl::StatusOr<StoreChange> PlanRename(SqliteDatabase& database, const std::string& store,
                                       const RenameRequest& request, const WallClock& clock);
// None if the topology is stored so already.
absl::StatusOr<std::optional<StoreChange>> PlanTopology(SqliteDatabase& database,
                                                        const TopologyUpdate& update,
                                                        const WallClock& clock);

// Makes the change. REQUIRES: a transaction, which is rolled back after an error.
absl::Status ApplyChange(SqliteDatabase& database, const StoreChange& change);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_STORE_CHANGE_H_
