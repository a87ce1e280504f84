// Has a person confirm a change before it is made.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_CONFIRM_H_
#define RINGSHIFT_CLIENT_RINGCTL_CONFIRM_H_

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"

namespace ringshift {

// kOk if `yes`, which is --yes, or if there is a terminal to ask on; else says so, and kDeclined.
ExitCode CheckCanConfirm(bool yes);

// kOk if `yes`, or if the person at the terminal answers "y" or "yes" to `question`; else says that
// nothing was changed, and kDeclined. `question` went through ForTerminal. The time in which
// somebody thinks does not count: the clock of `remote` starts again.
ExitCode Confirm(bool yes, const std::string& question, Remote& remote);

// USER@HOST, of this process: who asks for a change.
std::string RequestedBy();

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_CONFIRM_H_
