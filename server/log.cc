#include "server/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace ringshift {
namespace {

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

std::string FormatTime(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t since_epoch = seconds.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&since_epoch, &parts);
  char text[64];
  std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%06dZ",
                static_cast<int>((time - seconds).count()));
  return text;
}

// The bytes of the character that `text`, which is not empty, begins with: 0 if that is a control
// character, a line or paragraph separator, or no UTF-8.
std::size_t PlainCharacterLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return 0;
    code = code << 6 | (next & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool control = code <= 0x9F || code == 0x2028 || code == 0x2029;
  return overlong || surrogate || control || code > 0x10FFFF ? 0 : length;
}

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  while (!value.empty()) {
    const std::size_t length = PlainCharacterLength(value);
    if (length == 0 || std::string_view(" \"\\=").find(value.front()) != std::string_view::npos) {
      return true;
    }
    value.remove_prefix(length);
  }
  return false;
}

void AppendQuoted(std::string_view value, std::string& line) {
  line += '"';
  while (!value.empty()) {
    const char c = value.front();
    const std::size_t length = PlainCharacterLength(value);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (length == 0) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      line += escape;
    } else {
      line += value.substr(0, length);
    }
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  line += '"';
}

}  // namespace

std::string FormatLogLine(WallTime time, LogLevel level, std::string_view message,
                          std::initializer_list<LogField> fields) {
  std::string line = "ts=" + FormatTime(time) + " level=" + std::string(LevelName(level)) + " msg=";
  AppendQuoted(message, line);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (NeedsQuotes(field.value)) {
      AppendQuoted(field.value, line);
    } else {
      line += field.value;
    }
  }
  line += '\n';
  return line;
}

bool LogWriter::WriteAll(std::string_view text) {
  while (!text.empty()) {
    pollfd descriptor{fd_, POLLOUT, 0};
    const auto patience = dropped_ > 0 ? std::chrono::milliseconds(0) : patience_;
    const int ready = ::poll(&descriptor, 1, static_cast<int>(patience.count()));
    if (ready == 0) return false;
    if (ready < 0 && errno == EINTR) continue;
    // What is writable takes so many bytes without a wait.
    const ssize_t written = ::write(fd_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    // A log that cannot be written has nowhere to be reported.
    if (written <= 0) return true;
    text.remove_prefix(static_cast<std::size_t>(written));
    is_within_line_ = !text.empty();
  }
  return true;
}

std::string FormatSeconds(std::chrono::duration<double> duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", duration.count());
  return text;
}

void LogWriter::Write(std::string_view line) {
  const absl::MutexLock lock(&mutex_);
  if (dropped_ > 0) {
    std::string report =
        FormatLogLine(SystemWallTime(), LogLevel::kWarn, "nobody read the log: lines were dropped",
                      {{"lines", std::to_string(dropped_)}});
    if (is_within_line_) report.insert(0, 1, '\n');
    if (!WriteAll(report)) {
      ++dropped_;
      return;
    }
    dropped_ = 0;
  }
  if (!WriteAll(line)) ++dropped_;
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  // Until the process is gone: threads may log in its last moments.
  static LogWriter& writer = *new LogWriter(STDERR_FILENO, std::chrono::milliseconds(100));
  writer.Write(FormatLogLine(SystemWallTime(), level, message, fields));
}

}  // namespace ringshift
