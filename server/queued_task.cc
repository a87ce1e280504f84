#include "server/queued_task.h"

#include "server/log.h"

namespace ringshift {

void QueuedTask::Post() {
  if (is_waiting_.exchange(true)) return;
  queue_.Add({[] { return true; },
              [this]() -> WorkQueue::Deliver {
                // Before the run: what happens from now on wants another one.
                is_waiting_ = false;
                run_();
                return [] {};
              },
              [this](const absl::Status& status) {
                is_waiting_ = false;
                if (absl::IsUnavailable(status)) return;  // the router stops
                LogWarn("not done now", {{"task", name_}, {"error", status.ToString()}});
              }});
}

}  // namespace ringshift
