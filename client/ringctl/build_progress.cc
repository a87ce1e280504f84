#include "client/ringctl/build_progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <utility>

namespace ringshift {

BuildProgress::BuildProgress(std::string what) {
  if (::isatty(STDERR_FILENO) == 0) return;
  thread_ = std::jthread([what = std::move(what)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    int seconds = 0;
    const auto is_stopped = [&stop] { return stop.stop_requested(); };
    while (!stopped.wait_for(lock, stop, std::chrono::seconds(1), is_stopped) && !is_stopped()) {
      std::fprintf(stderr, "\r\033[Kringctl: %s: %d s", what.c_str(), ++seconds);
    }
    if (seconds > 0) std::fputs("\r\033[K", stderr);
  });
}

}  // namespace ringshift
