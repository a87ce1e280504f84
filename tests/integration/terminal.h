// Runs a program where a person could sit.
#ifndef RINGSHIFT_TESTS_INTEGRATION_TERMINAL_H_
#define RINGSHIFT_TESTS_INTEGRATION_TERMINAL_H_

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/integration/process.h"

namespace ringshift::testing {

// Runs a program on a terminal of its own; once it has asked, types what `answer` returns. What
// appears on the terminal is `out`.
inline Completed RunOnTerminal(std::vector<std::string> argv,
                               const std::function<std::string()>& answer) {
  std::vector<char*> arguments;
  for (std::string& argument : argv) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  Completed result;
  if (child < 0) {
    ADD_FAILURE() << "no pseudo-terminal: " << std::strerror(errno);
    return result;
  }
  std::array<char, 4096> buffer{};
  bool answered = false;
  // Reading fails once the last process on the terminal has ended.
  for (ssize_t count = 0; (count = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
    result.out.append(buffer.data(), static_cast<std::size_t>(count));
    if (answered || result.out.find("[y/N] ") == std::string::npos) continue;
    answered = true;
    const std::string typed = answer();
    EXPECT_EQ(::write(terminal, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_TERMINAL_H_
