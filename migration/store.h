// The store of migration state: what must survive a crash.
//
// State is kept by the data center's name, whether or not a topology lists it. Every change gets
// the next revision, one count for the whole store, and stays in the history: who, when, from, to,
// why.
#ifndef RINGSHIFT_MIGRATION_STORE_H_
#define RINGSHIFT_MIGRATION_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/share.h"

namespace ringshift {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;
using WallClock = std::function<WallTime()>;

// The system's clock.
WallTime SystemWallTime();

// The migration of one data center.
struct Migration {
  std::string data_center;
  Share share;
  std::string salt;                // of the decision
  std::string decision_algorithm;  // kDecisionAlgorithm of decision.h
  std::int64_t revision = 0;       // of its last change; at least 1
  WallTime update_time;            // of its last change
  std::string actor;               // who made it
  std::string reason;              // why, as the actor said

  friend bool operator==(const Migration&, const Migration&) = default;
};

// A migration to make.
struct NewMigration {
  std::string data_center;
  Share share;
  std::string salt;
  std::string actor;
  std::string reason;
};

struct ShareChange {
  std::string data_center;
  Share share;
  // The revision of the migration that the change is based on; without it the change is
  // unconditional.
  std::optional<std::int64_t> expected_revision;
  std::string actor;
  std::string reason;
};

// What a row of the history is about. The numbers are stored; never renumber or reuse them.
enum class ChangeKind : std::uint8_t {
  kCreated = 1,    // a migration was made: `to`
  kShare = 2,      // its share was set: `from`, `to`
  kRenamed = 3,    // it was given to another name, which `detail` has: `from`
  kForgotten = 4,  // it was forgotten: `from`
  kTopology = 5,   // the data center's topology changed, as `detail` says
};

// A row of the history.
struct MigrationChange {
  std::int64_t revision = 0;
  WallTime time;
  std::string data_center;
  ChangeKind kind = ChangeKind::kShare;
  std::string actor;
  std::string reason;
  std::optional<Share> from;  // none where there was no migration
  std::optional<Share> to;    // none where there is none any more
  std::string detail;         // what else there is to say, for people

  friend bool operator==(const MigrationChange&, const MigrationChange&) = default;
};

struct HistoryQuery {
  std::string data_center;                      // empty means all
  std::optional<std::int64_t> before_revision;  // only older ones
  std::size_t limit = 0;                        // at most so many
};

// Forgets a migration.
struct ForgetRequest {
  std::string data_center;
  std::optional<std::int64_t> expected_revision;  // as in ShareChange
  std::string actor;
  std::string reason;
};

// Gives the migration of one name to another.
struct RenameRequest {
  std::string from;
  std::string to;
  bool keep_from = false;  // `from` keeps its migration too
  std::string actor;
  std::string reason;
};

// What a data center was last served as: the parameters in use and the nodes, so that a restart
// knows a changed topology from the one that its caches are filled by.
struct StoredTopology {
  std::string data_center;
  std::string text;  // as routing/topology_writer.h writes it; the store does not look into it
  std::int64_t revision = 0;
  WallTime update_time;
  std::string actor;
  std::string reason;

  friend bool operator==(const StoredTopology&, const StoredTopology&) = default;
};

struct TopologyUpdate {
  std::string data_center;
  std::optional<std::string> text;  // none: it is not served any more
  std::string actor;
  std::string reason;
  std::string detail;  // what changed, for the history
};

// All that a store holds, to carry it over to another one.
struct StoreContents {
  std::vector<Migration> migrations;
  std::vector<StoredTopology> topologies;
  std::vector<MigrationChange> history;  // the oldest first
  std::int64_t last_revision = 0;

  friend bool operator==(const StoreContents&, const StoreContents&) = default;
};

// Thread safety: implementations are thread-safe; writes are serialised.
//
// Errors, beside those of each method: UNAVAILABLE where the store cannot be read or written now
// (retry), DATA_LOSS where what it holds makes no sense. Nothing is ever read as share 0 because it
// was missing.
class MigrationStore {
 public:
  virtual ~MigrationStore() = default;

  // Every migration, sorted by data center.
  virtual absl::StatusOr<std::vector<Migration>> Load() = 0;

  // Makes the migration of a data center that has none, with the present decision algorithm. Where
  // there is one already, that is returned, unchanged.
  struct Ensured {
    Migration migration;   // as stored
    bool created = false;  // there was none
  };
  virtual absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) = 0;

  // Durable once it returns OK. Returns the migration as it is now.
  //
  // NOT_FOUND  the data center has no migration.
  // ABORTED    the migration is not at `expected_revision`; the message has both revisions. Read it
  //            again, and decide again.
  virtual absl::StatusOr<Migration> SetShare(const ShareChange& change) = 0;

  // Forgets the migration and the topology of a data center. Returns the migration as it was.
  // Errors: as SetShare.
  virtual absl::StatusOr<Migration> Forget(const ForgetRequest& request) = 0;

  // Gives `to` the share, salt and decision algorithm of `from`, which is forgotten by that, unless
  // it is kept. Returns the migration of `to`.
  //
  // INVALID_ARGUMENT  a name is empty, or both are the same.
  // NOT_FOUND         `from` has no migration.
  // ALREADY_EXISTS    `to` has one that somebody has changed since it was created, or that was
  //                   renamed to it.
  virtual absl::StatusOr<Migration> Rename(const RenameRequest& request) = 0;

  // The changes that the query names, newest first.
  virtual absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) = 0;

  // Every topology, sorted by data center.
  virtual absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() = 0;

  // Durable once it returns OK. A text that is stored already makes no change. It does not change
  // the revision of the migration.
  virtual absl::Status SaveTopology(const TopologyUpdate& update) = 0;

  // OK if the store could be read and written just now, as far as that can be told cheaply; where
  // the last write failed, by writing.
  virtual absl::Status Check() = 0;

  virtual absl::StatusOr<StoreContents> Export() = 0;

  // Takes all of `contents`, with their revisions and times, in one step.
  //
  // FAILED_PRECONDITION  there is something in the store already.
  // INVALID_ARGUMENT     the contents make no sense: the message says what of them.
  virtual absl::Status Import(const StoreContents& contents) = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_STORE_H_
