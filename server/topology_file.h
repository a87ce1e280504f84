// The bytes of the topology file, and what tells them from others.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_FILE_H_
#define RINGSHIFT_SERVER_TOPOLOGY_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringshift {

// All of the file; of one that is larger than a topology may be, only enough for ParseTopology to
// see that. Errors: NOT_FOUND, PERMISSION_DENIED or what else the system says, with the path.
absl::StatusOr<std::string> ReadTopologyFile(const std::string& path);

// XXH3_64bits in 16 hex digits.
std::string TopologyChecksum(std::string_view bytes);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_FILE_H_
