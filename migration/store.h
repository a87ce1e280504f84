// The store of migration state: what must survive a crash.
//
// State is kept by the data center's name, whether or not a topology lists it. Every change gets
// the next revision, one count for the whole store, however many data centers it names, and stays
// in the history, a row for each of them: who, when, from, to, why.
#ifndef RINGSHIFT_MIGRATION_STORE_H_
#define RINGSHIFT_MIGRATION_STORE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/answer_history.h"
#include "migration/rollout.h"
#include "migration/share.h"
#include "migration/wall_time.h"

namespace ringshift {

// The ring of a data center that is dropped. The numbers are stored; never renumber or reuse them.
enum class RetiredRing : std::uint8_t { kNone = 0, kV1 = 1, kV2 = 2 };

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
  WallTime share_time;             // of the last change of the share
  bool is_frozen = false;          // rolled back: the share stays until it is unfrozen
  RetiredRing retired = RetiredRing::kNone;
  AnswerHistory answers;

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

// What a row of the history is about. The numbers are stored; never renumber or reuse them.
enum class ChangeKind : std::uint8_t {
  kCreated = 1,        // a migration was made: `to`
  kShare = 2,          // its share was set: `from`, `to`
  kRenamed = 3,        // it was given to another name, which `detail` has: `from`
  kForgotten = 4,      // it was forgotten: `from`
  kTopology = 5,       // the data center's topology changed, as `detail` says
  kRolledBack = 6,     // the share was set to none, and frozen: `from`, `to`
  kUnfrozen = 7,       // the share can be set again: `from`, `to`, the same
  kRetired = 8,        // a ring was retired, as `detail` says: `from`, `to`, the same
  kRestored = 9,       // the retired ring was called back: `from`, `to`, the same
  kDefaultShare = 10,  // the default share was set: `from`, `to`; the data center is empty
};

// A rollout to make, or to change.
struct RolloutUpdate {
  // As it shall be. Its `revision` is the one that the change is based on; 0 makes a new one, of
  // which only the plan, the actor and the reason count. The times are the store's.
  Rollout rollout;
  // Of the executor that changes it, as NextRolloutTerm gave it; none where a person does.
  std::optional<std::int64_t> executor_term;
};

enum class WhichRollouts { kAll, kUnfinished };

// One change of migrations, all of it or nothing.
struct MigrationUpdate {
  ChangeKind kind = ChangeKind::kShare;  // or kRolledBack, kUnfrozen, kRetired, kRestored
  // As they shall be: share, share_time, is_frozen, retired, answers; all else stays. The
  // `revision` of each is the one that the change is based on. At least one; no data center twice.
  std::vector<Migration> migrations;
  std::string actor;
  std::string reason;
  std::string detail;  // for the history
  // The rollout whose step this is, with the state that it comes to; all `migrations` are of it.
  std::optional<RolloutUpdate> rollout = std::nullopt;
};

// The share that a data center starts at that has no migration.
struct DefaultShare {
  Share share;
  std::int64_t revision = 0;  // of its last change; 0 if there was none

  friend bool operator==(const DefaultShare&, const DefaultShare&) = default;
};

struct DefaultShareUpdate {
  Share share;
  std::optional<std::int64_t> base_revision;  // ABORTED if it was changed since
  std::string actor;
  std::string reason;
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

// The place of a row in the history: those of one revision are sorted by data center, whichever way
// the revisions go.
struct HistoryPlace {
  std::int64_t revision = 0;
  std::string data_center;
};

struct HistoryQuery {
  std::string data_center;             // empty means all
  std::optional<HistoryPlace> before;  // only what comes behind it where the newest is first
  std::size_t limit = 0;               // at most so many
};

// Forgets a migration.
struct ForgetRequest {
  std::string data_center;
  std::optional<std::int64_t> base_revision;  // ABORTED if it was changed since
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

// How a node of a data center was until it came, changed or left.
struct NodeChange {
  std::string node;  // empty: it is not known how any node was before `time`
  WallTime time;
  // As server/node_history.h writes it; the store does not look into it. Empty: it was not there.
  std::string before;

  friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

// What a data center was last served as: the parameters in use and the nodes, so that a restart
// knows a changed topology from the one that its caches are filled by.
struct StoredTopology {
  std::string data_center;
  std::string text;  // as routing/topology_writer.h writes it; the store does not look into it
  std::vector<NodeChange> node_changes;  // by name, those of one by time, no two at one time
  std::int64_t revision = 0;
  WallTime update_time;
  std::string actor;
  std::string reason;

