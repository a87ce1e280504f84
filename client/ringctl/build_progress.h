// While it lives, and from a second after its start: a line on stderr that says what is going on,
// for how long, and how far it is if that is known. Only on a terminal; the line is gone when it
// ends.
//
// Thread safety: made and destroyed by one thread, which calls Report.
#ifndef RINGSHIFT_CLIENT_RINGCTL_BUILD_PROGRESS_H_
#define RINGSHIFT_CLIENT_RINGCTL_BUILD_PROGRESS_H_

#include <atomic>
#include <string>
#include <thread>

namespace ringshift {

class BuildProgress {
 public:
  explicit BuildProgress(std::string what);

  // `done` is the part that is done, 0 to 1; 0 where that is not known.
  void Report(double done) { done_.store(done, std::memory_order_relaxed); }

 private:
  std::atomic<double> done_ = 0;  // 0: not known
  // Not running where stderr is no terminal. Stopped and joined with the object, before the rest.
  std::jthread thread_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_BUILD_PROGRESS_H_
