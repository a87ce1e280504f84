// Reads a topology from YAML, strictly: docs/topology.md describes the format.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_ROUTING_TOPOLOGY_LOADER_H_
#define RINGSHIFT_ROUTING_TOPOLOGY_LOADER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "routing/topology.h"

namespace ringshift {

// A longer text is refused before it is parsed.
inline constexpr std::size_t kMaxTopologyBytes = std::size_t{64} << 20;

struct LoadedTopology {
  Topology topology;
  // What is allowed but deserves attention, "FILE:LINE:COLUMN: ...": a ring whose lightest node has
  // under 150 points (the CV and max/mean to expect, and the points_per_weight that mends it), an
  // identity whose chain is stuck, a pool without nodes.
  std::vector<std::string> warnings;
};

// INVALID_ARGUMENT for anything that is not a valid topology: unknown, missing and repeated keys,
// wrong types, values out of range, names that are taken, identities that two nodes share, rings
// beyond the limits. The message is "FILE:LINE:COLUMN: " (1-based), what was found, and what was
// expected.
//
// `file` is the name that messages use.
absl::StatusOr<LoadedTopology> ParseTopology(std::string_view yaml, std::string_view file);

// The same from a file. NOT_FOUND or PERMISSION_DENIED if it cannot be read.
absl::StatusOr<LoadedTopology> LoadTopologyFile(const std::string& path);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_TOPOLOGY_LOADER_H_
