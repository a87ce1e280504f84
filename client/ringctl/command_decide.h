// `ringctl decide`: which ring answers keys, at a salt and a share.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_DECIDE_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_DECIDE_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ringctl`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ringctl`.
void AddDecideCommand(CLI::App& ringctl, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_DECIDE_H_