  friend bool operator==(const StoredTopology&, const StoredTopology&) = default;
};

struct TopologyUpdate {
  std::string data_center;
  std::optional<std::string> text;       // none: it is not served any more
  std::vector<NodeChange> node_changes;  // as in StoredTopology
  std::string actor;
  std::string reason;
  std::string detail;  // what changed, for the history
};

// All that a store holds, to carry it over to another one.
struct StoreContents {
  std::vector<Migration> migrations;
  std::vector<StoredTopology> topologies;
  std::vector<MigrationChange> history;  // the oldest first, those of a revision by data center
  DefaultShare default_share;
  std::int64_t last_revision = 0;
  std::vector<Rollout> rollouts;  // by name
  std::int64_t last_rollout_term = 0;

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

  // Makes the migration of a data center that has none, with the present decision algorithm, and
  // its share set now. Where there is one already, that is returned, unchanged.
  // INVALID_ARGUMENT: it has no name.
  struct Ensured {
    Migration migration;   // as stored
    bool created = false;  // there was none
  };
  virtual absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) = 0;

  // Durable once it returns OK. Returns the migrations as they are now, all of one revision, in the
  // order of the update.
  //
  // INVALID_ARGUMENT  the update is not one as MigrationUpdate says.
  // NOT_FOUND         a data center has no migration.
  // ABORTED           a migration is not at the revision that the update has; the message has the
  //                   data center, both revisions, and who changed it. Read it again, and decide
  //                   again.
  // FAILED_PRECONDITION  a data center is in an unfinished rollout, and the update is neither a
  //                      step of that, nor kRestored, nor kRolledBack, which pauses the rollout and
  //                      takes the data center out of it in the same step; the message has the
  //                      rollout and what to do.
  // With a rollout also the errors of SaveRollout; then nothing is changed.
  virtual absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate& update) = 0;

  virtual absl::StatusOr<DefaultShare> LoadDefaultShare() = 0;
  // Returns it as it is now. ABORTED: it was changed since `base_revision`.
  virtual absl::StatusOr<DefaultShare> SetDefaultShare(const DefaultShareUpdate& update) = 0;

  // Forgets the migration and the topology of a data center. Returns the migration as it was.
  // NOT_FOUND, ABORTED: as of Update. FAILED_PRECONDITION: it is in an unfinished rollout.
  virtual absl::StatusOr<Migration> Forget(const ForgetRequest& request) = 0;

  // Gives `to` the share, salt, decision algorithm and all else of `from`, which is forgotten by
  // that, unless it is kept. One change of both names. Returns the migration of `to`.
  //
  // INVALID_ARGUMENT  a name is empty, or both are the same.
  // NOT_FOUND         `from` has no migration.
  // ALREADY_EXISTS    `to` has one that somebody has changed since it was created, or that was
  //                   renamed to it.
  // FAILED_PRECONDITION  one of them is in an unfinished rollout.
  virtual absl::StatusOr<Migration> Rename(const RenameRequest& request) = 0;

  // The changes that the query names, newest first.
  virtual absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) = 0;

  // Every topology, sorted by data center.
  virtual absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() = 0;

  // Durable once it returns OK. A text that is stored already makes no change. It does not change
  // the revision of the migration. INVALID_ARGUMENT: it has no name, or the changes of nodes
  // are not in that order.
  virtual absl::Status SaveTopology(const TopologyUpdate& update) = 0;

  // Sorted by name.
  virtual absl::StatusOr<std::vector<Rollout>> LoadRollouts(WhichRollouts which) = 0;

  // Makes or changes a rollout. Durable once it returns OK. Returns it as it is now.
  //
  // INVALID_ARGUMENT     the plan of a new one is none; that of another one changes, or its state
  //                      makes no sense (CheckRollout), skips a step, goes back, or forgets what
  //                      was raised or taken out; or the term was never given out.
  // NOT_FOUND            there is no such rollout, or a data center of a new one has no migration.
  // ALREADY_EXISTS       it would be new, and there is one of that name.
  // ABORTED              it is not at the revision that the update has. Read it again, and decide
  //                      again.
  // FAILED_PRECONDITION  a data center of a new one is in another unfinished one, or frozen, or has
  //                      a higher share than its step; an existing one is finished, or aborting and
  //                      would go on; or another executor has a later term.
  virtual absl::StatusOr<Rollout> SaveRollout(const RolloutUpdate& update) = 0;

  // The next term of an executor, from 1 on. From then on executors of earlier terms are refused.
  virtual absl::StatusOr<std::int64_t> NextRolloutTerm() = 0;

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
