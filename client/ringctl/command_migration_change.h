// The commands of `ringctl migration` that change something: set, rollback, unfreeze, override,
// clear, retire, restore, forget, rename, and the default share.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_MIGRATION_CHANGE_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_MIGRATION_CHANGE_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the commands to `migration`. When one is chosen, parsing the command line runs it and sets
// `result`, which must outlive `migration`.
void AddMigrationChangeCommands(CLI::App& migration, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_MIGRATION_CHANGE_H_
