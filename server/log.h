// One-line structured logs (logfmt) on stderr:
//
//   LogInfo("listening", {{"public", "127.0.0.1:7400"}, {"seconds", "0.2"}});
//   ts=2026-11-29T10:11:12.345678Z level=info msg="listening" public=127.0.0.1:7400 seconds=0.2
//
// A reader that has stalled does not block whoever logs: after a short wait lines are dropped, and
// once there is a reader again a line says how many.
//
// Thread safety: thread-safe; lines do not mix.
#ifndef RINGSHIFT_SERVER_LOG_H_
#define RINGSHIFT_SERVER_LOG_H_

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "migration/store.h"

namespace ringshift {

enum class LogLevel { kInfo, kWarn, kError };

struct LogField {
  std::string_view key;  // [a-z0-9_]+
  std::string value;     // any bytes
};

// The line, with its newline. The message is quoted always; a value that is empty or has spaces,
// quotes, backslashes, '=', control characters (those beyond ASCII and U+2028, U+2029 too) or bytes
// that are no UTF-8 is quoted too. What is quoted has those escaped as in C, byte by byte, so that
// a line is a line whatever it says.
std::string FormatLogLine(WallTime time, LogLevel level, std::string_view message,
                          std::initializer_list<LogField> fields);

// A duration as a field's value: seconds with three decimals.
std::string FormatSeconds(std::chrono::duration<double> duration);

// Writes lines to a descriptor whose other end may have stopped reading.
//
// Thread safety: thread-safe.
class LogWriter {
 public:
  // Waits at most `patience` for a reader, and not at all while lines are being dropped. Does not
  // own `fd`.
  LogWriter(int fd, std::chrono::milliseconds patience) : fd_(fd), patience_(patience) {}

  // Writes the line, or drops it.
  void Write(std::string_view line);

 private:
  // False if not all of it could be written.
  bool WriteAll(std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int fd_;
  const std::chrono::milliseconds patience_;
  absl::Mutex mutex_;
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;  // lines since the last one that was written
  bool is_within_line_ ABSL_GUARDED_BY(mutex_) = false;  // part of a line was written
};

// Now, on stderr.
void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

inline void LogInfo(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarn(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarn, message, fields);
}
inline void LogError(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_LOG_H_
