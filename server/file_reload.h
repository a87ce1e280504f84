// Has the topology file taken up on the reload queue once it holds something else, or refused once
// it is gone: what was seen last, where several come while that is busy.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_FILE_RELOAD_H_
#define RINGSHIFT_SERVER_FILE_RELOAD_H_

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
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

  // Reloads what has this checksum, unless it was taken up, or the file holds something else, when
  // its turn comes. Then, and where the queue is full, it is forgotten: Known says so.
  void TakeUp(std::string checksum);

 private:
  // What waits, which is running from now on.
  std::string StartWaiting();
  void Run();

  TopologyController& topology_;
  WorkQueue& queue_;
  mutable absl::Mutex mutex_;
  // Checksums; none where no reload waits, or is under way.
  std::optional<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_FILE_RELOAD_H_
