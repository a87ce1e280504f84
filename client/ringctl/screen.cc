#include "client/ringctl/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/ringctl/output.h"
#include "client/ringctl/table.h"

namespace ringshift {
namespace {

// A screen of its own, no cursor, no wrapping; and all of that back.
constexpr char kOpen[] = "\033[?1049h\033[?25l\033[?7l";
constexpr char kClose[] = "\033[?7h\033[?25h\033[?1049l";
constexpr char kHome[] = "\033[H";
constexpr char kClearLine[] = "\033[K";
constexpr char kClearBelow[] = "\033[J";

}  // namespace

Screen::Size Screen::size() const {
  winsize size{};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

bool Screen::Draw(std::vector<std::string> lines) {
  const Size size = this->size();
  lines.resize(std::min(lines.size(), size.rows));
  std::string frame;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) frame += "\r\n";
    frame += CutToWidth(lines[i], size.columns);
    frame += kClearLine;
  }
  frame += kClearBelow;
  const absl::MutexLock lock(&mutex_);
  if (is_closed_) return true;
  lines_ = std::move(lines);
  return Write((std::exchange(is_open_, true) ? "" : kOpen) + (kHome + frame));
}

void Screen::Close() {
  const absl::MutexLock lock(&mutex_);
  if (std::exchange(is_closed_, true) || !is_open_) return;
  std::string text = kClose;
  for (const std::string& line : lines_) text += line + "\n";
  Write(text);
}

bool Screen::Write(const std::string& text) const {
  Output output(fd_);
  output.Write(text);
  output.Flush();
  return output.ok();
}

}  // namespace ringshift
