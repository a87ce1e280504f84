// Something that a WorkQueue shall do, waiting there at most once however often it is asked for.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_QUEUED_TASK_H_
#define RINGSHIFT_SERVER_QUEUED_TASK_H_

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "server/work_queue.h"

namespace ringshift {

class QueuedTask {
 public:
  // `name` is for the log. `queue` must stop before this object ends.
  QueuedTask(std::string name, WorkQueue& queue, std::function<void()> run)
      : name_(std::move(name)), queue_(queue), run_(std::move(run)) {}

  // `run` is called after this, unless the queue is full or stops; then a line in the log says so.
  void Post();

 private:
  const std::string name_;
  WorkQueue& queue_;
  const std::function<void()> run_;
  std::atomic<bool> is_waiting_ = false;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_QUEUED_TASK_H_
