// While it lives, and from a second after its start: a line on stderr that says what is going on
// and for how long. Only on a terminal; the line is gone when it ends.
//
// Thread safety: made and destroyed by one thread.
#ifndef RINGSHIFT_CLIENT_RINGCTL_BUILD_PROGRESS_H_
#define RINGSHIFT_CLIENT_RINGCTL_BUILD_PROGRESS_H_

#include <string>
#include <thread>

namespace ringshift {

class BuildProgress {
 public:
  explicit BuildProgress(std::string what);

 private:
  std::jthread
      thread_;  // not running where stderr is no terminal; stopped and joined with the object
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_BUILD_PROGRESS_H_
