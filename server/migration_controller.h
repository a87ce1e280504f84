// Changes migrations: in the store first, then in the routing tables; a rollback and an override
// the other way about. And keeps, beside the tables, the migrations of data centers that are not
// served: orphans, unless --data-centers leaves them out.
//
// A change is in force once it is durable, never before; and because changes are made one at a
// time, the tables go through the store's revisions in order. A data center that is being served
// goes on with the migration that it has, whatever becomes of the store.
//
// A rollback is in force at once, and the store is told of it before any other change of a
// migration. What was under way when it came is overtaken by it.
//
// Thread safety: thread-safe. What changes the store waits for it, and for the changes before, for
// seconds where another program has the store's lock: never call that on a thread of gRPC's. All
// else waits for neither.
#ifndef RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_
#define RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/mutex.h"
#include "migration/share.h"
#include "migration/store.h"
#include "ring/ring.h"
#include "routing/data_center.h"
#include "routing/routing_directory.h"
#include "routing/routing_table.h"
#include "server/node_history.h"

namespace ringshift {

// Data centers that the router serves: these, or those of a tier, or all. One of the three.
struct Selector {
  std::vector<std::string> data_centers;
  std::string tier;
  bool all = false;
};

// Who wants something of which data centers, and why.
struct Order {
  Selector selector;
  std::optional<std::int64_t> base_revision;  // ABORTED if one of them was changed since
  std::string actor;
  std::string reason;
};

class MigrationController {
 public:
  struct Options {
    std::vector<std::string> data_centers;  // those that this router may serve; none means all
    std::chrono::microseconds warm_window = std::chrono::hours(24);
    WallClock clock = SystemWallTime;
  };

  // `store` and `directory` outlive this object, and nothing else changes migrations or publishes
  // tables.
  MigrationController(MigrationStore& store, RoutingDirectory& directory, Options options)
      : options_(std::move(options)), store_(store), directory_(directory) {}
  MigrationController(MigrationStore& store, RoutingDirectory& directory)
      : MigrationController(store, directory, Options()) {}

  // The exact part of the key space, 0 to 1, whose owner a share of `to` in place of `from`
  // changes.
  using ChurnOf =
      std::function<absl::StatusOr<double>(const RoutingTable& table, Share from, Share to)>;
  // Before any change. Without it a change with a limit of churn is UNIMPLEMENTED.
  void SetChurnOf(ChurnOf churn_of) { churn_of_ = std::move(churn_of); }

  // Called after each change of what a data center is answered with, under a lock: it is quick, and
  // calls nothing here. Null: nobody is told; once that returns, nobody is being told.
  void SetOnPublish(std::function<void()> on_publish);

  // Takes up the migrations that the store has. Call it before anything else. Errors: those of
  // MigrationStore::Load.
  absl::Status Load();

  // Takes up what somebody else changed in a store that is shared, and publishes it; it is logged.
  // A rollback that the store has not taken stays in force. A migration that the store has no more
  // is one no more, unless the data center is served here: then the store is given it again, at the
  // share that is in force. An error is in the log, and what could not be taken is as before.
  void CatchUp();

  // Publishes the data center, without a ring that is retired. One that is served already keeps its
  // migration; another one gets the one that the store has for it; where there is none a new one
  // starts at the default share, at none where v2 has the balance warning, or at all of it where
  // there is no v1, and a warning says so.
  //
  // `check` sees the migration in force at the moment of the change and the share that answers, and
  // may refuse it. Errors: its own, those of EnsureExists, LoadDefaultShare and
  // RoutingTable::Create, with the data center.
  using Check = std::function<absl::Status(const Migration& migration, Share effective)>;
  absl::Status Adopt(std::shared_ptr<const DataCenter> data_center, NodeHistory node_history,
                     const Check& check);

  // Serves the data center no more. Its migration is kept.
  void Drop(const std::string& data_center);

  // What the methods below have to say of a migration.
  struct View {
    Migration migration;                        // in force on this router
    std::shared_ptr<const RoutingTable> table;  // null where the data center is not served
    bool is_orphan = false;                     // not served, though it is selected
    bool is_durable = true;                     // the store has it
    std::string balance_warning;                // "" where v2 is even enough, or not served
  };
  struct Changed {
    View view;
    Share previous;  // the requested one; of a rollback the one that answered
  };

  // Those that change the store return once the change is durable and published; it is logged.
  // Every data center of the selector is in the result, by name, also where it is as wanted already
  // and stays unchanged.
  //
  // NOT_FOUND            the router does not serve a data center, or none of the tier.
  // ABORTED              a data center was changed since the order's base_revision; the message has
  //                      which, its revision, who and when. Or the store has not come to that
  //                      revision: it is another store's.
  // FAILED_PRECONDITION  data centers refuse; the message has up to ten, and why. All of them are
  //                      as before.
  // Otherwise the errors of MigrationStore::Update.

