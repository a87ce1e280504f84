#include "server/topology_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "absl/status/status.h"
#include "routing/topology_loader.h"
#include "server/unique_fd.h"

namespace ringshift {
namespace {

constexpr std::size_t kEnough = kMaxTopologyBytes + 1;

}  // namespace

absl::StatusOr<std::string> ReadTopologyFile(const std::string& path) {
  const auto failure = [&path] {
    return absl::ErrnoToStatus(errno, absl::string_view("cannot read the topology " + path));
  };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return failure();
  std::string bytes;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (bytes.size() < kEnough) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure();
    if (got == 0) break;
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return bytes;
}

std::string TopologyChecksum(std::string_view bytes) {
  const std::uint64_t hash = ::XXH3_64bits(bytes.data(), bytes.size());
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

}  // namespace ringshift
