// Writes what becomes of a rollout into the store: its new state and the shares that change with
// it, in one step.
//
// Thread safety: thread-safe, if the store and the functions of the options are.
#ifndef RINGSHIFT_MIGRATION_ROLLOUT_WRITER_H_
#define RINGSHIFT_MIGRATION_ROLLOUT_WRITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/rollout_machine.h"
#include "migration/store.h"
#include "migration/wall_time.h"

namespace ringshift {

class RolloutWriter {
 public:
  struct Options {
    // What changes shares, in place of MigrationStore::Update: whoever publishes them. It may give
    // the migrations other `answers`, and nothing else.
    std::function<absl::StatusOr<std::vector<Migration>>(const MigrationUpdate&)> update;
    WallClock clock = SystemWallTime;
    std::chrono::microseconds warm_window = std::chrono::hours(24);  // of AnswerHistory
  };

  // `store` outlives this object.
  RolloutWriter(MigrationStore& store, Options options)
      : store_(store), options_(std::move(options)) {}

  // Returns the rollout as it is then. `migrations` are those that the decision was taken on, by
  // data center; `executor_term` as in RolloutUpdate. Errors: those of MigrationStore::Update and
  // SaveRollout.
  absl::StatusOr<Rollout> Write(const RolloutDecision& decision,
                                std::span<const Migration> migrations,
                                std::optional<std::int64_t> executor_term) const;

 private:
  Migration Next(Migration migration, ChangeKind kind, Share share) const;

  MigrationStore& store_;
  const Options options_;
};

// The shares that an observation has.
std::map<std::string, Share, std::less<>> SharesOf(std::span<const Migration> migrations);

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ROLLOUT_WRITER_H_