  struct ShareRules {
    bool accept_imbalance = false;              // raise it where v2 has the balance warning
    std::optional<std::int32_t> max_churn_ppm;  // of the key space of each data center
  };
  // Refused by data centers that are frozen, that are named, have no v1 and shall have another
  // share than all, or that the rules keep from it. Those without v1 that a tier or all of them
  // bring along are left alone, here and by Retire and Override. A retired ring that the share
  // needs is restored. Other errors: those of ChurnOf.
  absl::StatusOr<std::vector<Changed>> SetShare(const Order& order, Share share,
                                                const ShareRules& rules);

  // ABORTED also where a data center was rolled back after the first `rollbacks` ones, which had
  // come when this was asked for: it is frozen by one that whoever asked had not seen.
  absl::StatusOr<std::vector<Changed>> Unfreeze(const Order& order, std::uint64_t rollbacks);
  absl::StatusOr<std::vector<Changed>> Unfreeze(const Order& order) {
    return Unfreeze(order, RollbackCount());
  }

  struct Retired {
    std::vector<Changed> changes;
    std::uint64_t ring_bytes = 0;  // what the dropped rings took
  };
  // Drops a ring that no request has reached for `min_age`, as far as the store and the warm window
  // tell, and returns its memory to the system.
  absl::StatusOr<Retired> Retire(const Order& order, RingVersion version,
                                 std::chrono::seconds min_age);

  // Has the retired rings built again; see MissingRings.
  absl::StatusOr<std::vector<Changed>> Restore(const Order& order);

  struct ChangedDefaultShare {
    DefaultShare now;
    Share previous;
  };
  // Errors: those of MigrationStore::SetDefaultShare.
  absl::StatusOr<ChangedDefaultShare> SetDefaultShare(const DefaultShareUpdate& update);

  // FAILED_PRECONDITION if the data center is served or not selected; otherwise as
  // MigrationStore::Forget.
  absl::StatusOr<Migration> Forget(const ForgetRequest& request);

  // Only an orphan is forgotten by that, so `request.keep_from` is ignored. Where `to`
  // is served, its table has the migration once this is OK. Errors: those of
  // MigrationStore::Rename.
  absl::StatusOr<Migration> Rename(RenameRequest request);

  // What is in force before the store knows, if it ever does, waits for nothing. Errors: NOT_FOUND
  // as above.

  struct RolledBack {
    std::vector<Changed> changes;
    std::vector<std::string> without_v1;  // left as they are
    std::vector<std::string> unknown;     // not served, and named among others that are; sorted
  };
  // Back to v1, and frozen, and without an override; where that is so already the store is told of
  // it nevertheless. A retired v1 is restored first. NOT_FOUND only where no data center of the
  // selector is served.
  absl::StatusOr<RolledBack> Rollback(const Order& order);
  // How many there have been since the start, of any data center.
  std::uint64_t RollbackCount() const;
  // Whether there are rollbacks that the store has not.
  bool HasUnsavedRollbacks() const;
  // What the store has of the data centers of those rollbacks: that is back after a restart.
  std::vector<Migration> StoredWhereUnsaved() const;
  // Tells the store of them. It waits for the store. Errors: those of MigrationStore::Update.
  absl::Status SaveRollbacks();

  // FAILED_PRECONDITION if a data center has not the ring that the share needs, or is frozen and
  // answers with less.
  absl::StatusOr<std::vector<View>> Override(const Order& order, Share share);
  absl::StatusOr<std::vector<View>> ClearOverride(const Order& order);

  // Publishes again what the passing of time has changed: what is warm, and which nodes are young.
  void Refresh();

  // Data centers as they are served, of which a ring is wanted that is not there: whoever builds
  // rings shall Adopt them with it.
  std::vector<std::shared_ptr<const DataCenter>> MissingRings() const;
  // Why that fails, for those who look; a line in the log where it is another reason than before.
  void SetRestoreError(const std::string& data_center, const std::string& error);

  // The ring of a data center that is not to be built, served or not.
  RetiredRing RetiredRingOf(const std::string& data_center) const;
  // The rings that a data center can be served without, if it must be, as it stands in the store:
  // the one that its share does not need first, then the one that did not answer before the last
  // change of the share. Neither of them where both rings answer.
  std::vector<RetiredRing> DispensableRings(const std::string& data_center) const;

  // Every migration, by data center.
  std::vector<View> Migrations() const;
  // Those of a selector. NOT_FOUND as above.
  absl::StatusOr<std::vector<View>> Select(const Selector& selector) const;
  // NOT_FOUND with the known names, bounded.
  absl::StatusOr<View> Find(std::string_view data_center) const;
  // How many migrations are orphans.
  std::size_t OrphanCount() const;

  std::chrono::microseconds warm_window() const { return options_.warm_window; }

 private:
  // Who rolled a data center back, and why, of which the store does not know yet.
  struct UnsavedRollback {
    std::string actor;
    std::string reason;
    WallTime time;
  };

