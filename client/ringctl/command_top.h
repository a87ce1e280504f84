// `ringctl top`: a router's shares, rates, outcomes and memory, again and again.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_TOP_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_TOP_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ringctl`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ringctl`.
void AddTopCommand(CLI::App& ringctl, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_TOP_H_
