// Carries all that a store holds over to a new one.
//
// Thread safety: pure functions of their arguments and the files.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COPY_STORE_H_
#define RINGSHIFT_CLIENT_RINGCTL_COPY_STORE_H_

#include <string>

#include "absl/status/statusor.h"
#include "migration/store.h"

namespace ringshift {

// Copies the SQLite store at `from`, which a router may have open, to `to`, which must not exist.
// The copy is made beside `to`, read back and compared, and only then gets its name: where there is
// an error, or a crash, there is no store at `to`. Returns what was copied.
//
// ALREADY_EXISTS  there is something at `to`, or a log beside it (-wal, -shm, -journal), which
// SQLite
//                 would replay over the copy.
// DATA_LOSS       what was read back is not what was written.
// Otherwise the errors of SqliteStore::ReadContents, Open and Import; UNAVAILABLE for I/O.
absl::StatusOr<StoreContents> CopySqliteStore(const std::string& from, const std::string& to);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COPY_STORE_H_
