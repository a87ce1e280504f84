// The rows of a store: read, with every value checked, and written.
//
// Reading: DATA_LOSS for a value that is missing, of a wrong type or out of range, so that nothing
// is ever read as 0 because it was not there. Otherwise the errors of sqlite.h.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_SQLITE_ROWS_H_
#define RINGSHIFT_MIGRATION_INTERNAL_SQLITE_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/internal/sqlite.h"
#include "migration/internal/sqlite_schema.h"
#include "migration/store.h"

namespace ringshift::internal {

// Sorted by data center. Reads any schema version.
absl::StatusOr<std::vector<Migration>> ReadMigrations(
    SqliteDatabase& database, std::int64_t schema_version = kStoreSchemaVersion);
absl::StatusOr<std::optional<Migration>> ReadMigration(SqliteDatabase& database,
                                                       std::string_view data_center);
absl::Status WriteMigrations(SqliteDatabase& database, std::span<const Migration> migrations);
// Those that delete do nothing where there is nothing.
absl::Status DeleteMigration(SqliteDatabase& database, std::string_view data_center);

// Sorted by data center. Reads any schema version.
absl::StatusOr<std::vector<StoredTopology>> ReadTopologies(
    SqliteDatabase& database, std::int64_t schema_version = kStoreSchemaVersion);
// Its text; none if there is no topology.
absl::StatusOr<std::optional<std::string>> ReadTopologyText(SqliteDatabase& database,
                                                            std::string_view data_center);
absl::Status WriteTopology(SqliteDatabase& database, const StoredTopology& topology);
absl::Status DeleteTopology(SqliteDatabase& database, std::string_view data_center);

absl::StatusOr<DefaultShare> ReadDefaultShare(SqliteDatabase& database);
absl::Status WriteDefaultShare(SqliteDatabase& database, const DefaultShare& share);

// Sorted by name.
absl::StatusOr<std::vector<Rollout>> ReadRollouts(SqliteDatabase& database);
absl::StatusOr<std::vector<Rollout>> ReadUnfinishedRollouts(SqliteDatabase& database);
absl::StatusOr<std::optional<Rollout>> ReadRollout(SqliteDatabase& database, std::string_view name);
absl::Status WriteRollouts(SqliteDatabase& database, std::span<const Rollout> rollouts);
absl::StatusOr<std::int64_t> ReadRolloutTerm(SqliteDatabase& database);
absl::Status WriteRolloutTerm(SqliteDatabase& database, std::int64_t term);

// Newest first.
absl::StatusOr<std::vector<MigrationChange>> ReadHistory(SqliteDatabase& database,
                                                         const HistoryQuery& query);
absl::StatusOr<std::optional<MigrationChange>> ReadChange(SqliteDatabase& database,
                                                          std::int64_t revision,
                                                          std::string_view data_center);
absl::Status AppendChanges(SqliteDatabase& database, std::span<const MigrationChange> changes);

// Counts on, and returns the new revision. DATA_LOSS if the history has it already.
absl::StatusOr<std::int64_t> NextRevision(SqliteDatabase& database);

// All that a store of this schema version holds. REQUIRES: a transaction, or nobody else writes.
absl::StatusOr<StoreContents> ReadContents(SqliteDatabase& database, std::int64_t schema_version);
// Adds to an empty store what the contents have. REQUIRES: a transaction.
absl::Status WriteContents(SqliteDatabase& database, const StoreContents& contents);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_SQLITE_ROWS_H_
