#include "client/ringctl/command_ring_diff.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/build_progress.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/ring_diff.h"
#include "client/ringctl/text.h"
#include "ring/ring.h"
#include "routing/topology.h"

namespace ringshift {
namespace {

struct DiffOptions {
  std::string from;
  std::string to;
  std::string data_center;
  std::string pool;
  bool json = false;
};

// FILE or FILE:v1 or FILE:v2.
struct Source {
  std::string file;
  std::string version;  // empty: none given
};

Source ParseSource(const std::string& text) {
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    const std::string name(RingVersionName(version));
    if (text.ends_with(":" + name)) return {text.substr(0, text.size() - name.size() - 1), name};
  }
  return {text, ""};
}

// Which ring of the one side to hold against which of the other.
using Pair = std::pair<std::string, std::string>;
std::vector<Pair> PairsToCompare(const Source& from, const OfflineDataCenter& from_data_center,
                                 const Source& to, const OfflineDataCenter& to_data_center) {
  if (!from.version.empty() || !to.version.empty()) {
    return {{from.version.empty() ? to.version : from.version,
             to.version.empty() ? from.version : to.version}};
  }
  std::vector<Pair> pairs;
  if (from_data_center.spec.v1 && to_data_center.spec.v1) pairs.emplace_back("v1", "v1");
  pairs.emplace_back("v2", "v2");
  return pairs;
}

// The ring of that version, built; otherwise an error that names the file.
absl::StatusOr<TimedRing> BuildRingOf(const std::string& file, const OfflineDataCenter& data_center,
                                      const std::string& version) {
  const std::optional<RingParameters> parameters = ParametersOf(data_center.spec, version);
  if (!parameters) {
    return absl::NotFoundError(
        absl::StrCat(file, ": data center ", data_center.spec.name, " has no ring ", version));
  }
  return BuildRing(data_center, *parameters);
}

void WarnIfMuchMoves(const RingDiff& diff) {
  constexpr double kMuch = 0.5;
  if (diff.moved_ratio() <= kMuch) return;
  const std::string moved = absl::StrCat(FixedPoint(100 * diff.moved_ratio(), 1),
                                         "% of the key space of pool ", diff.pool, " would move");
  if (diff.from.parameters.version != diff.to.parameters.version) {
    Warn(absl::StrCat(moved, ": raise the share of v2 in steps"));
    return;
  }
  Warn(absl::StrCat(moved, " on ", std::string(RingVersionName(diff.to.parameters.version)),
                    ": nodes with new addresses keep their keys if `ring_identity` is their old "
                    "address"));
}

ExitCode Diff(const DiffOptions& options) {
  const Source from = ParseSource(options.from);
  const Source to = ParseSource(options.to);
  const absl::StatusOr<OfflineDataCenter> from_data_center =
      LoadDataCenter(from.file, options.data_center);
  if (!from_data_center.ok()) return FailOffline(from_data_center.status());
  const absl::StatusOr<OfflineDataCenter> to_data_center =
      LoadDataCenter(to.file, options.data_center);
  if (!to_data_center.ok()) return FailOffline(to_data_center.status());

  std::vector<RingDiff> diffs;
  for (const auto& [from_version, to_version] :
       PairsToCompare(from, *from_data_center, to, *to_data_center)) {
    // One pair at a time: both rings are gone before the next are built.
    const absl::StatusOr<TimedRing> before =
        BuildRingOf(from.file, *from_data_center, from_version);
    if (!before.ok()) return FailOffline(before.status());
    const absl::StatusOr<TimedRing> after = BuildRingOf(to.file, *to_data_center, to_version);
    if (!after.ok()) return FailOffline(after.status());
    const BuildProgress progress("comparing the rings");
    absl::StatusOr<RingDiff> diff =
        DiffRings({from.file, *from_data_center, *before->ring},
                  {to.file, *to_data_center, *after->ring}, options.pool);
    if (!diff.ok()) return FailOffline(diff.status());
    diffs.push_back(*std::move(diff));
  }

  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("data_center").String(options.data_center);
    json.Key("pool").String(diffs.front().pool);
    json.Key("diffs").BeginArray();
    for (const RingDiff& diff : diffs) WriteDiff(diff, json);
    json.EndArray();
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    for (const RingDiff& diff : diffs) {
      if (&diff != &diffs.front()) output.Write("\n\n");
      PrintDiff(diff, output);
    }
  }
  const ExitCode written = output.Finish();
  for (const RingDiff& diff : diffs) WarnIfMuchMoves(diff);
  return written;
}

}  // namespace

void AddRingDiffCommand(CLI::App& ring, ExitCode& result) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = ring.add_subcommand(
      "diff", "What part of the key space moves from one ring to another (offline)");
  command->add_option("--from", options->from, "The topology file of the one ring")
      ->required()
      ->type_name("FILE[:v1|v2]");
  command->add_option("--to", options->to, "The topology file of the other")
      ->required()
      ->type_name("FILE[:v1|v2]");
  command
      ->add_option("--data-center", options->data_center, "The data center, as both files name it")
      ->required()
      ->type_name("NAME");
  command->add_option("--pool", options->pool, "The pool whose nodes may own (default: every node)")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "One JSON object instead of tables");
  command->footer(
      R"(Builds both rings and goes once through all of the key space: which part of it moves to another
node, how much of that between nodes that are on both sides, and what each node loses and gains,
exactly. On tied arcs several nodes have a point on the hash that decides; they are counted apart.
Nodes with one ring identity are the same node; of the others, those with one name.

FILE:v1 and FILE:v2 name a ring. Where one side does not, its ring is that of the other side; where
neither does, v1 is held against v1 if both have one, and v2 against v2.

Examples:
  ringctl ring diff --from old.yaml --to new.yaml --data-center ams
  ringctl ring diff --from topology.yaml:v1 --to topology.yaml:v2 --data-center ams
  ringctl ring diff --from old.yaml --to new.yaml --data-center ams --pool fedramp --json |
    jq '.diffs[].moved_ratio')");
  command->callback([options, &result] { result = Diff(*options); });
}

}  // namespace ringshift
