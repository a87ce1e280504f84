// Changes migrations: in the store first, then in the routing tables.
//
// A change is in force once it is durable, never before; and because changes are made one at a
// time, the tables go through the store's revisions in order.
//
// Thread safety: thread-safe. A change waits for the store, and for the changes before it, for
// seconds where another program has the store's lock: never call it on a thread of gRPC's. Readers
// of the directory wait for neither.
#ifndef RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_
#define RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_

#include <memory>

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
  // Both outlive this object, and nothing else writes to them.
  MigrationController(MigrationStore& store, RoutingDirectory& directory)
      : store_(store), directory_(directory) {}

  // Publishes the data center with the migration that the store has for it. Where the store has
  // none, a new one starts at share 0, or at all of it where there is no v1, and a warning says so.
  // Errors: those of EnsureExists and RoutingTable::Create, with the data center.
  absl::Status Adopt(std::shared_ptr<const DataCenter> data_center);

  // OK once the change is durable and published; it is logged.
  //
  // NOT_FOUND            the router does not serve the data center.
  // FAILED_PRECONDITION  the data center has no v1.
  // Otherwise the errors of MigrationStore::SetShare.
  struct Changed {
    std::shared_ptr<const RoutingTable> table;
    Share previous;
  };
  absl::StatusOr<Changed> SetShare(const ShareChange& change);

 private:
  Mutex mutex_;
  MigrationStore& store_ ABSL_GUARDED_BY(mutex_);
  RoutingDirectory& directory_;  // has its own synchronisation; published to under mutex_
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_CONTROLLER_H_
