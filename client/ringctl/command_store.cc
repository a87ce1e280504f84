#include "client/ringctl/command_store.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/ringctl/copy_store.h"
#include "client/ringctl/output.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

struct CopyOptions {
  std::string from;
  std::string to;
};

std::string CheckStore(const std::string& text) {
  if (text.size() > kSqlite.size() && text.starts_with(kSqlite)) return "";
  return absl::StrCat("\"", ForTerminal(text), "\" is not a store: write sqlite:PATH");
}

std::string Counted(std::size_t count, std::string_view one, std::string_view many) {
  return HumanCount(count) + " " + std::string(count == 1 ? one : many);
}

ExitCode Copy(const CopyOptions& options) {
  const absl::StatusOr<StoreContents> copied =
      CopySqliteStore(options.from.substr(kSqlite.size()), options.to.substr(kSqlite.size()));
  if (!copied.ok()) {
    return Fail(ExitCode::kInput, std::string(copied.status().message()),
                "nothing was copied; see `ringctl store copy --help`");
  }
  Output output(STDOUT_FILENO);
  output.Write(absl::StrCat(
      "Copied from ", ForTerminal(options.from), " to ", ForTerminal(options.to), ": ",
      Counted(copied->migrations.size(), "migration", "migrations"), ", ",
      Counted(copied->topologies.size(), "topology", "topologies"), " and ",
      Counted(copied->history.size(), "change", "changes"), " of the history, up to revision ",
      copied->last_revision, ". The copy was read back: it is the same.\n"));
  return output.Finish();
}

}  // namespace

void AddStoreCommand(CLI::App& ringctl, ExitCode& result) {
  CLI::App* store = ringctl.add_subcommand("store", "Works on stores of migration state (offline)");
  store->require_subcommand(1);
  auto options = std::make_shared<CopyOptions>();
  CLI::App* copy = store->add_subcommand("copy", "Copies all that a store holds to a new one");
  copy->add_option("FROM", options->from, "The store to read; a router may have it open")
      ->required()
      ->type_name("sqlite:PATH")
      ->check(CheckStore);
  copy->add_option("TO", options->to, "The store to make; nothing may be there yet")
      ->required()
      ->type_name("sqlite:PATH")
      ->check(CheckStore);
  copy->footer(
      R"(Copies the migrations, the topologies and the history with their revisions and times, as they were
at one moment, and reads the copy back to compare. The copy has its name only once it is whole.
Changes that a router makes after that moment are not in it: stop the router first if the copy is to
take the place of its store.

Examples:
  ringctl store copy sqlite:/var/lib/ringshift/state.db sqlite:/backup/state-2026-01-31.db
  ringctl store copy sqlite:/backup/state-2026-01-31.db sqlite:/var/lib/ringshift/state.db)");
  copy->callback([options, &result] { result = Copy(*options); });
}

}  // namespace ringshift
