// A terminal that a program draws on again and again, and gives back as it was.
#ifndef RINGSHIFT_CLIENT_RINGCTL_SCREEN_H_
#define RINGSHIFT_CLIENT_RINGCTL_SCREEN_H_

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace ringshift {

// Thread safety: thread-safe.
class Screen {
 public:
  struct Size {
    std::size_t columns = 0;
    std::size_t rows = 0;
  };
  static constexpr Size kNoLimit{std::numeric_limits<std::size_t>::max(),
                                 std::numeric_limits<std::size_t>::max()};

  // Of descriptor `fd`.
  explicit Screen(int fd) : fd_(fd) {}
  ~Screen() { Close(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // As it is now; 80 x 24 where the terminal does not say.
  Size size() const;

  // Shows `lines`, which went through ForTerminal, in place of what is there: as much of them as
  // has room. The first call takes over the terminal: an empty screen, without a cursor. False once
  // the terminal cannot be written.
  bool Draw(std::vector<std::string> lines) ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives the terminal back, with what was drawn last below what was there before; nothing is drawn
  // from then on.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool Write(const std::string& text) const;

  const int fd_;
  absl::Mutex mutex_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_SCREEN_H_
