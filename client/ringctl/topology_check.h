// `ringctl topology check`: whether a topology file is good, and what its rings will take.
#ifndef RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_CHECK_H_
#define RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_CHECK_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `topology`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `topology`.
void AddTopologyCheckCommand(CLI::App& topology, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_TOPOLOGY_CHECK_H_
