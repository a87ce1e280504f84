#include "tests/bench/peers_suite.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/pairs.h"
#include "tests/bench/peer_process.h"
#include "tests/bench/workload.h"
#include "tests/integration/process.h"

namespace ringshift::bench {
namespace {

void Progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

struct Memory {
  double ring = 0;  // bytes that are there when it is built, and were not before
  double peak = 0;  // the most that was there while it was built, likewise
};

class PeersSuite {
 public:
  PeersSuite(const PeersSize& size, const PeerPrograms& programs, Figures& figures)
      : size_(size), programs_(programs), figures_(figures) {}

  absl::Status Run() {
    keys_file_ = files_.Write("keys", Keys());
    hashes_file_ = files_.Write("hashes", Hashes());
    absl::StatusOr<PeerProcess> ours = Start(programs_.ours);
    if (!ours.ok()) return ours.status();
    absl::StatusOr<PeerProcess> pingora = Start(programs_.pingora);
    if (!pingora.ok()) return pingora.status();
    absl::Status status = MeasureMemory(*ours, *pingora);
    if (status.ok()) status = MeasureBuilds(*ours, *pingora);
    if (status.ok()) {
      status = MeasureLookups("lookup", "keys", "ns from a key to its node",
                              Target{4, Bound::kAtLeast}, *ours, *pingora);
    }
    if (status.ok()) {
      status = MeasureLookups("hash_lookup", "hashes", "ns from a hash to its node", std::nullopt,
                              *ours, *pingora);
    }
    return status;
  }

 private:
  std::string Keys() const {
    std::string keys;
    for (std::size_t i = 0; i < size_.keys; ++i) keys += MakeKey(i) + "\n";
    return keys;
  }
  std::string Hashes() const {
    std::string hashes;
    for (std::size_t i = 0; i < size_.keys; ++i) {
      const std::uint64_t spread = (i + 1) * 0x9E3779B97F4A7C15;
      for (int shift = 32; shift < 64; shift += 8) {
        hashes += static_cast<char>(spread >> shift & 0xFF);
      }
    }
    return hashes;
  }

  absl::StatusOr<PeerProcess> Start(std::vector<std::string> argv) const {
    for (const std::uint32_t number : {size_.nodes, size_.weight, size_.points_per_weight}) {
      argv.push_back(absl::StrCat(number));
    }
    argv.push_back(keys_file_);
    argv.push_back(hashes_file_);
    return PeerProcess::Start(argv);
  }

  // Of the first ring that a process builds.
  static absl::StatusOr<Memory> MemoryOfBuild(PeerProcess& peer) {
    const absl::StatusOr<std::uint64_t> before = peer.ResidentBytes();
    if (!before.ok()) return before.status();
    if (const absl::StatusOr<double> built = peer.Do("build"); !built.ok()) return built.status();
    const absl::StatusOr<std::uint64_t> after = peer.ResidentBytes();
    if (!after.ok()) return after.status();
    const absl::StatusOr<std::uint64_t> peak = peer.PeakBytes();
    if (!peak.ok()) return peak.status();
    const auto growth = [&](std::uint64_t bytes) {
      return static_cast<double>(bytes) - static_cast<double>(*before);
    };
    return Memory{growth(*after), growth(*peak)};
  }

  absl::Status MeasureMemory(PeerProcess& ours, PeerProcess& pingora) {
    Progress("memory of the rings");
    const absl::StatusOr<Memory> our_memory = MemoryOfBuild(ours);
    if (!our_memory.ok()) return our_memory.status();
    const absl::StatusOr<Memory> peer_memory = MemoryOfBuild(pingora);
    if (!peer_memory.ok()) return peer_memory.status();
    if (!(our_memory->ring > 0) || !(peer_memory->ring > 0)) {
      return absl::FailedPreconditionError("a ring took no memory that can be seen");
    }
    const double points = static_cast<double>(size_.nodes) * size_.weight * size_.points_per_weight;
    constexpr double kMebibyte = 1 << 20;
    figures_.Add("peers_memory_ratio", our_memory->ring / peer_memory->ring,
                 "resident memory of a ring, ours against pingora-ketama's", Target{0.55});
    figures_.Add("peers_bytes_per_point", our_memory->ring / points, "bytes, ours");
    figures_.Add("peers_bytes_per_point_pingora", peer_memory->ring / points, "bytes");
    figures_.Add("peers_peak_ratio", our_memory->peak / peer_memory->peak,
                 "peak of the memory while a ring is built", Target{0.35});
    figures_.Add("peers_peak_mib", our_memory->peak / kMebibyte, "MiB, ours");
    figures_.Add("peers_peak_mib_pingora", peer_memory->peak / kMebibyte, "MiB");
    return absl::OkStatus();
  }

