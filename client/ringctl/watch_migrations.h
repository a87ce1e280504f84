// `ringctl migration watch`: the migrations, and every change of them, until it is interrupted.
#ifndef RINGSHIFT_CLIENT_RINGCTL_WATCH_MIGRATIONS_H_
#define RINGSHIFT_CLIENT_RINGCTL_WATCH_MIGRATIONS_H_

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"

namespace ringshift {

struct WatchMigrationsOptions {
  RemoteOptions remote;
  bool json = false;
};

// Does not return where all is well: SIGINT and SIGTERM end the process with exit code 0.
ExitCode WatchMigrations(const WatchMigrationsOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_WATCH_MIGRATIONS_H_
