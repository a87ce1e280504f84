#include "server/system_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ringshift {
namespace {

constexpr std::uint64_t kPartLeftFree = 64;

// The names of what is read of a cgroup.
struct CgroupFiles {
  std::vector<std::string> limits;
  std::string use;
  std::vector<std::string> reclaimable;  // in memory.stat, with the cgroups below
};
const CgroupFiles& FilesOfVersion(int version) {
  static const CgroupFiles& v1 = *new CgroupFiles{{"memory.limit_in_bytes"},
                                                  "memory.usage_in_bytes",
                                                  {"total_inactive_file", "total_active_file"}};
  static const CgroupFiles& v2 =
      *new CgroupFiles{{"memory.max", "memory.high"},
                       "memory.current",
                       {"inactive_file", "active_file", "slab_reclaimable"}};
  return version == 1 ? v1 : v2;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// A whole number behind blanks, at the end of a line or before the unit of /proc/meminfo.
std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !(rest.empty() || rest == "\n" || rest == " kB")) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> ReadNumber(const FileReader& read, const std::string& path) {
  const std::optional<std::string> text = read(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

// The number behind `name` and `separator` at the beginning of a line.
std::optional<std::uint64_t> FindNumber(const std::string& text, const std::string& name,
                                        char separator) {
  for (const std::string& line : Split(text, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == separator) {
      return ParseNumber(std::string_view(line).substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::uint64_t Minus(std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); }

// What `limit` leaves beside `used`.
MemoryRoom Room(std::uint64_t limit, std::uint64_t used, std::string place) {
  return {Minus(Minus(limit, used), limit / kPartLeftFree), limit, std::move(place)};
}

// A path as /proc/self/mountinfo writes it, with \NNN for blanks and the like.
std::string Unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                (text[i + 3] - '0'));
      i += 3;
    } else {
      path += text[i];
    }
  }
  return path;
}

bool Contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// The folder of a cgroup, and the highest one above it that can be seen.
struct CgroupFolder {
  std::string top;
  std::string path;  // begins with `top`
};

// Where the cgroup `path` of the hierarchy with the memory controller of `version` is mounted.
std::optional<CgroupFolder> FindFolder(const std::string& mountinfo, int version,
                                       const std::string& path) {
  std::optional<CgroupFolder> found;
  for (const std::string& line : Split(mountinfo, '\n')) {
    // ID PARENT MAJOR:MINOR ROOT MOUNT_POINT OPTIONS [TAG ...] - TYPE SOURCE OPTIONS
    const std::vector<std::string> fields = Split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool is_right = version == 1
                              ? dash[1] == "cgroup" && Contains(Split(dash[3], ','), "memory")
                              : dash[1] == "cgroup2";
    if (!is_right) continue;
    const std::string root = Unescape(fields[3]);
    const std::string mount_point = Unescape(fields[4]);
    // In a container, only the part of the tree below `root` may be there.
    const std::string prefix = root == "/" ? "" : root;
    const bool is_below = path.starts_with(prefix) && path.find("/..") == std::string::npos &&
                          (path.size() == prefix.size() || path[prefix.size()] == '/');
    if (is_below) {
      std::string below = path.substr(prefix.size());
      if (below == "/") below.clear();
      return CgroupFolder{mount_point, mount_point + below};
    }
    // The path is not what is seen from here; the limit of what is seen counts.
    if (!found) found = CgroupFolder{mount_point, mount_point};
  }
  return found;
}

// What the limits of one cgroup leave.
std::vector<MemoryRoom> RoomsOf(const FileReader& read, const CgroupFiles& files,
                                const std::string& folder) {
  std::vector<MemoryRoom> rooms;
  for (const std::string& name : files.limits) {
    const std::string place = folder + "/" + name;
    const std::optional<std::uint64_t> limit = ReadNumber(read, place);
    if (!limit) continue;
    std::uint64_t used = ReadNumber(read, folder + "/" + files.use).value_or(0);
    const std::string stat = read(folder + "/memory.stat").value_or("");
    for (const std::string& kind : files.reclaimable) {
      used = Minus(used, FindNumber(stat, kind, ' ').value_or(0));
    }
    rooms.push_back(Room(*limit, used, place));
  }
  return rooms;
}

}  // namespace

std::optional<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<MemoryRoom> FindMemoryRoom(const FileReader& read) {
  std::vector<MemoryRoom> rooms;
  const std::string meminfo_path = "/proc/meminfo";
  const std::string meminfo = read(meminfo_path).value_or("");
  constexpr std::uint64_t kMaxKib = std::numeric_limits<std::uint64_t>::max() >> 10;
  const std::optional<std::uint64_t> total = FindNumber(meminfo, "MemTotal", ':');
  const std::optional<std::uint64_t> available = FindNumber(meminfo, "MemAvailable", ':');
  if (total && available && *total <= kMaxKib) {
    rooms.push_back(Room(*total << 10, Minus(*total, *available) << 10, meminfo_path));
  }

  const std::string mountinfo = read("/proc/self/mountinfo").value_or("");
  for (const std::string& line : Split(read("/proc/self/cgroup").value_or(""), '\n')) {
    // ID:CONTROLLERS:PATH; of version 2, 0::PATH.
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string names = line.substr(controllers, path - 1 - controllers);
    if (!names.empty() && !Contains(Split(names, ','), "memory")) continue;
    const int version = names.empty() ? 2 : 1;
    std::optional<CgroupFolder> folder = FindFolder(mountinfo, version, line.substr(path));
    if (!folder) continue;
    for (;;) {
      for (MemoryRoom& room : RoomsOf(read, FilesOfVersion(version), folder->path)) {
        rooms.push_back(std::move(room));
      }
      if (folder->path.size() <= folder->top.size()) break;
      folder->path.erase(folder->path.rfind('/'));
    }
  }
  const auto least =
      std::min_element(rooms.begin(), rooms.end(),
                       [](const MemoryRoom& a, const MemoryRoom& b) { return a.bytes < b.bytes; });
  if (least == rooms.end()) return std::nullopt;
  return *least;
}

}  // namespace ringshift
