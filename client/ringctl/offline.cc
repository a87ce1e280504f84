#include "client/ringctl/offline.h"

#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/build_progress.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// The warnings of `loaded`, which name the data center that they are of, without those that name
// another one than `data_center`.
std::vector<std::string> WarningsFor(const std::string& data_center, const LoadedTopology& loaded) {
  std::vector<std::string> warnings = loaded.warnings;
  for (const DataCenterSpec& other : loaded.topology.data_centers) {
    if (other.name == data_center) continue;
    std::erase_if(warnings, [&other](const std::string& warning) {
      return absl::StrContains(warning, absl::StrCat(": data center ", other.name, ":")) ||
             absl::StrContains(warning, absl::StrCat(": data center ", other.name, ","));
    });
  }
  return warnings;
}

}  // namespace

absl::StatusOr<OfflineDataCenter> LoadDataCenter(const std::string& topology_file,
                                                 const std::string& data_center) {
  const absl::StatusOr<LoadedTopology> loaded = LoadTopologyFile(topology_file);
  if (!loaded.ok()) return loaded.status();
  return FindDataCenter(*loaded, topology_file, data_center);
}

absl::StatusOr<OfflineDataCenter> FindDataCenter(const LoadedTopology& loaded,
                                                 const std::string& topology_file,
                                                 const std::string& data_center) {
  const DataCenterSpec* spec = loaded.topology.Find(data_center);
  if (spec == nullptr) {
    std::vector<std::string> known;
    for (const DataCenterSpec& each : loaded.topology.data_centers) known.push_back(each.name);
    return absl::NotFoundError(topology_file + ": " +
                               UnknownNameMessage("data center", data_center, known));
  }
  absl::StatusOr<std::shared_ptr<const NodeSet>> nodes = MakeNodeSet(*spec);
  if (!nodes.ok()) return nodes.status();

  std::unordered_map<std::string_view, std::string_view> address_of;
  for (const NodeSpec& node : spec->nodes) address_of.emplace(node.name, node.address);
  std::vector<std::string> addresses;
  addresses.reserve((*nodes)->size());
  for (const RingNode& node : (*nodes)->nodes()) addresses.emplace_back(address_of.at(node.name));
  return OfflineDataCenter{*spec, *std::move(nodes), std::move(addresses),
                           WarningsFor(data_center, loaded)};
}

absl::StatusOr<TimedRing> BuildRing(const OfflineDataCenter& data_center,
                                    const RingParameters& parameters) {
  const absl::StatusOr<RingSize> size = Ring::Measure(*data_center.nodes, parameters);
  if (!size.ok()) return size.status();
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::shared_ptr<const Ring>> ring;
  {
    BuildProgress progress("building " + std::string(RingVersionName(parameters.version)) + " of " +
                           data_center.spec.name + ", " + HumanCount(size->points) + " points, " +
                           HumanBytes(size->bytes));
    ring = Ring::Build(data_center.nodes, parameters,
                       {.progress = [&progress](double done) { progress.Report(done); }});
  }
  if (!ring.ok()) return ring.status();
  return TimedRing{*std::move(ring), std::chrono::steady_clock::now() - start};
}

std::optional<RingParameters> ParametersOf(const DataCenterSpec& data_center,
                                           std::string_view version) {
  return version == RingVersionName(RingVersion::kV1) ? data_center.v1 : data_center.v2;
}

ExitCode FailOffline(const absl::Status& status) {
  std::string_view advice;
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      advice = "check the names of the file, the data center and the pool";
      break;
    case absl::StatusCode::kResourceExhausted:
      advice = "free memory, or take a machine with more";
      break;
    default:
      advice = "correct the topology and run it again";
  }
  return Fail(ExitCode::kInput, std::string(status.message()), advice);
}

ExitCode FailNoV1(const std::string& data_center) {
  return Fail(ExitCode::kInput, absl::StrCat("data center ", data_center, " has no ring v1"),
              "use --ring v2, or give the data center a v1 in the topology");
}

}  // namespace ringshift
