#include "migration/internal/store_contents.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift::internal {
namespace {

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the contents of a store: ", what));
}

// `what` is the plural of Row.
template <typename Row>
absl::Status CheckRows(const std::vector<Row>& rows, const char* what, std::int64_t last_revision) {
  std::set<std::string> names;
  std::set<std::int64_t> revisions;
  for (const Row& row : rows) {
    if (row.data_center.empty()) return Wrong(absl::StrCat("one of the ", what, " has no name"));
    if (!names.insert(row.data_center).second) {
      return Wrong(absl::StrCat("two ", what, " of ", Quote(row.data_center)));
    }
    if (row.revision < 1 || row.revision > last_revision ||
        !revisions.insert(row.revision).second) {
      return Wrong(absl::StrCat("revision ", row.revision, " of the ", what,
                                " comes twice, or is "
                                "not in 1 to the last one, ",
                                last_revision));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool SharesFit(ChangeKind kind, bool has_from, bool has_to) {
  switch (kind) {
    case ChangeKind::kCreated:
      return !has_from && has_to;
    case ChangeKind::kShare:
      return has_from && has_to;
    case ChangeKind::kRenamed:
    case ChangeKind::kForgotten:
      return has_from && !has_to;
    case ChangeKind::kTopology:
      return !has_from && !has_to;
  }
  return false;
}

absl::Status CheckContents(const StoreContents& contents) {
  if (contents.last_revision < 0) {
    return Wrong(absl::StrCat("the last revision, ", contents.last_revision, ", is below 0"));
  }
  if (absl::Status status = CheckRows(contents.migrations, "migrations", contents.last_revision);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckRows(contents.topologies, "topologies", contents.last_revision);
      !status.ok()) {
    return status;
  }
  for (const Migration& migration : contents.migrations) {
    if (migration.decision_algorithm.empty()) {
      return Wrong(absl::StrCat("the migration of ", Quote(migration.data_center),
                                " has no decision algorithm"));
    }
  }
  std::int64_t before = 0;
  for (const MigrationChange& change : contents.history) {
    if (change.revision <= before || change.revision > contents.last_revision) {
      return Wrong(absl::StrCat("revision ", change.revision, " of the history does not rise from ",
                                before, " or is above the last one, ", contents.last_revision));
    }
    if (change.data_center.empty() ||
        !SharesFit(change.kind, change.from.has_value(), change.to.has_value())) {
      return Wrong(absl::StrCat("the change of revision ", change.revision,
                                " has no name, or not the shares of its kind"));
    }
    before = change.revision;
  }
  return absl::OkStatus();
}

}  // namespace ringshift::internal
