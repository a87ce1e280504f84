#include "server/options.h"

#include <CLI/CLI.hpp>
#include <string_view>

namespace ringshift {
namespace {

constexpr std::string_view kStoreScheme = "sqlite:";

constexpr std::string_view kFooter = R"(
Ports
  public  gRPC for edge services: RoutingService, health, reflection
  admin   gRPC for operators: MigrationService, health, reflection; keep it on loopback, it has no
          authentication
  http    GET /metrics, /healthz, /readyz; it changes nothing
Port 0 lets the system choose; the log line msg="listening" names the ports.

Exit codes
  0             stopped by SIGTERM or SIGINT
  1             could not start
  2             unusable flags
  128 + signal  ended at once, without waiting for calls, by a second SIGTERM or SIGINT

Example
  ringshiftd --topology=/etc/ringshift/topology.yaml --store=sqlite:/var/lib/ringshift/state.db)";

EarlyExit Unusable(const std::string& why) {
  return {2, "ringshiftd: " + why + "\nRun 'ringshiftd --help' for the flags and an example.\n"};
}

}  // namespace

std::variant<RouterOptions, EarlyExit> ParseOptions(int argc, const char* const* argv) {
  RouterOptions options;
  std::string store;
  std::string public_address = options.public_address.ToString();
  std::string admin_address = options.admin_address.ToString();
  std::string http_address = options.http_address.ToString();
  bool no_reflection = false;

  CLI::App app("Ringshift's router: answers which cache node owns a request.", "ringshiftd");
  app.footer(std::string(kFooter));
  app.set_version_flag("--version", "ringshiftd " RINGSHIFT_VERSION);
  app.add_option("--topology", options.topology_path, "the topology, a YAML file")
      ->type_name("FILE")
      ->required();
  app.add_option("--store", store,
                 "where migration state is kept; the file is made if it is missing")
      ->type_name("sqlite:PATH")
      ->required();
  app.add_option("--public-address", public_address, "the port for edge services")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--admin-address", admin_address, "the port for operators")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--http-address", http_address, "the port for metrics and probes")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--data-centers", options.data_centers,
                 "serve only these data centers of the topology (default: all)")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_flag("--no-reflection", no_reflection,
               "do not describe the API to gRPC clients that ask");

  // CLI11 would take the next flag for the value.
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag.starts_with("--") && flag.find('=') + 1 == flag.size()) {
      return Unusable(std::string(flag) + ": no value behind the =");
    }
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return EarlyExit{0, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return Unusable(error.what());
  }

  if (!store.starts_with(kStoreScheme) || store.size() == kStoreScheme.size()) {
    return Unusable("--store: \"" + store +
                    "\" is not sqlite:PATH, for example sqlite:/var/lib/ringshift/state.db");
  }
  options.sqlite_path = store.substr(kStoreScheme.size());
  options.reflection = !no_reflection;
  const struct {
    std::string_view flag;
    const std::string& text;
    ListenAddress& address;
  } addresses[] = {{"--public-address", public_address, options.public_address},
                   {"--admin-address", admin_address, options.admin_address},
                   {"--http-address", http_address, options.http_address}};
  for (const auto& [flag, text, address] : addresses) {
    absl::StatusOr<ListenAddress> parsed = ListenAddress::Parse(text);
    if (!parsed.ok()) {
      return Unusable(std::string(flag) + ": " + std::string(parsed.status().message()));
    }
    address = *std::move(parsed);
  }
  return options;
}

}  // namespace ringshift
