// Notices that the topology file has other content, or none: the content is all it looks at, so it
// makes no difference how the file was written, renamed or linked into its place, nor what its
// time, size or inode say.
//
// A content is taken up once it was the same in two looks in a row, so that one that is being
// written is not taken for one that is there. So is the lack of it: a router whose file is gone
// shall say so before somebody restarts it.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_WATCHER_H_
#define RINGSHIFT_SERVER_TOPOLOGY_WATCHER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace ringshift {

class TopologyWatcher {
 public:
  struct Calls {
    // The file's bytes.
    std::function<absl::StatusOr<std::string>()> read;
    // The TopologyChecksum of what was taken up last, or is waiting for that, whatever came of it;
    // "" where it could not be read.
    std::function<std::string()> known;
    // Another content, which has this checksum, or the lack of one, has settled.
    std::function<void(std::string checksum)> take_up;
  };

  explicit TopologyWatcher(Calls calls) : calls_(std::move(calls)) {}

  // Looks once. Call it every second or so.
  void Look();

 private:
  const Calls calls_;
  std::optional<std::string> last_seen_;  // checksum of the look before; "" if it failed
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_WATCHER_H_
