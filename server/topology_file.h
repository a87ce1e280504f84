// The bytes of the topology file, and what tells them from others.
//
// Thread safety: pure functions of their arguments and the file.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_FILE_H_
#define RINGSHIFT_SERVER_TOPOLOGY_FILE_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringshift {

// All of the file; of one that is larger than a topology may be, only enough for ParseTopology to
// see that. Errors, with the path: FAILED_PRECONDITION for what is not a regular file, behind links
// too; NOT_FOUND, PERMISSION_DENIED or what else the system says.
absl::StatusOr<std::string> ReadTopologyFile(const std::string& path);

// What two reads with a `pause` between them have found, so that a file that is being written is
// not taken for one that is there; null: what one read finds. UNAVAILABLE if there is something
// else each time, seven pauses long.
absl::StatusOr<std::string> ReadSettledTopologyFile(const std::string& path,
                                                    const std::function<void()>& pause);

// XXH3_64bits in 16 hex digits.
std::string TopologyChecksum(std::string_view bytes);

// That of what was read; "" where it could not be.
std::string ChecksumOfRead(const absl::StatusOr<std::string>& bytes);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_FILE_H_
