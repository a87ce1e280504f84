#include "server/log.h"

#include <unistd.h>

#include <chrono>
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

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    if (c == ' ' || c == '"' || c == '\\' || c == '=' || IsControl(c)) return true;
  }
  return false;
}

void AppendQuoted(std::string_view value, std::string& line) {
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (IsControl(c)) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      line += escape;
    } else {
      line += c;
    }
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

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const std::string line = FormatLogLine(SystemWallTime(), level, message, fields);
  // A log that cannot be written has nowhere to be reported.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace ringshift
