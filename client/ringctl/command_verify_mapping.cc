#include "client/ringctl/command_verify_mapping.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/csv_reader.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/ring_of_file.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "client/ringctl/verify_mapping.h"
#include "ring/ring.h"

namespace ringshift {
namespace {

struct VerifyOptions {
  RingOfFile source;
  std::string file;
  bool header = false;
  bool hex = false;
  bool json = false;
};

// A descriptor of the mapping, closed at the end unless it is standard input.
class MappingFile {
 public:
  explicit MappingFile(const std::string& path)
      : is_stdin_(path == "-"),
        fd_(is_stdin_ ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~MappingFile() {
    if (fd_ >= 0 && !is_stdin_) ::close(fd_);
  }
  MappingFile(const MappingFile&) = delete;
  MappingFile& operator=(const MappingFile&) = delete;

  int fd() const { return fd_; }  // -1 with errno set if it cannot be opened

 private:
  const bool is_stdin_;
  const int fd_;
};

// Prints what differs as it is found, and in the end how much that was.
class VerificationPrinter {
 public:
  // All outlive this object.
  VerificationPrinter(const VerifyOptions& options, const OfflineDataCenter& data_center,
                      const Ring& ring, Output& output)
      : options_(options),
        data_center_(data_center),
        ring_(ring),
        output_(output),
        table_({{"LINE", Table::kRight}, {"KEY"}, {"EXPECTED"}, {"FOUND"}, {"ADDRESS"}, {"TIED"}}) {
    json_.BeginObject();
    json_.Key("data_center").String(data_center.spec.name);
    json_.Key("ring_version").String(RingVersionName(ring.parameters().version));
    json_.Key("ring_checksum").String(ChecksumText(ring.checksum()));
    json_.Key("differences").BeginArray();
  }

  // `text` is the key as it was given.
  void Add(std::uint64_t line, const std::string& text, std::string_view key,
           const std::string& expected, const MappingVerifier::Verdict& verdict) {
    const std::string& name = (*data_center_.nodes)[verdict.found].name;
    const std::string& address = data_center_.addresses[verdict.found];
    if (!options_.json) {
      constexpr std::size_t kRowsAtOnce = 1000;
      table_.AddRow(
          {absl::StrCat(line), text, expected, name, address, verdict.tied ? "yes" : "no"});
      if (table_.pending_rows() >= kRowsAtOnce) table_.Print(output_);
      return;
    }
    json_.BeginObject();
    json_.Key("line").Uint(line);
    json_.RoutedKey(key, options_.hex);
    json_.Key("expected").String(expected);
    json_.Key("found").BeginObject();
    json_.Key("name").String(name);
    json_.Key("address").String(address);
    json_.EndObject();
    json_.Key("tied").Bool(verdict.tied);
    json_.EndObject();
  }

  // Hands out the differences so far, where the mapping does not go on. JSON is whole or not there.
  void BreakOff() {
    if (!options_.json && table_.pending_rows() > 0) table_.Print(output_);
    output_.Flush();
  }

  void Finish(const MappingVerifier& verifier) {
    if (options_.json) {
      FinishJson(verifier);
      return;
    }
    if (table_.pending_rows() > 0) table_.Print(output_);
    PrintSummary(verifier);
  }

