// How ringctl ends, and how it says what went wrong.
//
// Thread safety: Fail writes to stderr in one call; everything else is a value.
#ifndef RINGSHIFT_CLIENT_RINGCTL_EXIT_CODE_H_
#define RINGSHIFT_CLIENT_RINGCTL_EXIT_CODE_H_

#include <string_view>

namespace ringshift {

// A contract with scripts, published in docs/ringctl.md and `ringctl --help`: never renumber.
enum class ExitCode : int {
  kOk = 0,
  kDeclined = 1,  // the answer is no: not confirmed, or nobody there to confirm it; what was
                  // reloaded is held; what was compared differs; what was asked for cannot be had
  kUsage = 2,     // the command line is wrong
  kInput = 3,     // a file, its content or a line of input is wrong, or output cannot be written
  kUnreachable = 4,  // the server cannot be reached, or does not answer in time
  kRefused = 5,      // the server answered with an error
  kUnknown = 6,      // a change was sent, and it is not known whether it was made
  kNotDurable = 7,   // a change is in force on the router, and its store does not have it
  kNotInForce = 8,   // a change is not in force on the router yet, be it in the store or not
};

// Writes "ringctl: WHAT: ADVICE" and a newline to stderr and returns `code`. Control characters of
// either are escaped, because they may come from a file or from a server.
ExitCode Fail(ExitCode code, std::string_view what, std::string_view advice);

// Writes "ringctl: warning: TEXT" and a newline to stderr, escaped likewise.
void Warn(std::string_view text);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_EXIT_CODE_H_
