// Notices that the topology file has other content: the content is all it looks at, so it makes no
// difference how the file was written, renamed or linked into its place, nor what its time, size or
// inode say.
//
// A content is taken up once it was the same in two looks in a row, so that one that is being
// written is not taken for one that is there.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_WATCHER_H_
#define RINGSHIFT_SERVER_TOPOLOGY_WATCHER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace ringshift {

class TopologyWatcher {
 public:
  struct Calls {
    // The file's bytes.
    std::function<absl::StatusOr<std::string>()> read;
    // The TopologyChecksum of what was taken up last, or is waiting for that, whatever came of it.
    std::function<std::string()> known;
    // Another content, settled.
    std::function<void(std::string bytes)> take_up;
  };

  explicit TopologyWatcher(Calls calls) : calls_(std::move(calls)) {}

  // Looks once. Call it every second or so. A file that cannot be read is logged when it begins and
  // when it ends.
  void Look();

 private:
  const Calls calls_;
  std::string last_seen_;  // checksum of the look before; "" if it could not be read
  std::string last_error_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_WATCHER_H_
