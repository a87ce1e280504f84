// Has contents of the topology file taken up on the reload queue, or the lack of one refused: the
// newest, where several come while that is busy.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_FILE_RELOAD_H_
#define RINGSHIFT_SERVER_FILE_RELOAD_H_

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/topology_controller.h"
#include "server/work_queue.h"

namespace ringshift {

class FileReload {
 public:
  // `topology` outlives this object, is used on the thread of `queue`, and that must stop before
  // this object ends.
  FileReload(TopologyController& topology, WorkQueue& queue) : topology_(topology), queue_(queue) {}

  // The TopologyChecksum of what was taken up last, or is waiting for that; "" where there was
  // nothing to read.
  std::string Known() const;

  // Reloads with `bytes`, unless something has taken them up when their turn comes. Where the queue
  // is full they are forgotten: Known says so.
  void TakeUp(absl::StatusOr<std::string> bytes);

 private:
  struct Contents {
    absl::StatusOr<std::string> bytes;
    std::string checksum;
  };

  // What waits, which is running from now on.
  Contents StartWaiting();
  void Run();

  TopologyController& topology_;
  WorkQueue& queue_;
  mutable absl::Mutex mutex_;
  std::optional<Contents> waiting_ ABSL_GUARDED_BY(mutex_);
  // Checksum; none where no reload is under way.
  std::optional<std::string> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_FILE_RELOAD_H_
