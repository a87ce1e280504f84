// Files of /proc and /sys that a test makes up.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_FAKE_FILES_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_FAKE_FILES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/system_memory.h"

namespace ringshift::testing {

class FakeFiles {
 public:
  FakeFiles& Set(const std::string& path, const std::string& text) {
    files_[path] = text;
    return *this;
  }
  // /proc/meminfo of a machine that has `available` of `total` KiB left.
  FakeFiles& SetMachine(std::uint64_t total, std::uint64_t available) {
    return Set("/proc/meminfo", "MemTotal:       " + std::to_string(total) +
                                    " kB\nMemFree:               1 kB\nMemAvailable:   " +
                                    std::to_string(available) + " kB\nBuffers:   1 kB\n");
  }

  // The files as they are when it is called; they outlive what is returned.
  FileReader Reader() const {
    return [this](const std::string& path) -> std::optional<std::string> {
      const auto file = files_.find(path);
      if (file == files_.end()) return std::nullopt;
      return file->second;
    };
  }

 private:
  std::map<std::string, std::string> files_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_FAKE_FILES_H_
