// How much more memory the system lets this process have.
#ifndef RINGSHIFT_SERVER_SYSTEM_MEMORY_H_
#define RINGSHIFT_SERVER_SYSTEM_MEMORY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ringshift {

// What a limit leaves.
struct MemoryRoom {
  std::uint64_t bytes = 0;  // that can still be had
  std::uint64_t limit = 0;  // in bytes
  std::string place;        // the file that has the limit
};

// The contents of the file at an absolute path; none if it cannot be read.
using FileReader = std::function<std::optional<std::string>(const std::string& path)>;

// From the file system.
std::optional<std::string> ReadWholeFile(const std::string& path);

// The least that a limit on this process leaves:
// * MemAvailable of /proc/meminfo;
// * of its memory cgroup and of each above that can be seen, of version 2 (memory.max, memory.high)
//   or 1 (memory.limit_in_bytes): the limit without what is in use, page cache that can be dropped
//   not counted.
// A 64th of each limit (of all memory for MemAvailable) is left for everything else. Swap does not
// count: a router whose rings are swapped out is of no use. What cannot be read or understood does
// not limit; none if nothing does.
//
// Cost: reads of some ten files. Thread safety: that of `read`.
std::optional<MemoryRoom> FindMemoryRoom(const FileReader& read = ReadWholeFile);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_SYSTEM_MEMORY_H_
