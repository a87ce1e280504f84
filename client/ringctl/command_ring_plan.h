// `ringctl ring plan`: which ring to take for a balance, or for an amount of memory.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_PLAN_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_PLAN_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ring`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ring`.
void AddRingPlanCommand(CLI::App& ring, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_RING_PLAN_H_