  struct Record {
    Migration stored;  // as the store has it
    // Oldest first. What is being written is the first one: another one does not replace it.
    std::vector<UnsavedRollback> rollbacks;
    std::uint64_t last_rollback = 0;  // as RollbackCount has it; 0 if there was none
    std::optional<ShareOverride> share_override;
    // What answered which bucket of the stored salt on this router, whatever made it so.
    AnswerHistory answers;

    std::shared_ptr<const RoutingTable> table;  // null where it is not served, and then so is this:
    NodeHistory node_history;
    NodeHistory::Nodes past;  // of node_history,
    WallTime past_from;       // for beginnings of the window from here
    WallTime past_until;      // to before here
    std::string balance_warning;
    RetiredRing retiring = RetiredRing::kNone;  // the store is being told so
    std::string restore_error;
    WallTime next_refresh;  // a begin of the warm window
  };
  using Records = std::map<std::string, Record, std::less<>>;
  // Says why a data center refuses; "" if it does not.
  using Refusal = std::function<std::string(const Record& record)>;

  // What becomes of the records: puts into `next` what the store shall have of those that change.
  using Decide = std::function<absl::Status(const std::vector<Record*>& records,
                                            std::vector<Migration>& next)>;

  // Of the data centers that a selector names, sorted. NOT_FOUND as above.
  absl::StatusOr<std::vector<std::string>> ServedNames(const Selector& selector) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);
  absl::StatusOr<std::vector<Record*>> Served(const Selector& selector)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);
  // Of those that a tier or all of them bring along.
  static bool IsLeftAlone(const Selector& selector, const RoutingTable& table);
  // Without the names that are not served, which `unknown` gets; as it is where none is.
  Selector WithoutUnknown(const Selector& selector, std::vector<std::string>& unknown) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);
  static absl::Status CheckRefusals(const std::vector<Record*>& records, const Refusal& refusal);
  // ABORTED if the store has not come to it yet.
  absl::Status CheckBaseIsReached(const std::optional<std::int64_t>& base_revision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static absl::Status CheckBase(const std::vector<Record*>& records, const Order& order);
  static std::string RefuseShare(const Record& record, Share share, const ShareRules& rules);
  std::string RefuseRetirement(const Record& record, RingVersion version,
                               std::chrono::seconds min_age) const;
  absl::Status CheckChurn(const Selector& selector, Share share, std::int32_t max_churn_ppm)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_LOCKS_EXCLUDED(records_mutex_);

  // Does what `order` wants, in one step of the store; `what` is for the log.
  absl::StatusOr<std::vector<Changed>> Change(std::string_view what, ChangeKind kind,
                                              const std::string& detail, const Order& order,
                                              const Decide& decide)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_LOCKS_EXCLUDED(records_mutex_);
  // Has the store take it, takes up what the store has then, and publishes that.
  absl::Status Write(const MigrationUpdate& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_)
      ABSL_LOCKS_EXCLUDED(records_mutex_);
  // Before anything else is written.
  absl::Status SaveRollbacksFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_)
      ABSL_LOCKS_EXCLUDED(records_mutex_);
  // Takes up the migration that the store has, made where it has none.
  absl::Status EnsureStored(const DataCenter& data_center) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_)
      ABSL_LOCKS_EXCLUDED(records_mutex_);

  // Takes up what the store has of the record, and publishes it.
  void TakeUp(Record& record, const Migration& migration)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);

  // What this router goes by. `has_v1`: the data center has one, be it retired.
  static Migration InForce(const Record& record, bool has_v1);
  // What the store shall have of it next, with `share`.
  Migration Next(const Record& record, Share share) const;
  // Adopt, once there is a migration.
  absl::Status AdoptRecord(Record& record, std::shared_ptr<const DataCenter> data_center,
                           NodeHistory node_history, const Check& check)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);
  // Makes the table of a record anew. The one before goes away, and rings with it that only it has.
  // Errors: those of RoutingTable::Create.
  absl::Status Publish(Record& record, std::shared_ptr<const DataCenter> data_center)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);
  // With the data center that it has.
  absl::Status Publish(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(records_mutex_);
  View ViewOf(const Record& record) const;

  const Options options_;
  ChurnOf churn_of_;

  // Serialises changes of the store; held while it is waited for.
  Mutex mutex_;
  MigrationStore& store_ ABSL_GUARDED_BY(mutex_);
  std::string rollback_error_ ABSL_GUARDED_BY(mutex_);  // of the last attempt; "" if it was OK

  // Held for moments, under mutex_ or without; tables are published under it.
  mutable Mutex records_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  RoutingDirectory& directory_;  // has its own synchronisation
  Records records_ ABSL_GUARDED_BY(records_mutex_);
  std::uint64_t rollback_count_ ABSL_GUARDED_BY(records_mutex_) = 0;
  std::function<void()> on_publish_ ABSL_GUARDED_BY(records_mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_
