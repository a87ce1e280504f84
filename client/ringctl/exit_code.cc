#include "client/ringctl/exit_code.h"

#include <cstdio>
#include <string>

#include "client/ringctl/text.h"

namespace ringshift {
namespace {

void WriteLine(const std::string& line) { std::fwrite(line.data(), 1, line.size(), stderr); }

}  // namespace

ExitCode Fail(ExitCode code, std::string_view what, std::string_view advice) {
  WriteLine("ringctl: " + ForTerminal(what) + ": " + ForTerminal(advice) + "\n");
  return code;
}

void Warn(std::string_view text) { WriteLine("ringctl: warning: " + ForTerminal(text) + "\n"); }

}  // namespace ringshift
