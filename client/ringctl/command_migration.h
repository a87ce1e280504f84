// `ringctl migration ...`: reads and changes the migrations of data centers on a router.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_MIGRATION_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_MIGRATION_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ringctl`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ringctl`.
void AddMigrationCommand(CLI::App& ringctl, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_MIGRATION_H_
