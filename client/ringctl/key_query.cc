#include "client/ringctl/key_query.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "client/ringctl/checks.h"

namespace ringshift {

void AddKeyQueryOptions(CLI::App& command, KeyQuery& query, const std::string& about_data_center) {
  command.add_option("--data-center", query.data_center, about_data_center)
      ->required()
      ->type_name("NAME")
      ->check(CheckUtf8);
  command.add_option("--pool", query.pool, "The pool whose nodes may own (default: every node)")
      ->type_name("NAME")
      ->check(CheckUtf8);
  command
      .add_option("--replicas", query.replicas,
                  "Distinct nodes to name, the owner included, at most 16 (default: 1)")
      ->type_name("COUNT")
      ->check(CheckWholeNumber(0, std::numeric_limits<int>::max()));
  command.add_flag("--hex", query.hex, "The keys are given as their bytes in hex");
  command.add_flag("--json", query.json, "A JSON object for each key, one a line");
  // The keys are what CLI11 leaves: a positional of its own would split a key such as "[a,b]".
  command.allow_extras();
}

}  // namespace ringshift
