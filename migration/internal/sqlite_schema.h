// What makes a SQLite file a Ringshift store: its header, its tables, and the way from an older
// schema to the present one.
//
// Errors have the file and what to do. FAILED_PRECONDITION: the file is not ours, or is newer than
// this program. DATA_LOSS: it is damaged. Otherwise those of sqlite.h.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_SQLITE_SCHEMA_H_
#define RINGSHIFT_MIGRATION_INTERNAL_SQLITE_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/internal/sqlite.h"

namespace ringshift::internal {

inline constexpr std::int64_t kStoreSchemaVersion = 4;

// The bytes of a file's header.
inline constexpr std::size_t kSqliteHeaderBytes = 100;

// The beginning of a statement, up to its FROM, that selects from the table `migration` or
// `migration_change` of a schema version what the present one would have, column by column.
std::string SelectMigration(std::int64_t version);
std::string SelectChange(std::int64_t version);

// Judges a file by its header, without SQLite, which would replay the log of a database that is not
// ours. `head` is what the file has of its first kSqliteHeaderBytes; `path` is for messages.
absl::Status CheckStoreHeader(std::string_view head, const std::string& real_path,
                              const std::string& path);

// DATA_LOSS if the file has less than its header says. `head` as above, of a file without a log.
absl::Status CheckFileSize(std::string_view head, std::int64_t size, const std::string& path);

// Checks what the header cannot show, and returns the schema version. Reads only.
absl::StatusOr<std::int64_t> CheckStoreContent(SqliteDatabase& database, const std::string& path);

// Makes the tables of an empty file, in one transaction.
absl::Status CreateStoreSchema(SqliteDatabase& database);

// Brings a store of an older schema to the present one, in one transaction: after an error, or a
// crash, it is as it was.
absl::Status UpgradeStoreSchema(SqliteDatabase& database, std::int64_t version);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_SQLITE_SCHEMA_H_
