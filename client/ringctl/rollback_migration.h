// `ringctl migration rollback` and `unfreeze`: back to v1 at once, and the end of the freeze that
// follows.
#ifndef RINGSHIFT_CLIENT_RINGCTL_ROLLBACK_MIGRATION_H_
#define RINGSHIFT_CLIENT_RINGCTL_ROLLBACK_MIGRATION_H_

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/selector.h"

namespace ringshift {

struct RollbackMigrationOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  std::string reason;
  bool yes = false;  // for scripts that always say so: nothing is asked anyway
  bool json = false;
};

// Asks nothing, neither a person nor, before it, the router. kNotDurable where the store does not
// have it; kNotInForce where a ring has to be built first, be it in the store or not; kDeclined
// where a data center could not be rolled back because the router does not serve it, or there is
// none that has a v1.
ExitCode RollbackMigration(const RollbackMigrationOptions& options);

struct UnfreezeMigrationOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  std::string reason;
  bool yes = false;
  bool json = false;
};

// Shows what is frozen, asks, and has it unfrozen.
ExitCode UnfreezeMigration(const UnfreezeMigrationOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_ROLLBACK_MIGRATION_H_
