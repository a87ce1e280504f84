#include "migration/internal/store_contents.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/internal/rollout_rules.h"

namespace ringshift::internal {
namespace {

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the contents of a store: ", what));
}

absl::Status StaleRevision(const std::string& present, std::int64_t base) {
  return absl::AbortedError(absl::StrCat(present, ", the change is based on revision ", base,
                                         "; read it again and decide again"));
}

bool AreInOrder(const std::vector<NodeChange>& changes) {
  return std::adjacent_find(changes.begin(), changes.end(),
                            [](const NodeChange& a, const NodeChange& b) {
                              return std::tie(a.node, a.time) >= std::tie(b.node, b.time);
                            }) == changes.end();
}

// `what` is the plural of Row.
template <typename Row>
absl::Status CheckRows(const std::vector<Row>& rows, const char* what, std::int64_t last_revision) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    if (row.data_center.empty()) return Wrong(absl::StrCat("one of the ", what, " has no name"));
    if (!names.insert(row.data_center).second) {
      return Wrong(absl::StrCat("two ", what, " of ", Quote(row.data_center)));
    }
    if (row.revision < 1 || row.revision > last_revision) {
      return Wrong(absl::StrCat("revision ", row.revision, " of the ", what,
                                " is not in 1 to the last one, ", last_revision));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool ChangeFits(ChangeKind kind, std::string_view data_center, bool has_from, bool has_to) {
  if (data_center.empty() != (kind == ChangeKind::kDefaultShare)) return false;
  switch (kind) {
    case ChangeKind::kCreated:
      return !has_from && has_to;
    case ChangeKind::kShare:
    case ChangeKind::kRolledBack:
    case ChangeKind::kUnfrozen:
    case ChangeKind::kRetired:
    case ChangeKind::kRestored:
    case ChangeKind::kDefaultShare:
      return has_from && has_to;
    case ChangeKind::kRenamed:
    case ChangeKind::kForgotten:
      return has_from && !has_to;
    case ChangeKind::kTopology:
      return !has_from && !has_to;
  }
  return false;
}

absl::Status CheckUpdate(const MigrationUpdate& update) {
  if (update.migrations.empty()) return absl::InvalidArgumentError("a change of no migration");
  std::set<std::string_view> names;
  for (const Migration& migration : update.migrations) {
    if (!names.insert(migration.data_center).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("a change of ", Quote(migration.data_center), " twice"));
    }
    // Of the kinds that have both shares.
    if (update.kind == ChangeKind::kDefaultShare ||
        !ChangeFits(update.kind, migration.data_center, true, true)) {
      return absl::InvalidArgumentError(absl::StrCat("a change of ", Quote(migration.data_center),
                                                     " cannot be of kind ",
                                                     static_cast<int>(update.kind)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTopology(const TopologyUpdate& update) {
  if (update.data_center.empty()) {
    return absl::InvalidArgumentError("a topology needs a data center");
  }
  if (!AreInOrder(update.node_changes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the changes of nodes of ", Quote(update.data_center), " are not by name and time"));
  }
  return absl::OkStatus();
}

absl::Status CheckRevision(const Migration& present, std::optional<std::int64_t> base) {
  if (!base.has_value() || *base == present.revision) return absl::OkStatus();
  return StaleRevision(
      absl::StrCat("the migration of ", Quote(present.data_center), " is at revision ",
                   present.revision, ", changed by ", Quote(present.actor)),
      *base);
}

absl::Status CheckRevision(const DefaultShare& present, std::optional<std::int64_t> base) {
  if (!base.has_value() || *base == present.revision) return absl::OkStatus();
  return StaleRevision(absl::StrCat("the default share is at revision ", present.revision), *base);
}

absl::Status CheckContents(const StoreContents& contents) {
  const std::int64_t last = contents.last_revision;
  if (last < 0) return Wrong(absl::StrCat("the last revision, ", last, ", is below 0"));
  if (absl::Status status = CheckRows(contents.migrations, "migrations", last); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckRows(contents.topologies, "topologies", last); !status.ok()) {
    return status;
  }
  for (const Migration& migration : contents.migrations) {
    if (migration.decision_algorithm.empty()) {
      return Wrong(absl::StrCat("the migration of ", Quote(migration.data_center),
                                " has no decision algorithm"));
    }
    if (migration.retired > RetiredRing::kV2) {
      return Wrong(absl::StrCat("the migration of ", Quote(migration.data_center),
                                " has retired a ring that there is not"));
    }
  }
  std::set<std::int64_t> revisions;
  for (const StoredTopology& topology : contents.topologies) {
    if (!revisions.insert(topology.revision).second) {
      return Wrong(absl::StrCat("revision ", topology.revision, " of the topologies comes twice"));
    }
    if (!AreInOrder(topology.node_changes)) {
      return Wrong(absl::StrCat("the changes of nodes of ", Quote(topology.data_center),
                                " are not by name and time"));
    }
  }
  if (contents.default_share.revision < 0 || contents.default_share.revision > last) {
    return Wrong(absl::StrCat("revision ", contents.default_share.revision,
                              " of the default share is not in 0 to the last one, ", last));
  }
  const MigrationChange* before = nullptr;
  for (const MigrationChange& change : contents.history) {
    if (change.revision < 1 || change.revision > last) {
      return Wrong(absl::StrCat("revision ", change.revision,
                                " of the history is not in 1 to the last one, ", last));
    }
    if (before != nullptr && std::tie(change.revision, change.data_center) <=
                                 std::tie(before->revision, before->data_center)) {
      return Wrong(absl::StrCat("the history goes from revision ", before->revision, " of ",
                                Quote(before->data_center), " to ", change.revision, " of ",
                                Quote(change.data_center)));
    }
    if (!ChangeFits(change.kind, change.data_center, change.from.has_value(),
                    change.to.has_value())) {
      return Wrong(absl::StrCat("the change of revision ", change.revision,
                                " has no name, or not the shares of its kind"));
    }
    before = &change;
  }
  return CheckRollouts(contents.rollouts, last, contents.last_rollout_term);
}

}  // namespace ringshift::internal
