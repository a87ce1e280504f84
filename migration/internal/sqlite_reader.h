// Reads a store's file that another process, or another object of this one, may have open and
// write to.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_SQLITE_READER_H_
#define RINGSHIFT_MIGRATION_INTERNAL_SQLITE_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "migration/store.h"

namespace ringshift::internal {

// SqliteStore::ReadContents, which says the rest.
absl::StatusOr<StoreContents> ReadSqliteStore(const std::string& path);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_SQLITE_READER_H_
