// `ringctl ring balance`: the share of every node against its ideal one.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_BALANCE_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_BALANCE_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ring`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ring`.
void AddRingBalanceCommand(CLI::App& ring, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_BALANCE_H_
