// `ringctl migration forget` and `rename`: what becomes of the migration of a data center that is
// gone, or that gets another name.
#ifndef RINGSHIFT_CLIENT_RINGCTL_FORGET_MIGRATION_H_
#define RINGSHIFT_CLIENT_RINGCTL_FORGET_MIGRATION_H_

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"

namespace ringshift {

struct ForgetMigrationOptions {
  RemoteOptions remote;
  std::string data_center;
  std::string reason;
  bool yes = false;
  bool json = false;
};

// Shows the migration, asks, and has the router forget it.
ExitCode ForgetMigration(const ForgetMigrationOptions& options);

struct RenameMigrationOptions {
  RemoteOptions remote;
  std::string data_center;
  std::string new_data_center;
  std::string reason;
  bool yes = false;
  bool json = false;
};

// Shows the migration, asks, and has the router give it to the new name.
ExitCode RenameMigration(const RenameMigrationOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_FORGET_MIGRATION_H_
