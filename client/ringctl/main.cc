// ringctl: looks keys up, checks topologies, and looks at and changes routers.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "client/ringctl/command_decide.h"
#include "client/ringctl/command_explain.h"
#include "client/ringctl/command_holders.h"
#include "client/ringctl/command_lookup.h"
#include "client/ringctl/command_migration.h"
#include "client/ringctl/command_ring.h"
#include "client/ringctl/command_route.h"
#include "client/ringctl/command_status.h"
#include "client/ringctl/command_store.h"
#include "client/ringctl/command_top.h"
#include "client/ringctl/command_topology.h"
#include "client/ringctl/command_verify_mapping.h"
#include "client/ringctl/exit_code.h"

namespace ringshift {
namespace {

constexpr const char* kFooter = R"(Exit codes:
  0  done
  1  the answer is no: not confirmed, no terminal to ask on, a reload is held, differences were found,
     no ring reaches a goal
  2  the command line, or a variable of the environment, is wrong
  3  a file, what is in it or a line of input is wrong, or output cannot be written
  4  the router cannot be reached or did not answer in time
  5  the router refused
  6  it is not known whether the change was made
  7  the change is in force on the router, and its store does not have it
  8  the change is made, and not in force on the router yet

Environment (an option counts before it):
  RINGCTL_PUBLIC_SERVER  --server of route, explain and holders
  RINGCTL_ADMIN_SERVER   --server of the other commands that ask a router
  RINGCTL_TIMEOUT        --timeout of all of them

Examples:
  ringctl status
  ringctl route --data-center ams /img/1.jpg
  ringctl explain --data-center ams /img/1.jpg
  ringctl migration set --data-center ams --percent 12.5 --reason "ams: first eighth"
  ringctl migration rollback --data-center ams
  ringctl top
  ringctl topology check topology.yaml
  ringctl topology reload
  ringctl ring stats --topology topology.yaml --data-center ams
  ringctl lookup --topology topology.yaml --data-center ams --ring v2 < keys.txt

`ringctl COMMAND --help` has more, and docs/ringctl.md the formats of all output.)";

// Opens standard descriptors that the caller has closed, so that no file or socket of ours takes
// their place: reading the input or writing the output then fails, as it should.
void OccupyStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) {
      static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

// The command that was being parsed, and its words: "ringctl", "ringctl migration set", ...
std::pair<const CLI::App*, std::string> ChosenCommand(const CLI::App& ringctl) {
  const CLI::App* app = &ringctl;
  std::string words = ringctl.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    words += " " + app->get_name();
  }
  return {app, words};
}

ExitCode FailUsage(const CLI::App& ringctl, const CLI::ParseError& error) {
  const auto [command, words] = ChosenCommand(ringctl);
  std::string what = error.what();
  // CLI11 would say that a command is required, and not that this is none.
  if (!command->get_subcommands({}).empty() && !command->remaining().empty()) {
    what = "\"" + command->remaining().front() + "\" is no command or option";
  }
  return Fail(ExitCode::kUsage, what, "see `" + words + " --help`");
}

ExitCode ParseAndRun(std::vector<std::string> arguments) {
  // What is behind "--" never reaches CLI11.
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> verbatim(mark == arguments.end() ? mark : mark + 1,
                                          arguments.end());
  arguments.erase(mark, arguments.end());
  const bool takes_keys =
      !arguments.empty() && (arguments.front() == "route" || arguments.front() == "explain" ||
                             arguments.front() == "holders");
  if (!verbatim.empty() && !takes_keys) {
    return Fail(ExitCode::kUsage,
                "only `ringctl route`, `explain` and `holders` take arguments behind --",
                "see `ringctl --help`");
  }

  // Of "--reason=" CLI11 would take the next argument for the value.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--") || arguments[i].find('=') + 1 != arguments[i].size())
      continue;
    arguments[i].pop_back();
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(++i), "");
  }

  ExitCode result = ExitCode::kOk;
  CLI::App ringctl("Looks keys up on rings, checks topologies, and looks at and changes routers.",
                   "ringctl");
  ringctl.require_subcommand(1);
  ringctl.set_version_flag("--version", "ringctl " RINGSHIFT_VERSION);
  ringctl.footer(kFooter);
  AddStatusCommand(ringctl, result);
  AddRouteCommand(ringctl, verbatim, result);
  AddExplainCommand(ringctl, verbatim, result);
  AddHoldersCommand(ringctl, verbatim, result);
  AddTopCommand(ringctl, result);
  AddMigrationCommand(ringctl, result);
  AddTopologyCommand(ringctl, result);
  AddRingCommand(ringctl, result);
  AddLookupCommand(ringctl, result);
  AddDecideCommand(ringctl, result);
  AddVerifyMappingCommand(ringctl, result);
  AddStoreCommand(ringctl, result);
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 wants of a vector
    ringctl.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      ringctl.exit(error);  // prints the help or the version
      std::cout.flush();
      return ExitCode::kOk;
    }
    return FailUsage(ringctl, error);
  } catch (const std::bad_alloc&) {
    return Fail(ExitCode::kInput, "out of memory", "free memory, or take a machine with more");
  }
  return result;
}

}  // namespace
}  // namespace ringshift

int main(int argc, char** argv) {
  ringshift::OccupyStandardDescriptors();
  // As every filter: the end of a pipe's reader ends ringctl, whatever the caller does with the
  // signal.
  ::signal(SIGPIPE, SIG_DFL);
  const ringshift::ExitCode result = ringshift::ParseAndRun({argv + 1, argv + argc});
  // Without the destructors of gRPC's globals, some of whose threads may still wait for a name
  // server.
  std::_Exit(static_cast<int>(result));
}
