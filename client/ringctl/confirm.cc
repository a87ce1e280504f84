#include "client/ringctl/confirm.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/ringctl/text.h"

namespace ringshift {

ExitCode CheckCanConfirm(bool yes) {
  if (yes || (::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0)) return ExitCode::kOk;
  return Fail(ExitCode::kDeclined, "nothing was changed: there is no terminal to ask on",
              "give --yes to change it without being asked");
}

ExitCode Confirm(bool yes, const std::string& question, Remote& remote) {
  if (yes) return ExitCode::kOk;
  const std::string prompt = question + " [y/N] ";
  std::fwrite(prompt.data(), 1, prompt.size(), stderr);
  std::array<char, 64> answer{};
  const bool answered =
      std::fgets(answer.data(), static_cast<int>(answer.size()), stdin) != nullptr;
  const std::string_view text = answered ? answer.data() : "";
  if (text != "y\n" && text != "Y\n" && text != "yes\n" && text != "YES\n" && text != "Yes\n") {
    return Fail(ExitCode::kDeclined, "nothing was changed: not confirmed",
                "answer y, or give --yes");
  }
  remote.RestartClock();
  return ExitCode::kOk;
}

std::string RequestedBy() {
  const passwd* user = ::getpwuid(::getuid());
  const std::string name =
      user != nullptr ? std::string(user->pw_name) : absl::StrCat("uid-", ::getuid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return ForTerminal(name) + "@unknown";
  return ForTerminal(name + "@" + host.data());
}

}  // namespace ringshift
