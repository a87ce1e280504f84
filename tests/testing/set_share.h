// A change of one share in a store, for tests that are about something else.
#ifndef RINGSHIFT_TESTS_TESTING_SET_SHARE_H_
#define RINGSHIFT_TESTS_TESTING_SET_SHARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/store.h"

namespace ringshift::testing {

struct ShareChange {
  std::string data_center;
  Share share;
  std::optional<std::int64_t> base_revision;  // none: whatever it is now
  std::string actor;
  std::string reason;
};

// Errors: those of MigrationStore::Update.
inline absl::StatusOr<Migration> SetShare(MigrationStore& store, const ShareChange& change) {
  for (;;) {
    Migration wanted;
    wanted.data_center = change.data_center;
    // Where they cannot be loaded, Update says so.
    for (Migration& present : store.Load().value_or(std::vector<Migration>())) {
      if (present.data_center == change.data_center) wanted = std::move(present);
    }
    wanted.share = change.share;
    wanted.revision = change.base_revision.value_or(wanted.revision);
    const auto updated =
        store.Update({ChangeKind::kShare, {std::move(wanted)}, change.actor, change.reason, ""});
    if (updated.ok()) return updated->front();
    if (change.base_revision.has_value() || !absl::IsAborted(updated.status())) {
      return updated.status();
    }
  }
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_SET_SHARE_H_
