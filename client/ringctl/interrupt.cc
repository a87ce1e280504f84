#include "client/ringctl/interrupt.h"

#include <pthread.h>

#include <cstdlib>
#include <utility>

#include "client/ringctl/exit_code.h"

namespace ringshift {

Interrupt::Interrupt(std::function<void()> on_signal) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  thread_ = std::thread([this, signals, on_signal = std::move(on_signal)] {
    int signal = 0;
    ::sigwait(&signals, &signal);
    if (is_over_) return;
    on_signal();
    std::_Exit(static_cast<int>(ExitCode::kOk));
  });
}

Interrupt::~Interrupt() {
  is_over_ = true;
  ::pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace ringshift
