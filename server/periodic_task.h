// Does something again and again, on a thread of its own, until it is stopped.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_PERIODIC_TASK_H_
#define RINGSHIFT_SERVER_PERIODIC_TASK_H_

#include <chrono>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "migration/mutex.h"

namespace ringshift {

class PeriodicTask {
 public:
  // Runs `run` now, and `pause` after each end of it.
  PeriodicTask(std::chrono::milliseconds pause, std::function<void()> run);
  // Stops, and waits for the run that is under way.
  ~PeriodicTask();

  // The next run begins now, or once the one that is under way has ended.
  void RunSoon();

  // No run begins any more. False if one is still under way at `deadline`.
  bool Stop(std::chrono::steady_clock::time_point deadline);

 private:
  void Loop();

  const std::chrono::milliseconds pause_;
  const std::function<void()> run_;
  Mutex mutex_;
  CondVar changed_;                                 // one of these:
  bool is_wanted_ ABSL_GUARDED_BY(mutex_) = false;  // soon
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_PERIODIC_TASK_H_
