// `ringctl holders`: every node that may hold the object of a key, to purge it.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_HOLDERS_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_HOLDERS_H_

#include <string>
#include <vector>

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ringctl`. When it is chosen, parsing the command line runs it and sets
// `result`. Its keys are the arguments that are no options, and after them `verbatim_keys`: those
// behind "--". Both references must outlive `ringctl`.
void AddHoldersCommand(CLI::App& ringctl, const std::vector<std::string>& verbatim_keys,
                       ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_HOLDERS_H_
