#include "client/ringctl/build_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <mutex>
#include <stop_token>
#include <utility>

namespace ringshift {

BuildProgress::BuildProgress(std::string what) {
  if (::isatty(STDERR_FILENO) == 0) return;
  // A longer line would go on in the next one, which is not erased.
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const int columns = is_known ? size.ws_col - 1 : std::numeric_limits<int>::max();
  thread_ = std::jthread([this, columns, what = std::move(what)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    int seconds = 0;
    const auto is_stopped = [&stop] { return stop.stop_requested(); };
    while (!stopped.wait_for(lock, stop, std::chrono::seconds(1), is_stopped) && !is_stopped()) {
      const double done = done_.load(std::memory_order_relaxed);
      const std::string percent =
          done > 0 ? ", " + std::to_string(static_cast<int>(100 * done)) + "%" : "";
      const std::string line =
          "ringctl: " + what + ": " + std::to_string(++seconds) + " s" + percent;
      std::fprintf(stderr, "\r\033[K%.*s", columns, line.c_str());
    }
    if (seconds > 0) std::fputs("\r\033[K", stderr);
  });
}

}  // namespace ringshift
