// `ringctl ring stats|balance|plan|diff`: size and balance of rings, and what moves from one to
// another.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the commands to `ringctl`. When one is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ringctl`.
void AddRingCommand(CLI::App& ringctl, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_H_
