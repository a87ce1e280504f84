// Changes migrations: in the store first, then in the routing tables. And keeps, beside the tables,
// the migrations of data centers that are not served: orphans, unless --data-centers leaves them
// out.
//
// A change is in force once it is durable, never before; and because changes are made one at a
// time, the tables go through the store's revisions in order. A data center that is being served
// goes on with the migration that its table has, whatever becomes of the store.
//
// Thread safety: thread-safe. A change waits for the store, and for the changes before it, for
// seconds where another program has the store's lock: never call it on a thread of gRPC's. Readers
// wait for neither.
#ifndef RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_
#define RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_

#include <cstddef>
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
#include "routing/data_center.h"
#include "routing/routing_directory.h"
#include "routing/routing_table.h"

namespace ringshift {

class MigrationController {
 public:
  // `store` and `directory` outlive this object, and nothing else changes migrations or publishes
  // tables. `selected` are the data centers that this router may serve; none means all.
  MigrationController(MigrationStore& store, RoutingDirectory& directory,
                      std::vector<std::string> selected = {})
      : store_(store), directory_(directory), selected_(std::move(selected)) {}

  // Takes up the migrations that the store has. Call it before anything else. Errors: those of
  // MigrationStore::Load.
  absl::Status Load();

  // Publishes the data center. One that is served already keeps the migration of its table; another
  // one gets the one that the store has for it; where there is none a new one starts at share 0, or
  // at all of it where there is no v1, and a warning says so.
  //
  // `check` sees the migration at the moment of the change, and may refuse it. Errors: its own, and
  // those of EnsureExists and RoutingTable::Create, with the data center.
  using Check = std::function<absl::Status(const Migration&)>;
  absl::Status Adopt(std::shared_ptr<const DataCenter> data_center, const Check& check);

  // Serves the data center no more. Its migration is kept.
  void Drop(const std::string& data_center);

  // OK once the change is durable and published; it is logged.
  //
  // NOT_FOUND            the router does not serve the data center.
  // FAILED_PRECONDITION  the data center has no v1, and the share is not all.
  // Otherwise the errors of MigrationStore::SetShare.
  struct Changed {
    std::shared_ptr<const RoutingTable> table;
    Share previous;
  };
  absl::StatusOr<Changed> SetShare(const ShareChange& change);

  // FAILED_PRECONDITION if the data center is served or not selected; otherwise as
  // MigrationStore::Forget.
  absl::StatusOr<Migration> Forget(const ForgetRequest& request);

  // Only an orphan is forgotten by that, so `request.keep_from` is ignored. Where `to`
  // is served, its table has the migration once this is OK. Errors: those of
  // MigrationStore::Rename.
  absl::StatusOr<Migration> Rename(RenameRequest request);

  // Every migration, by data center.
  struct View {
    Migration migration;
    std::shared_ptr<const RoutingTable> table;  // null where the data center is not served
    bool is_orphan = false;                     // not served, though it is selected
  };
  std::vector<View> Migrations() const;
  // NOT_FOUND with the known names, bounded.
  absl::StatusOr<View> Find(std::string_view data_center) const;
  // How many migrations are orphans.
  std::size_t OrphanCount() const;

 private:
  // The migration that the store has for a data center that is not served, made where it has none.
  absl::StatusOr<Migration> Stored(const DataCenter& data_center)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Publish(std::shared_ptr<const RoutingTable> table) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Serialises changes; held while the store is waited for.
  Mutex mutex_;
  MigrationStore& store_ ABSL_GUARDED_BY(mutex_);
  RoutingDirectory& directory_;  // has its own synchronisation; published to under mutex_
  const std::vector<std::string> selected_;
  // Held for moments; so that readers see every data center once, a table is added or taken away
  // under it too.
  mutable Mutex unserved_mutex_;
  // Of data centers that are not served, orphans or not selected.
  std::map<std::string, Migration, std::less<>> unserved_ ABSL_GUARDED_BY(unserved_mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_