  absl::Status MeasureBuilds(PeerProcess& ours, PeerProcess& pingora) {
    Progress("builds in turns");
    const absl::StatusOr<PairRatio> speedup = MeasurePairs(
        size_.pairs, [&] { return pingora.Do("build"); }, [&] { return ours.Do("build"); });
    if (!speedup.ok()) return speedup.status();
    figures_.AddRatio("peers_build_speedup", *speedup, "s of pingora-ketama and ours, all cores",
                      Target{4, Bound::kAtLeast});
    figures_.Add("peers_build_seconds", speedup->reference, "s, ours");
    figures_.Add("peers_build_seconds_pingora", speedup->measured, "s");
    return absl::OkStatus();
  }

  // `command` on both sides; what they answer must be the same each time.
  absl::Status MeasureLookups(const std::string& name, const std::string& command,
                              const std::string& unit, std::optional<Target> target,
                              PeerProcess& ours, PeerProcess& pingora) {
    Progress(command + " looked up in turns");
    std::optional<std::string> expected;
    const auto nanoseconds = [&](PeerProcess& peer) -> absl::StatusOr<double> {
      const std::string file = files_.File("owners");
      const absl::StatusOr<double> seconds = peer.Do(command + " " + file);
      if (!seconds.ok()) return seconds.status();
      std::ifstream stream(file, std::ios::binary);
      std::string owners(std::istreambuf_iterator<char>(stream), {});
      if (owners.size() != 4 * size_.keys) {
        return absl::InternalError(absl::StrCat(owners.size(), " bytes of owners"));
      }
      if (!expected)
        expected = std::move(owners);
      else if (owners != *expected)
        return WrongOwner(command, *expected, owners);
      return 1e9 * *seconds / static_cast<double>(size_.keys);
    };
    const absl::StatusOr<PairRatio> speedup = MeasurePairs(
        size_.pairs, [&] { return nanoseconds(pingora); }, [&] { return nanoseconds(ours); });
    if (!speedup.ok()) return speedup.status();
    figures_.AddRatio("peers_" + name + "_speedup", *speedup, unit + ", pingora-ketama and ours",
                      target);
    figures_.Add("peers_" + name + "_ns", speedup->reference, unit + ", ours");
    figures_.Add("peers_" + name + "_ns_pingora", speedup->measured, unit);
    return absl::OkStatus();
  }

  static absl::Status WrongOwner(const std::string& what, const std::string& expected,
                                 const std::string& owners) {
    const auto address = [](const std::string& bytes, std::size_t at) {
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
      return absl::StrCat(byte(3), ".", byte(2), ".", byte(1), ".", byte(0));
    };
    std::size_t at = 0;
    while (expected.compare(at, 4, owners, at, 4) == 0) at += 4;
    return absl::InternalError(absl::StrCat("the peers disagree: number ", at / 4, " of the ", what,
                                            " is ", address(expected, at), "'s and ",
                                            address(owners, at), "'s"));
  }

  const PeersSize size_;
  const PeerPrograms& programs_;
  Figures& figures_;
  const testing::TempDir files_;
  std::string keys_file_;
  std::string hashes_file_;
};

}  // namespace

absl::Status RunPeersSuite(const PeersSize& size, const PeerPrograms& programs, Figures& figures) {
  return PeersSuite(size, programs, figures).Run();
}

}  // namespace ringshift::bench
