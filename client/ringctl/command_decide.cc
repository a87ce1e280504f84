#include "client/ringctl/command_decide.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "client/ringctl/checks.h"
#include "client/ringctl/key_answers.h"
#include "client/ringctl/output.h"
#include "migration/decision.h"
#include "migration/share.h"

namespace ringshift {
namespace {

struct DecideOptions {
  std::string salt;
  std::string percent;  // as CheckPercent takes it
  bool hex = false;
};

ExitCode Decide(const DecideOptions& options) {
  const Share share = Share::ParsePercent(options.percent).value();
  const Decision decision(options.salt);
  return AnswerKeys(options.hex, [&](std::string_view key, Output& output) {
    output.Write(AnswersV2(decision.Bucket(key), share) ? "\tv2" : "\tv1");
  });
}

}  // namespace

void AddDecideCommand(CLI::App& ringctl, ExitCode& result) {
  auto options = std::make_shared<DecideOptions>();
  CLI::App* command =
      ringctl.add_subcommand("decide", "Which ring answers keys, at a salt and a share (offline)");
  command
      ->add_option("--salt", options->salt,
                   "The salt of the data center's migration; by default that is its name")
      ->required()
      ->type_name("TEXT");
  command
      ->add_option("--percent", options->percent, "The share of v2: 0 to 100, up to four decimals")
      ->required()
      ->type_name("PERCENT")
      ->check(CheckPercent);
  command->add_flag("--hex", options->hex, "The lines are the keys' bytes in hex");
  command->footer(
      R"(Reads keys from standard input, one a line: any bytes but the newline, and an empty line is the
empty key. Writes a line for each: the key as it was given, TAB, v1 or v2.

Examples:
  printf '/img/1.jpg\n/img/2.jpg\n' | ringctl decide --salt ams --percent 12.5
  ringctl decide --salt ams --percent 0.01 < keys.txt | grep -c 'v2$')");
  command->callback([options, &result] { result = Decide(*options); });
}

}  // namespace ringshift
