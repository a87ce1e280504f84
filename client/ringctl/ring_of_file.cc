#include "client/ringctl/ring_of_file.h"

#include <CLI/CLI.hpp>

#include "client/ringctl/checks.h"

namespace ringshift {

void AddRingOfFileOptions(CLI::App& command, RingOfFile& ring) {
  command.add_option("--topology", ring.topology_file, "The topology file")
      ->required()
      ->type_name("FILE");
  command.add_option("--data-center", ring.data_center, "The data center, as the file names it")
      ->required()
      ->type_name("NAME");
  command.add_option("--ring", ring.ring, "Which ring: v1 or v2")
      ->required()
      ->type_name("v1|v2")
      ->check(CheckOneOf({"v1", "v2"}));
}

}  // namespace ringshift
