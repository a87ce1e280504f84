// What the commands that need no router share: a data center from a topology file, and a ring built
// while somebody may be watching.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_CLIENT_RINGCTL_OFFLINE_H_
#define RINGSHIFT_CLIENT_RINGCTL_OFFLINE_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ringctl/exit_code.h"
#include "ring/node_set.h"
#include "ring/ring.h"
#include "routing/topology.h"
#include "routing/topology_loader.h"

namespace ringshift {

struct OfflineDataCenter {
  DataCenterSpec spec;
  std::shared_ptr<const NodeSet> nodes;
  std::vector<std::string> addresses;  // by index in `nodes`
  std::vector<std::string> warnings;   // of the topology, without those of other data centers
};

// Errors: those of LoadTopologyFile and MakeNodeSet; NOT_FOUND if the file has no such data center,
// with those that it has.
absl::StatusOr<OfflineDataCenter> LoadDataCenter(const std::string& topology_file,
                                                 const std::string& data_center);

// The same, of a topology that is read already.
absl::StatusOr<OfflineDataCenter> FindDataCenter(const LoadedTopology& loaded,
                                                 const std::string& topology_file,
                                                 const std::string& data_center);

struct TimedRing {
  std::shared_ptr<const Ring> ring;
  std::chrono::duration<double> build_time;
};

// Ring::Build. Where that takes more than a second and stderr is a terminal, a line there says what
// is going on, and goes away again. Errors: those of Ring::Build.
absl::StatusOr<TimedRing> BuildRing(const OfflineDataCenter& data_center,
                                    const RingParameters& parameters);

// The parameters of ring "v1" or "v2"; none for v1 where the data center has none.
std::optional<RingParameters> ParametersOf(const DataCenterSpec& data_center,
                                           std::string_view version);

// Reports an error of the functions above, or of the topology's, and returns kInput.
ExitCode FailOffline(const absl::Status& status);

// Reports that the data center has no ring v1, and returns kInput.
ExitCode FailNoV1(const std::string& data_center);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_OFFLINE_H_
