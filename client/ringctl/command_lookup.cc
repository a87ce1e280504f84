#include "client/ringctl/command_lookup.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/key_answers.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "client/ringctl/ring_of_file.h"
#include "ring/node_mask.h"
#include "ring/ring.h"
#include "routing/route.h"

namespace ringshift {
namespace {

struct LookupOptions {
  RingOfFile source;
  std::string layout;  // empty: that of the topology
  std::string pool;
  int replicas = 1;
  bool hex = false;
};

ExitCode Lookup(const LookupOptions& options) {
  const absl::StatusOr<OfflineDataCenter> data_center =
      LoadDataCenter(options.source.topology_file, options.source.data_center);
  if (!data_center.ok()) return FailOffline(data_center.status());
  std::optional<RingParameters> parameters = ParametersOf(data_center->spec, options.source.ring);
  if (!parameters) return FailNoV1(options.source.data_center);
  for (const RingLayout layout : kRingLayouts) {
    if (options.layout == RingLayoutName(layout)) parameters->layout = layout;
  }
  const absl::StatusOr<NodeMask> eligible =
      MakePoolMask(data_center->spec, *data_center->nodes, options.pool);
  if (!eligible.ok()) return FailOffline(eligible.status());
  if (eligible->count() == 0) {
    return Fail(ExitCode::kInput,
                absl::StrCat("pool ", options.pool, " of data center ", options.source.data_center,
                             " has no node"),
                "use another --pool, or give nodes the features that it requires");
  }
  const absl::StatusOr<TimedRing> built = BuildRing(*data_center, *parameters);
  if (!built.ok()) return FailOffline(built.status());

  const Ring& ring = *built->ring;
  const bool owner_only = options.replicas == 1 && eligible->count() == eligible->size();
  std::array<NodeIndex, kMaxReplicas> nodes{};
  const auto wanted = std::span(nodes).first(static_cast<std::size_t>(options.replicas));
  return AnswerKeys(options.hex, [&](std::string_view key, Output& output) {
    std::size_t found = 1;
    if (owner_only) {
      nodes[0] = ring.Owner(key);
    } else {
      found = ring.FindNodes(Ring::Position(key), *eligible, wanted);
    }
    for (const NodeIndex node : wanted.first(found)) {
      output.Write("\t");
      output.Write(data_center->addresses[node]);
    }
  });
}

}  // namespace

void AddLookupCommand(CLI::App& ringctl, ExitCode& result) {
  auto options = std::make_shared<LookupOptions>();
  CLI::App* command = ringctl.add_subcommand(
      "lookup", "The owners of keys on one ring of a topology file (offline)");
  AddRingOfFileOptions(*command, options->source);
  command
      ->add_option("--layout", options->layout,
                   "How the points lie in memory; never changes an owner (default: the topology's)")
      ->type_name("wide|packed|dense")
      ->check(CheckOneOf({"wide", "packed", "dense"}));
  command->add_option("--pool", options->pool, "The pool whose nodes may own (default: every node)")
      ->type_name("NAME");
  command
      ->add_option("--replicas", options->replicas,
                   "Distinct nodes to name, the owner included (default: 1)")
      ->type_name("1..16")
      ->check(CheckWholeNumber(1, kMaxReplicas));
  command->add_flag("--hex", options->hex, "The lines are the keys' bytes in hex");
  command->footer(
      R"(Reads keys from standard input, one a line: any bytes but the newline, and an empty line is the
empty key. Writes a line for each: the key as it was given, TAB, the owner's address, and TAB and
address for each further replica (fewer than asked for where the pool has fewer nodes).

Examples:
  printf '/img/1.jpg\n/img/2.jpg\n' | ringctl lookup --topology topology.yaml --data-center ams --ring v1
  ringctl lookup --topology topology.yaml --data-center ams --ring v2 --replicas 3 < keys.txt
  printf '00ff\n' | ringctl lookup --topology topology.yaml --data-center ams --ring v2 --hex
  ringctl lookup --topology topology.yaml --data-center ams --ring v1 --pool fedramp < keys.txt)");
  command->callback([options, &result] { result = Lookup(*options); });
}

}  // namespace ringshift
