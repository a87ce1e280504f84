// The end of a command that runs until it is told to stop: by Ctrl-C, SIGTERM, SIGHUP or SIGQUIT.
#ifndef RINGSHIFT_CLIENT_RINGCTL_INTERRUPT_H_
#define RINGSHIFT_CLIENT_RINGCTL_INTERRUPT_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace ringshift {

// Thread safety: thread-compatible. REQUIRES: the process has no other threads when it is made, so
// that no other one gets the signals.
class Interrupt {
 public:
  // From now on these call `on_signal`, on a thread of its own, and then end the
  // process with exit code 0, whatever its other threads wait for.
  explicit Interrupt(std::function<void()> on_signal);
  // From now on they do what they did before.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  sigset_t before_{};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_INTERRUPT_H_
