// What makes sense in a store, whichever it is.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_STORE_CONTENTS_H_
#define RINGSHIFT_MIGRATION_INTERNAL_STORE_CONTENTS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "migration/store.h"

namespace ringshift::internal {

// Whether a change of this kind has what it must have: a data center or none, and the shares `from`
// and `to`.
bool ChangeFits(ChangeKind kind, std::string_view data_center, bool has_from, bool has_to);

// INVALID_ARGUMENT as of the methods of MigrationStore.
absl::Status CheckUpdate(const MigrationUpdate& update);
absl::Status CheckTopology(const TopologyUpdate& update);
absl::Status CheckRename(const RenameRequest& request);

// ABORTED if the present migration, or default share, is at another revision than `base`.
absl::Status CheckRevision(const Migration& present, std::optional<std::int64_t> base);
absl::Status CheckRevision(const DefaultShare& present, std::optional<std::int64_t> base);

// INVALID_ARGUMENT if no store can hold the contents: a name is missing or comes twice, a revision
// is below 1 or above the last, rows are not in their order, or a change does not have what its
// kind must have.
absl::Status CheckContents(const StoreContents& contents);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_STORE_CONTENTS_H_
