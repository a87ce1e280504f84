#include "client/ringctl/ring_of_file.h"

#include <CLI/CLI.hpp>

#include "client/ringctl/checks.h"

namespace ringshift {

void AddDataCenterOfFileOptions(CLI::App& command, std::string& topology_file,
                                std::string& data_center) {
  command.add_option("--topology", topology_file, "The topology file")
      ->required()
      ->type_name("FILE");
  command.add_option("--data-center", data_center, "The data center, as the file names it")
      ->required()
      ->type_name("NAME");
}

void AddRingOfFileOptions(CLI::App& command, RingOfFile& ring) {
  AddDataCenterOfFileOptions(command, ring.topology_file, ring.data_center);
  command.add_option("--ring", ring.ring, "Which ring: v1 or v2")
      ->required()
      ->type_name("v1|v2")
      ->check(CheckOneOf({"v1", "v2"}));
}

}  // namespace ringshift
