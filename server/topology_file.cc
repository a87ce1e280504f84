#include "server/topology_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "routing/topology_loader.h"
#include "server/unique_fd.h"

namespace ringshift {
namespace {

constexpr std::size_t kEnough = kMaxTopologyBytes + 1;
constexpr int kMaxPauses = 7;

bool IsSame(const absl::StatusOr<std::string>& a, const absl::StatusOr<std::string>& b) {
  return a.ok() && b.ok() ? *a == *b : a.status() == b.status();
}

}  // namespace

absl::StatusOr<std::string> ReadTopologyFile(const std::string& path) {
  const auto failure = [&path] {
    const absl::Status status =
        absl::ErrnoToStatus(errno, absl::string_view("cannot read the topology " + path));
    if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) return status;
    return absl::FailedPreconditionError(status.message());
  };
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return failure();
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::string_view("cannot read the topology " + path +
                          ": it is not a regular file; the router reads it again later, so give "
                          "the path of a file that stays"));
  }
  // Never waits, even if it has become a pipe by now.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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

absl::StatusOr<std::string> ReadSettledTopologyFile(const std::string& path,
                                                    const std::function<void()>& pause) {
  absl::StatusOr<std::string> before = ReadTopologyFile(path);
  if (!pause) return before;
  for (int i = 0; i < kMaxPauses; ++i) {
    pause();
    absl::StatusOr<std::string> now = ReadTopologyFile(path);
    if (IsSame(before, now)) return now;
    before = std::move(now);
  }
  return absl::AbortedError(
      absl::string_view("the topology " + path + " is being written; try again"));
}

std::string TopologyChecksum(std::string_view bytes) {
  const std::uint64_t hash = ::XXH3_64bits(bytes.data(), bytes.size());
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

std::string ChecksumOfRead(const absl::StatusOr<std::string>& bytes) {
  return bytes.ok() ? TopologyChecksum(*bytes) : "";
}

}  // namespace ringshift
