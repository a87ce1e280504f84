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

// A row of the history.
struct MigrationChange {
  std::int64_t revision = 0;
  WallTime time;
  std::string data_center;
  std::string actor;
  std::string reason;
  std::optional<Share> from;  // none where the migration was created
  Share to;

  friend bool operator==(const MigrationChange&, const MigrationChange&) = default;
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

  // The last `limit` changes of a data center, newest first.
  virtual absl::StatusOr<std::vector<MigrationChange>> History(std::string_view data_center,
                                                               std::size_t limit) = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_STORE_H_