 private:
  void FinishJson(const MappingVerifier& verifier) {
    json_.EndArray();
    json_.Key("keys").Uint(verifier.keys());
    json_.Key("same").Uint(verifier.keys() - verifier.different());
    json_.Key("different").Uint(verifier.different());
    json_.Key("different_tied").Uint(verifier.different_tied());
    json_.Key("unknown_owners").BeginArray();
    for (const auto& [owner, keys] : verifier.unknown_owners()) {
      json_.BeginObject();
      json_.Key("owner").String(owner);
      json_.Key("keys").Uint(keys);
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
    output_.Write(json_.TakeLine());
  }

  void PrintSummary(const MappingVerifier& verifier) {
    output_.Write(absl::StrCat(verifier.different() > 0 ? "\n" : "", HumanCount(verifier.keys()),
                               " keys on ",
                               std::string(RingVersionName(ring_.parameters().version)), " of ",
                               ForTerminal(data_center_.spec.name), ": ",
                               HumanCount(verifier.keys() - verifier.different()), " the same, ",
                               HumanCount(verifier.different()), " different, of these ",
                               HumanCount(verifier.different_tied()), " on a tied arc\n"));
    if (verifier.different_tied() > 0 && ring_.parameters().version == RingVersion::kV1) {
      output_.Write(
          "On a tied arc of v1, where several nodes have a point on one hash, nginx and pingora\n"
          "have no rule: they may differ among themselves.\n");
    }
    if (verifier.unknown_owners().empty()) return;
    constexpr std::size_t kShown = 10;
    std::vector<std::pair<std::uint64_t, std::string>> unknown;
    for (const auto& [owner, keys] : verifier.unknown_owners()) unknown.emplace_back(keys, owner);
    std::stable_sort(unknown.begin(), unknown.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    output_.Write(absl::StrCat(
        "Expected, but neither name nor address of a node: ", HumanCount(unknown.size()), "\n"));
    for (std::size_t i = 0; i < std::min(unknown.size(), kShown); ++i) {
      output_.Write(absl::StrCat("  \"", ForTerminal(unknown[i].second), "\" for ",
                                 HumanCount(unknown[i].first),
                                 unknown[i].first == 1 ? " key\n" : " keys\n"));
    }
    if (unknown.size() > kShown) {
      output_.Write(absl::StrCat("  and ", HumanCount(unknown.size() - kShown), " more\n"));
    }
  }

  const VerifyOptions& options_;
  const OfflineDataCenter& data_center_;
  const Ring& ring_;
  Output& output_;
  Table table_;
  JsonWriter json_;
};

ExitCode FailMapping(const std::string& what) {
  return Fail(ExitCode::kInput, what,
              "a line is a key and its owner, as in /img/1.jpg,10.0.0.1:443; correct the file and "
              "run it again");
}

// Reads the mapping to its end. OK, or what is wrong with it.
absl::Status VerifyRecords(const VerifyOptions& options, int fd, const std::string& name,
                           MappingVerifier& verifier, VerificationPrinter& printer,
                           const Output& output) {
  CsvReader reader(fd, name);
  std::string decoded;
  if (options.header) reader.Next();
  while (output.ok() && reader.Next()) {
    const auto fields = reader.fields();
    const auto error = [&](std::string_view problem) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ", line ", reader.line(), ": ", std::string(problem)));
    };
    if (fields.size() != 2) {
      return error(absl::StrCat("found ", fields.size(), fields.size() == 1 ? " field" : " fields",
                                ", expected 2"));
    }
    std::string_view key = fields[0];
    if (options.hex) {
      const absl::Status status = DecodeHex(fields[0], decoded);
      if (!status.ok()) return error(std::string(status.message()));
      key = decoded;
    }
    const MappingVerifier::Verdict verdict = verifier.Verify(key, fields[1]);
    if (!verdict.same) printer.Add(reader.line(), fields[0], key, fields[1], verdict);
  }
  return reader.status();
}

ExitCode VerifyMapping(const VerifyOptions& options) {
  const std::string name = options.file == "-" ? "standard input" : options.file;
  const MappingFile file(options.file);
  if (file.fd() < 0) {
    return Fail(ExitCode::kInput, absl::StrCat("cannot open ", name, ": ", std::strerror(errno)),
                "check the name of the file");
  }
  const absl::StatusOr<OfflineDataCenter> data_center =
      LoadDataCenter(options.source.topology_file, options.source.data_center);
  if (!data_center.ok()) return FailOffline(data_center.status());
  const std::optional<RingParameters> parameters =
      ParametersOf(data_center->spec, options.source.ring);
  if (!parameters) return FailNoV1(options.source.data_center);
  const absl::StatusOr<TimedRing> built = BuildRing(*data_center, *parameters);
  if (!built.ok()) return FailOffline(built.status());

  Output output(STDOUT_FILENO);
  MappingVerifier verifier(*data_center, *built->ring);
  VerificationPrinter printer(options, *data_center, *built->ring, output);
  absl::Status read = VerifyRecords(options, file.fd(), name, verifier, printer, output);
  if (read.ok() && output.ok() && verifier.keys() == 0) {
    read = absl::InvalidArgumentError(absl::StrCat(name, ": there is no key in it"));
  }
  if (!read.ok()) {
    printer.BreakOff();
    return FailMapping(std::string(read.message()));
  }
  printer.Finish(verifier);
  const ExitCode written = output.Finish();
  if (written != ExitCode::kOk) return written;
  return verifier.different() == 0 ? ExitCode::kOk : ExitCode::kDeclined;
}

}  // namespace

void AddVerifyMappingCommand(CLI::App& ringctl, ExitCode& result) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "verify-mapping", "Holds the owners that another system gives keys against a ring (offline)");
  AddRingOfFileOptions(*command, options->source);
  command->add_flag("--header", options->header, "The first line of the CSV is a header");
  command->add_flag("--hex", options->hex, "The keys are given as their bytes in hex");
  command->add_flag("--json", options->json, "One JSON object instead of a table");
  command->add_option("CSV", options->file, "The keys and their owners; - is standard input")
      ->required()
      ->type_name("FILE");
  command->footer(
      R"(Each line of the CSV (RFC 4180) is a key and the name or the address of the node that owns it, as
the topology writes them. Prints a line for each key that the ring gives to another node, and then
how many there were. TIED says that several nodes have a point on the hash that decides: on v1,
nginx and pingora have no rule there, so a difference says little.

Exit codes: 0 if there is no difference, 1 if there is one, 3 if the CSV or the topology is wrong.

Examples:
  ringctl verify-mapping --topology topology.yaml --data-center ams --ring v1 owners.csv
  ringctl verify-mapping --topology topology.yaml --data-center ams --ring v1 --header - < owners.csv
  ringctl verify-mapping --topology topology.yaml --data-center ams --ring v2 --hex keys.csv --json |
    jq '.different - .different_tied')");
  command->callback([options, &result] { result = VerifyMapping(*options); });
}

}  // namespace ringshift
