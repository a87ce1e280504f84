// Keys in, a line out for each: what the commands that answer keys have in common.
//
// Thread safety: pure functions of their arguments and the standard descriptors.
#ifndef RINGSHIFT_CLIENT_RINGCTL_KEY_ANSWERS_H_
#define RINGSHIFT_CLIENT_RINGCTL_KEY_ANSWERS_H_

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "client/ringctl/exit_code.h"
#include "client/ringctl/output.h"

namespace ringshift {

// Reads the keys of standard input, and writes for each to standard output: the key as it was
// given, what `write_fields` writes for it (a TAB before every field), and a newline. kOk at the
// end of the keys; after an error, says so and returns kInput.
ExitCode AnswerKeys(bool hex,
                    const std::function<void(std::string_view key, Output& output)>& write_fields);

// Writes out what is left of the answers. `read` is how reading the keys ended. kOk, or says what
// went wrong and returns kInput.
ExitCode FinishAnswers(Output& output, const absl::Status& read);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_KEY_ANSWERS_H_
