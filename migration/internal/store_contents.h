// What makes sense in a store.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_STORE_CONTENTS_H_
#define RINGSHIFT_MIGRATION_INTERNAL_STORE_CONTENTS_H_

#include "absl/status/status.h"
#include "migration/store.h"

namespace ringshift::internal {

// Whether a change of this kind has the shares, `from` and `to`, that it must have.
bool SharesFit(ChangeKind kind, bool has_from, bool has_to);

// INVALID_ARGUMENT if no store can hold the contents: a name is missing or comes twice, a revision
// comes twice, is below 1 or above the last, or a change does not have the shares of its kind.
absl::Status CheckContents(const StoreContents& contents);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_STORE_CONTENTS_H_
