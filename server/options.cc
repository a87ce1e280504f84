#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "migration/share.h"
#include "routing/byte_size.h"
#include "server/settings.h"

namespace ringshift {
namespace {

constexpr std::string_view kStoreScheme = "sqlite:";
constexpr std::string_view kEtcdScheme = "etcd:";

constexpr std::string_view kFooter = R"(
Settings
  Every flag can also be a variable of the environment, or a line of the file that --config names:
    --public-address=HOST:PORT   RINGSHIFTD_PUBLIC_ADDRESS=HOST:PORT   public-address=HOST:PORT
    --store-must-exist           RINGSHIFTD_STORE_MUST_EXIST=true      store-must-exist=true
  The command line goes before the environment, the environment before the file, the file before the
  default. In the file, empty lines and lines that begin with # do not count.

Ports
  public  gRPC for edge services: RoutingService, health, reflection
  admin   gRPC for operators: MigrationService, TopologyService, StatusService, health, reflection;
          keep it on loopback, it has no authentication
  http    GET /metrics, /healthz, /readyz; it changes nothing
Port 0 lets the system choose; the log line msg="listening" names the ports.

Signals
  SIGHUP           reads the topology again
  SIGTERM, SIGINT  end the router once calls have ended; a second one ends it at once

Exit codes
  0             stopped by SIGTERM or SIGINT
  1             could not start; or a port accepts connections no more (too many open files)
  2             unusable settings
  128 + signal  ended at once, without waiting for calls, by a second SIGTERM or SIGINT

Examples
  ringshiftd --topology=/etc/ringshift/topology.yaml --store=sqlite:/var/lib/ringshift/state.db
  ringshiftd --config=/etc/ringshift/ringshiftd.conf
where /etc/ringshift/ringshiftd.conf holds
  topology=/etc/ringshift/topology.yaml
  store=sqlite:/var/lib/ringshift/state.db
  store-must-exist=true)";

EarlyExit Unusable(const std::string& why) {
  return {2, "ringshiftd: " + why + "\nRun 'ringshiftd --help' for the flags and an example.\n"};
}

absl::Status ParseStore(const std::string& text, RouterOptions& options) {
  options.sqlite_path.clear();
  options.etcd.reset();
  if (text.starts_with(kEtcdScheme)) {
    absl::StatusOr<EtcdAddress> address = ParseEtcdAddress(text);
    if (!address.ok()) return address.status();
    options.etcd.emplace().address = *std::move(address);
    return absl::OkStatus();
  }
  if (!text.starts_with(kStoreScheme) || text.size() == kStoreScheme.size()) {
    return absl::InvalidArgumentError(
        "\"" + text +
        "\" is not sqlite:PATH, for example sqlite:/var/lib/ringshift/state.db, nor "
        "etcd://HOST:PORT,...");
  }
  options.sqlite_path = text.substr(kStoreScheme.size());
  return absl::OkStatus();
}

// What does not fit together of the settings of the store; "" if all does. Puts `etcd`, of which
// the address is not known, into the options.
std::string JoinStore(EtcdSettings etcd, RouterOptions& options) {
  const std::pair<const char*, const std::string*> settings[] = {
      {"cache", &etcd.cache_path}, {"ca", &etcd.ca_file}, {"cert", &etcd.certificate_file},
      {"key", &etcd.key_file},     {"user", &etcd.user},  {"password-file", &etcd.password_file}};
  if (!options.etcd.has_value()) {
    for (const auto& [name, value] : settings) {
      if (!value->empty()) return std::string("--store-") + name + " is for --store=etcd://...";
    }
    return "";
  }
  if (etcd.cache_path.empty()) {
    return "--store-cache=FILE is required with --store=etcd://...: what the router goes on with "
           "when etcd is lost";
  }
  if (etcd.user.empty() != etcd.password_file.empty()) {
    return "--store-user and --store-password-file need each other";
  }
  if (etcd.certificate_file.empty() != etcd.key_file.empty()) {
    return "--store-cert and --store-key need each other";
  }
  if (etcd.ca_file.empty() && !etcd.certificate_file.empty()) {
    return "--store-cert needs --store-ca";
  }
  etcd.address = std::move(options.etcd->address);
  options.etcd = std::move(etcd);
  return "";
}

absl::Status ParseBool(const std::string& text, bool& value) {
  if (text != "true" && text != "false") {
    return absl::InvalidArgumentError("\"" + text + "\" is not true or false");
  }
  value = text == "true";
  return absl::OkStatus();
}

absl::Status ParseAddress(const std::string& text, ListenAddress& address) {
  absl::StatusOr<ListenAddress> parsed = ListenAddress::Parse(text);
  if (!parsed.ok()) return parsed.status();
  address = *std::move(parsed);
  return absl::OkStatus();
}

absl::Status ParseLimits(const std::string& text, ReloadLimits& limits) {
  absl::StatusOr<Share> percent = Share::ParsePercent(text);
  if (!percent.ok()) return percent.status();
  limits.max_moved_ratio = static_cast<double>(percent->ppm()) / Share::kMaxPpm;
  limits.max_removed_ratio = limits.max_moved_ratio;
  return absl::OkStatus();
}

absl::Status ParseBuildMemory(const std::string& text, std::optional<std::uint64_t>& bytes) {
  absl::StatusOr<std::uint64_t> parsed = ParseByteSize(text);
  if (!parsed.ok()) return parsed.status();
  bytes = *parsed;
  return absl::OkStatus();
}

absl::Status ParseWarmWindow(const std::string& text, std::chrono::seconds& window) {
  constexpr std::chrono::seconds kLeast = std::chrono::minutes(1);
  constexpr std::chrono::seconds kMost = std::chrono::days(30);
  constexpr std::pair<char, std::int64_t> kUnits[] = {
      {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  const char* const end = text.data() + text.size();
  std::int64_t count = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  for (const auto& [unit, seconds] : kUnits) {
    if (error != std::errc() || end - rest != 1 || *rest != unit) continue;
    if (count < 0 || count > kMost.count() / seconds) break;
    const std::chrono::seconds parsed(count * seconds);
    if (parsed < kLeast) break;
    window = parsed;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::string_view(
      "\"" + text + "\" is not a time of 1m to 30d: a whole number with s, m, h or d behind it"));
}

absl::Status ParseReporters(const std::string& text, OutcomeReporters& reporters) {
  absl::StatusOr<OutcomeReporters> parsed = OutcomeReporters::Parse(text);
  if (!parsed.ok()) return parsed.status();
  reporters = *std::move(parsed);
  return absl::OkStatus();
}

absl::Status ParseMaxCalls(const std::string& text, std::size_t& calls) {
  constexpr std::size_t kMost = 1'000'000;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, calls);
  if (error != std::errc() || rest != end || calls < 1 || calls > kMost) {
    return absl::InvalidArgumentError(absl::string_view(
        "\"" + text + "\" is not a number of calls, 1 to " + std::to_string(kMost)));
  }
  return absl::OkStatus();
}

absl::Status ParseNames(std::string_view text, std::vector<std::string>& names) {
  for (;;) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end == 0) {
      return absl::InvalidArgumentError("a name is empty; expected NAME,NAME,...");
    }
    names.emplace_back(text.substr(0, end));
    if (end == text.size()) return absl::OkStatus();
    text.remove_prefix(end + 1);
  }
}

