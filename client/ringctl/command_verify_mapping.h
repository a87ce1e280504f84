// `ringctl verify-mapping`: holds the owners that another system gives keys against a ring.
#ifndef RINGSHIFT_CLIENT_RINGCTL_COMMAND_VERIFY_MAPPING_H_
#define RINGSHIFT_CLIENT_RINGCTL_COMMAND_VERIFY_MAPPING_H_

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

// Adds the command to `ringctl`. When it is chosen, parsing the command line runs it and sets
// `result`, which must outlive `ringctl`.
void AddVerifyMappingCommand(CLI::App& ringctl, ExitCode& result);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_COMMAND_VERIFY_MAPPING_H_
