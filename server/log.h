// One-line structured logs (logfmt) on stderr:
//
//   LogInfo("listening", {{"public", "127.0.0.1:7400"}, {"seconds", "0.2"}});
//   ts=2026-11-29T10:11:12.345678Z level=info msg="listening" public=127.0.0.1:7400 seconds=0.2
//
// Thread safety: thread-safe; a line is one write.
#ifndef RINGSHIFT_SERVER_LOG_H_
#define RINGSHIFT_SERVER_LOG_H_

#include <initializer_list>
#include <string>
#include <string_view>

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