// The flags, and what they do to the options.
class Flags {
 public:
  // Puts the value into the options, or says what is wrong with it.
  using Apply = std::function<absl::Status(const std::string& value)>;

  explicit Flags(CLI::App& app) : app_(app) {}

  void AddValue(const std::string& name, const std::string& type, const std::string& help,
                const std::string& default_value, Apply apply) {
    Flag& flag = Add(name, std::move(apply));
    flag.option = app_.add_option("--" + name, flag.value, help)->type_name(type);
    if (!default_value.empty()) flag.option->default_str(default_value);
  }

  void AddSwitch(const std::string& name, const std::string& help, bool& value) {
    Flag& flag = Add(name, [&value](const std::string& text) { return ParseBool(text, value); });
    flag.option = app_.add_flag("--" + name, flag.value, help);
  }

  // Reads the file that the flag `name`, or its variable, names, if there is one, and applies every
  // setting from the place that goes before the others.
  absl::Status ApplyAll(const std::string& file_flag, const Environment& environment) const {
    Settings settings;
    for (const Flag& flag : flags_) {
      const std::string variable = VariableName(flag.name);
      if (flag.option->count() > 0) {
        settings[flag.name] = {flag.value, "--" + flag.name};
      } else if (std::optional<std::string> value = environment(variable)) {
        settings[flag.name] = {*std::move(value), variable};
      }
    }
    for (const auto& [name, setting] : settings) {
      if (setting.value.empty()) return absl::InvalidArgumentError(setting.source + ": no value");
    }
    if (const auto file = settings.find(file_flag); file != settings.end()) {
      absl::StatusOr<Settings> more = ReadSettingsFile(file->second.value, NamesWithout(file_flag));
      if (!more.ok()) {
        return absl::InvalidArgumentError(file->second.source + ": " +
                                          std::string(more.status().message()));
      }
      settings.merge(*std::move(more));
    }
    for (const Flag& flag : flags_) {
      const auto setting = settings.find(flag.name);
      if (setting == settings.end()) continue;
      if (absl::Status applied = flag.apply(setting->second.value); !applied.ok()) {
        return absl::InvalidArgumentError(setting->second.source + ": " +
                                          std::string(applied.message()));
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Flag {
    std::string name;
    Apply apply;
    std::string value;
    CLI::Option* option = nullptr;
  };

  Flag& Add(const std::string& name, Apply apply) {
    return flags_.emplace_back(Flag{name, std::move(apply), "", nullptr});
  }

  std::vector<std::string> NamesWithout(const std::string& file_flag) const {
    std::vector<std::string> names;
    for (const Flag& flag : flags_) {
      if (flag.name != file_flag) names.push_back(flag.name);
    }
    return names;
  }

  CLI::App& app_;
  std::deque<Flag> flags_;  // app_ has pointers to them
};

}  // namespace

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::variant<RouterOptions, EarlyExit> ParseOptions(int argc, const char* const* argv,
                                                    const Environment& environment) {
  constexpr const char* kConfig = "config";
  RouterOptions options;
  bool no_reflection = false;

  CLI::App app("Ringshift's router: answers which cache node owns a request.", "ringshiftd");
  app.footer(std::string(kFooter));
  app.set_version_flag("--version", "ringshiftd " RINGSHIFT_VERSION);
  Flags flags(app);
  flags.AddValue("topology", "FILE", "the topology, a YAML file; required", "",
                 [&](const std::string& text) {
                   options.topology_path = text;
                   return absl::OkStatus();
                 });
  flags.AddValue("store", "sqlite:PATH",
                 "where migration state is kept: a file, or etcd://HOST:PORT,...[?prefix=/PATH/] "
                 "for several routers; made if it is missing; required",
                 "", [&](const std::string& text) { return ParseStore(text, options); });
  EtcdSettings etcd;
  const auto add_text = [&flags](const char* name, const char* what, const char* help,
                                 std::string& value) {
    flags.AddValue(name, what, help, "", [&value](const std::string& text) {
      value = text;
      return absl::OkStatus();
    });
  };
  add_text("store-cache", "FILE",
           "a copy of what is in etcd, which the router goes on with when etcd is lost",
           etcd.cache_path);
  add_text("store-ca", "FILE", "the CA of etcd's certificates; without one there is no TLS",
           etcd.ca_file);
  add_text("store-cert", "FILE", "the certificate that etcd knows the router by",
           etcd.certificate_file);
  add_text("store-key", "FILE", "the key of --store-cert", etcd.key_file);
  add_text("store-user", "NAME", "the router's user in etcd", etcd.user);
  add_text("store-password-file", "FILE", "a file whose first line is that user's password",
           etcd.password_file);
  flags.AddSwitch("store-must-exist",
                  "do not start if the store is missing, rather than begin with every share at 0",
                  options.store_must_exist);
  flags.AddValue("max-reload-churn", "PERCENT",
                 "a change of the topology that moves more of a data center's key space, or drops "
                 "more of its nodes, waits until it is accepted",
                 "10", [&](const std::string& text) { return ParseLimits(text, options.limits); });
  flags.AddValue(
      "warm-window", "TIME",
      "how long a cache keeps objects that it is not asked for: so long after a change "
      "the answers name the node that owned a key before it; for example 12h",
      "24h", [&](const std::string& text) { return ParseWarmWindow(text, options.warm_window); });
  flags.AddValue(
      "build-memory", "BYTES",
      "the most that the new rings of a data center may take while they are built, beside all "
      "that serves; one that needs more is not changed; for example 8GiB (default: what the "
      "system lets the router have)",
      "", [&](const std::string& text) { return ParseBuildMemory(text, options.build_memory); });
  flags.AddValue("max-concurrent-calls", "N",
                 "how many Route and RouteBatch calls may wait for their answers at once; more are "
                 "refused with "
                 "RESOURCE_EXHAUSTED",
                 std::to_string(options.max_concurrent_calls), [&](const std::string& text) {
                   return ParseMaxCalls(text, options.max_concurrent_calls);
                 });
  flags.AddValue("public-address", "HOST:PORT", "the port for edge services",
                 options.public_address.ToString(), [&](const std::string& text) {
                   return ParseAddress(text, options.public_address);
                 });
  flags.AddValue(
      "admin-address", "HOST:PORT", "the port for operators", options.admin_address.ToString(),
      [&](const std::string& text) { return ParseAddress(text, options.admin_address); });
  flags.AddValue("http-address", "HOST:PORT", "the port for metrics and probes",
                 options.http_address.ToString(),
                 [&](const std::string& text) { return ParseAddress(text, options.http_address); });
  flags.AddValue("data-centers", "NAME,...",
                 "serve only these data centers of the topology (default: all)", "",
                 [&](const std::string& text) { return ParseNames(text, options.data_centers); });
  flags.AddValue(
      "outcome-reporters", "WHO",
      "who may report outcomes (ReportOutcomes): none, loopback, any, or IP addresses and "
      "prefixes such as 10.0.0.0/8,2001:db8::/32",
      "none",
      [&](const std::string& text) { return ParseReporters(text, options.outcome_reporters); });
  flags.AddSwitch("no-reflection", "do not describe the API to gRPC clients that ask",
                  no_reflection);
  flags.AddValue(kConfig, "FILE", "a file with more settings", "",
                 [](const std::string&) { return absl::OkStatus(); });

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

  if (absl::Status applied = flags.ApplyAll(kConfig, environment); !applied.ok()) {
    return Unusable(std::string(applied.message()));
  }
  if (options.topology_path.empty()) return Unusable("--topology is required");
  if (options.sqlite_path.empty() && !options.etcd) return Unusable("--store is required");
  if (const std::string wrong = JoinStore(std::move(etcd), options); !wrong.empty()) {
    return Unusable(wrong);
  }
  options.reflection = !no_reflection;
  return options;
}

}  // namespace ringshift
