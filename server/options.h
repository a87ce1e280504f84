// What ringshiftd is told: on its command line, in its environment, in a file.
//
// Thread safety: values; ParseOptions reads the environment it is given and a file, no more.
#ifndef RINGSHIFT_SERVER_OPTIONS_H_
#define RINGSHIFT_SERVER_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "migration/etcd/etcd_address.h"
#include "routing/topology_change.h"
#include "server/call_limit.h"
#include "server/listen_address.h"
#include "server/outcome_reporters.h"

namespace ringshift {

// A store in etcd, and how to come there. Files in PEM; "" where there is none.
struct EtcdSettings {
  EtcdAddress address;
  std::string cache_path;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string user;
  std::string password_file;
};

struct RouterOptions {
  std::string topology_path;
  std::string sqlite_path;           // the store, unless it is in etcd
  std::optional<EtcdSettings> etcd;  // the store, if it is there
  bool store_must_exist = false;
  ReloadLimits limits;
  std::chrono::seconds warm_window = std::chrono::hours(24);  // a minute to 30 days
  std::optional<std::uint64_t> build_memory;  // bytes; none: what the system lets the router have
  std::size_t max_concurrent_calls = kDefaultMaxConcurrentCalls;  // at least 1
  ListenAddress public_address{"0.0.0.0", 7400};
  ListenAddress admin_address{"127.0.0.1", 7401};
  ListenAddress http_address{"0.0.0.0", 9464};
  std::vector<std::string> data_centers;  // those to serve; empty means all of the topology
  bool reflection = true;                 // on the gRPC ports
  OutcomeReporters outcome_reporters;
};

// The program has nothing to do but say something: on stdout if the exit code is 0, else on stderr.
struct EarlyExit {
  int exit_code = 0;  // 2 for settings that cannot be used
  std::string text;
};

// The value of a variable of the environment; none if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// That of this process.
std::optional<std::string> ProcessEnvironment(const std::string& name);

// A setting is taken from the command line, else from the environment, else from the file of
// --config, else it has its default. A refusal names the flag, the variable, or the file and line.
std::variant<RouterOptions, EarlyExit> ParseOptions(
    int argc, const char* const* argv, const Environment& environment = ProcessEnvironment);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_OPTIONS_H_
