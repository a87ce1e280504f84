// What ringshiftd is told on its command line.
//
// Thread safety: values; pure functions.
#ifndef RINGSHIFT_SERVER_OPTIONS_H_
#define RINGSHIFT_SERVER_OPTIONS_H_

#include <string>
#include <variant>
#include <vector>

#include "server/listen_address.h"

namespace ringshift {

struct RouterOptions {
  std::string topology_path;
  std::string sqlite_path;
  ListenAddress public_address{"0.0.0.0", 7400};
  ListenAddress admin_address{"127.0.0.1", 7401};
  ListenAddress http_address{"0.0.0.0", 9464};
  std::vector<std::string> data_centers;  // those to serve; empty means all of the topology
  bool reflection = true;                 // on the gRPC ports
};

// The program has nothing to do but say something: on stdout if the exit code is 0, else on stderr.
struct EarlyExit {
  int exit_code = 0;  // 2 for flags that cannot be used
  std::string text;
};

std::variant<RouterOptions, EarlyExit> ParseOptions(int argc, const char* const* argv);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_OPTIONS_H_
