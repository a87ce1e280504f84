#include "tests/bench/ring_suite.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ring/crc32.h"
#include "ring/pool_rings.h"
#include "ring/ring.h"
#include "tests/bench/pairs.h"

namespace ringshift::bench {
namespace {

constexpr std::size_t kBlock = 32;  // positions that a batch lookup is asked at once

void Progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

// CPU time of this thread: what other programs do meanwhile counts only in so far as they take
// caches and memory.
std::chrono::duration<double> ThreadTime() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}
std::chrono::duration<double> WallTime() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

template <typename Clock, typename Work>
double SecondsOf(Clock clock, const Work& work) {
  const std::chrono::duration<double> start = clock();
  work();
  return (clock() - start).count();
}

std::shared_ptr<const NodeSet> MakeNodes(std::size_t count) {
  std::vector<RingNode> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string address = absl::StrCat("10.0.", i / 256, ".", i % 256, ":443");
    nodes.push_back({address, RingIdentity::Parse(address, IdentityStyle::kCanonical).value(), 1});
  }
  return NodeSet::Create(std::move(nodes)).value();
}

RingParameters Dense(const FleetSize& fleet, RingVersion version = RingVersion::kV2) {
  return {version, fleet.points, RingLayout::kDense};
}

// What one would write otherwise: all points in one array, sorted, and searched by halves.
class PlainReference {
 public:
  PlainReference(const NodeSet& nodes, std::uint32_t points, std::uint32_t hash_mask) {
    for (const std::uint64_t word : Sorted(nodes, points, hash_mask)) points_.emplace_back(word);
  }

  static std::vector<std::uint64_t> Sorted(const NodeSet& nodes, std::uint32_t points,
                                           std::uint32_t hash_mask) {
    std::vector<std::uint64_t> words;
    words.reserve(nodes.size() * points);
    for (NodeIndex node = 0; node < nodes.size(); ++node) {
      const std::uint32_t state = internal::Crc32Extend(0xFFFFFFFF, nodes[node].identity.bytes());
      std::uint32_t hash = 0;
      for (std::uint32_t i = 0; i < points; ++i) {
        hash = internal::Crc32OfStateThenWord(state, hash);
        words.push_back(std::uint64_t{hash & hash_mask} << 32 | node);
      }
    }
    std::sort(words.begin(), words.end());
    return words;
  }

  NodeIndex OwnerAt(std::uint32_t position) const {
    const auto found = First(position);
    return (found == points_.end() ? points_.begin() : found)->node();
  }
  NodeIndex OwnerAt(std::uint32_t position, const NodeMask& pool) const {
    auto found = First(position);
    for (;; ++found) {
      if (found == points_.end()) found = points_.begin();
      if (pool.Contains(found->node())) return found->node();
    }
  }

 private:
  class Point {  // of 6 bytes
   public:
    explicit Point(std::uint64_t word) {
      const auto hash = static_cast<std::uint32_t>(word >> 32);
      const auto node = static_cast<std::uint16_t>(word);
      std::memcpy(bytes_.data(), &hash, sizeof hash);
      std::memcpy(bytes_.data() + sizeof hash, &node, sizeof node);
    }
    std::uint32_t hash() const {
      std::uint32_t hash;
      std::memcpy(&hash, bytes_.data(), sizeof hash);
      return hash;
    }
    NodeIndex node() const {
      std::uint16_t node;
      std::memcpy(&node, bytes_.data() + 4, sizeof node);
      return node;
    }

   private:
    std::array<unsigned char, 6> bytes_;
  };

  std::vector<Point>::const_iterator First(std::uint32_t position) const {
    return std::lower_bound(
        points_.begin(), points_.end(), position,
        [](const Point& point, std::uint32_t value) { return point.hash() < value; });
  }

  std::vector<Point> points_;
};

std::vector<std::uint32_t> RandomPositions(std::size_t count) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> positions(count);
  for (std::uint32_t& position : positions) position = static_cast<std::uint32_t>(random());
  return positions;
}

absl::Status CheckOwners(const std::string& what, std::span<const std::uint32_t> positions,
                         const std::vector<NodeIndex>& owners,
                         const std::vector<NodeIndex>& expected) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (owners[i] != expected[i]) {
      return absl::InternalError(absl::StrCat("wrong owner: ", what, " gives position ",
                                              positions[i], " to node ", owners[i], "; right is ",
                                              expected[i]));
    }
  }
  return absl::OkStatus();
}

// A number of /proc/self/status, in bytes.
double StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return 1024 * std::stod(line.substr(name.size() + 1));
  }
  return 0;
}

class RingSuite {
 public:
  RingSuite(const RingSuiteSize& size, Figures& figures)
      : size_(size), figures_(figures), positions_(RandomPositions(size.lookups)) {}

  absl::Status Run() {
    absl::Status status = MeasurePeak();  // first, while this process has next to nothing
    if (status.ok()) status = MeasureLookups("1m", size_.fleet_1m, 5, std::nullopt);
    if (status.ok()) status = MeasureLookups("20m", size_.fleet_20m, 4, 12);
    if (status.ok()) status = MeasureBuilds();
    if (status.ok()) status = MeasurePools();
    if (status.ok()) status = MeasureLargest();
    return status;
  }

 private:
  void AddBytesPerPoint(const std::string& name, const Ring& ring, double limit) {
    figures_.Add("dense_bytes_per_point_" + name,
                 static_cast<double>(ring.memory_bytes()) / static_cast<double>(ring.point_count()),
                 absl::StrCat("bytes, of ", ring.point_count(), " points, all tables included"),
                 Target{limit});
  }

  // In a process of its own: its growth is the build's.
  absl::Status MeasurePeak() {
    Progress("peak of a build");
    const auto nodes = MakeNodes(size_.fleet_20m.nodes);
    int ends[2];
    if (::pipe(ends) != 0) return absl::InternalError("no pipe");
    const pid_t child = ::fork();
    if (child < 0) return absl::InternalError("no process");
    if (child == 0) {
      const double before = StatusBytes("VmRSS");
      const auto ring = Ring::Build(nodes, Dense(size_.fleet_20m));
      const double ratio =
          ring.ok() ? (StatusBytes("VmHWM") - before) / static_cast<double>((*ring)->memory_bytes())
                    : 0;
      ::_exit(::write(ends[1], &ratio, sizeof ratio) == sizeof ratio ? 0 : 1);
    }
    double ratio = 0;
    ::close(ends[1]);
    const bool is_read = ::read(ends[0], &ratio, sizeof ratio) == sizeof ratio;
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    if (!is_read || !(ratio > 0)) return absl::InternalError("the build of the peak failed");
    figures_.Add("build_peak_ratio_dense", ratio,
                 "peak of the process while it builds, less what it had, of the finished ring",
                 Target{1.34});
    return absl::OkStatus();
  }

  absl::Status MeasureLookups(const std::string& name, const FleetSize& fleet, double single_limit,
                              std::optional<double> batch_limit) {
    Progress(name + ": lookups");
    const auto nodes = MakeNodes(fleet.nodes);
    const PlainReference reference(*nodes, fleet.points, size_.hash_mask_of_reference);
    const auto ring = Ring::Build(nodes, Dense(fleet));
    if (!ring.ok()) return ring.status();

    std::vector<NodeIndex> expected(positions_.size()), owners(positions_.size());
    const auto nanoseconds = [&](const auto& work) -> absl::StatusOr<double> {
      return SecondsOf(ThreadTime, work) * 1e9 / static_cast<double>(positions_.size());
    };
    const auto by_halves = [&] {
      return nanoseconds([&] {
        for (std::size_t i = 0; i < positions_.size(); ++i) {
          expected[i] = reference.OwnerAt(positions_[i]);
        }
      });
    };
    const auto checked = [&](absl::StatusOr<double> time) -> absl::StatusOr<double> {
      const absl::Status status = CheckOwners(name, positions_, owners, expected);
      std::fill(owners.begin(), owners.end(), 0);
      if (!status.ok()) return status;
      return time;
    };
    const auto single = [&] {
      return checked(nanoseconds([&] {
        for (std::size_t i = 0; i < positions_.size(); ++i) {
          owners[i] = (*ring)->OwnerAt(positions_[i]);
        }
      }));
    };
    const absl::StatusOr<PairRatio> singles = MeasurePairs(size_.pairs, by_halves, single);
    if (!singles.ok()) return singles.status();
    figures_.AddRatio("lookup_speedup_" + name, *singles,
                      "ns a lookup; std::lower_bound over 6-byte points against dense",
                      Target{single_limit, Bound::kAtLeast});
    if (!batch_limit) return absl::OkStatus();

    const auto batch = [&] {
      return checked(nanoseconds([&] { Batch(**ring, nullptr, owners); }));
    };
    const absl::StatusOr<PairRatio> batches = MeasurePairs(size_.pairs, by_halves, batch);
    if (!batches.ok()) return batches.status();
    figures_.AddRatio("batch_lookup_speedup_" + name, *batches,
                      "ns a lookup; std::lower_bound one by one against blocks of 32",
                      Target{*batch_limit, Bound::kAtLeast});
    AddBytesPerPoint(name, **ring, 2.95);
    return absl::OkStatus();
  }

  // The owners of all positions, in blocks; among the nodes of `pool` if it is not null.
  void Batch(const Ring& ring, const NodeMask* pool, std::vector<NodeIndex>& owners) const {
    const std::span<const std::uint32_t> positions(positions_);
    for (std::size_t i = 0; i < positions.size(); i += kBlock) {
      const std::size_t count = std::min(kBlock, positions.size() - i);
      const auto block = positions.subspan(i, count);
      const auto block_owners = std::span(owners).subspan(i, count);
      if (pool == nullptr) {
        ring.OwnersAt(block, block_owners);
      } else {
        ring.OwnersAt(block, *pool, block_owners);
      }
    }
  }

  absl::Status MeasureBuilds() {
    Progress("builds");
    const FleetSize& fleet = size_.fleet_20m;
    const auto nodes = MakeNodes(fleet.nodes);
    const PlainReference reference(*nodes, fleet.points, size_.hash_mask_of_reference);
    std::vector<NodeIndex> expected;
    for (const std::uint32_t position : positions_) expected.push_back(reference.OwnerAt(position));
    const auto sort = [&]() -> absl::StatusOr<double> {
      std::vector<std::uint64_t> words;
      return SecondsOf(ThreadTime, [&] {
        words = PlainReference::Sorted(*nodes, fleet.points, size_.hash_mask_of_reference);
      });
    };
    const auto build = [&](std::size_t threads, auto clock) -> absl::StatusOr<double> {
      absl::StatusOr<std::shared_ptr<const Ring>> ring;
      const double seconds =
          SecondsOf(clock, [&] { ring = Ring::Build(nodes, Dense(fleet), {.threads = threads}); });
      if (!ring.ok()) return ring.status();
      std::vector<NodeIndex> owners(positions_.size());
      (*ring)->OwnersAt(positions_, owners);
      if (absl::Status status = CheckOwners("a build", positions_, owners, expected);
          !status.ok()) {
        return status;
      }
      return seconds;
    };
    const absl::StatusOr<PairRatio> one_core =
        MeasurePairs(size_.build_pairs, sort, [&] { return build(1, ThreadTime); });
    if (!one_core.ok()) return one_core.status();
    figures_.AddRatio("build_speedup_20m_one_core", *one_core,
                      "s; collecting 8-byte points and std::sort against dense",
                      Target{5, Bound::kAtLeast});
    const absl::StatusOr<PairRatio> two_cores = MeasurePairs(
        size_.build_pairs, [&] { return build(1, WallTime); }, [&] { return build(2, WallTime); });
    if (!two_cores.ok()) return two_cores.status();
    figures_.AddRatio("build_two_core_speedup", *two_cores, "s; one thread against two",
                      Target{1.6, Bound::kAtLeast});
    return absl::OkStatus();
  }

  absl::Status MeasurePools() {
    Progress("pools");
    const FleetSize& fleet = size_.fleet_20m;
    const auto nodes = MakeNodes(fleet.nodes);
    const PlainReference reference(*nodes, fleet.points, size_.hash_mask_of_reference);
    const absl::StatusOr<std::shared_ptr<const Ring>> ring = Ring::Build(nodes, Dense(fleet));
    if (!ring.ok()) return ring.status();
    std::mt19937 random(2);
    const auto pool_of = [&](double density) {
      NodeMask pool(nodes->size());
      while (static_cast<double>(pool.count()) < density * static_cast<double>(pool.size())) {
        pool.Insert(static_cast<NodeIndex>(random() % pool.size()));
      }
      return pool;
    };
    const auto check = [&](const NodeMask& pool, const std::vector<NodeIndex>& owners,
                           std::size_t count) {
      std::vector<NodeIndex> expected;
      const auto positions = std::span(positions_).first(count);
      for (const std::uint32_t position : positions) {
        expected.push_back(reference.OwnerAt(position, pool));
      }
      return CheckOwners("a pool", positions, owners, expected);
    };

    const NodeMask tenth = pool_of(0.1);
    std::vector<NodeIndex> owners(positions_.size()), pool_owners(positions_.size());
    const auto lookups = [&](const NodeMask* pool, std::vector<NodeIndex>& found) {
      return SecondsOf(ThreadTime, [&] { Batch(**ring, pool, found); }) * 1e9 /
             static_cast<double>(positions_.size());
    };
    const absl::StatusOr<PairRatio> slowdown = MeasurePairs(
        size_.pairs, [&]() -> absl::StatusOr<double> { return lookups(&tenth, pool_owners); },
        [&]() -> absl::StatusOr<double> { return lookups(nullptr, owners); });
    if (!slowdown.ok()) return slowdown.status();
    if (absl::Status status = check(tenth, pool_owners, positions_.size()); !status.ok()) {
      return status;
    }
    figures_.AddRatio("pool_tenth_lookup_slowdown", *slowdown,
                      "ns a lookup in blocks of 32; in a tenth of the nodes against all",
                      Target{3});

    constexpr std::size_t kPools = 24;
    std::vector<NodeMask> pools;
    for (std::size_t i = 0; i < kPools; ++i) {
      pools.push_back(pool_of(0.02 + 0.88 * static_cast<double>(i) / (kPools - 1)));
    }
    std::vector<const NodeMask*> views;
    for (const NodeMask& pool : pools) views.push_back(&pool);
    absl::StatusOr<std::vector<PoolRing>> pool_rings;
    const double seconds =
        SecondsOf(WallTime, [&] { pool_rings = BuildPoolRings(nodes, **ring, views); });
    if (!pool_rings.ok()) return pool_rings.status();
    const std::uint64_t mask_bytes = sizeof(NodeMask) + (nodes->size() + 63) / 64 * 8;
    std::uint64_t bytes = (*ring)->memory_bytes() + kPools * (mask_bytes + sizeof(PoolRing));
    for (std::size_t i = 0; i < kPools; ++i) {
      const Ring* own = (*pool_rings)[i].own.get();
      if (own != nullptr) bytes += own->memory_bytes();
      const Ring& asked = own != nullptr ? *own : **ring;
      asked.OwnersAt(positions_, pools[i], pool_owners);
      if (absl::Status status = check(pools[i], pool_owners, positions_.size() / kPools);
          !status.ok()) {
        return status;
      }
    }
    figures_.Add("pools_24_memory_ratio",
                 static_cast<double>(bytes) / static_cast<double>((*ring)->memory_bytes()),
                 "bytes with 24 pools of 2 % to 90 % of the nodes, of the ring alone",
                 Target{1.15});
    figures_.Add("pools_24_seconds", seconds, "s to measure the walks of these pools");
    return absl::OkStatus();
  }

  absl::Status MeasureLargest() {
    Progress("204m: memory");
    const FleetSize& fleet = size_.fleet_204m;
    const auto nodes = MakeNodes(fleet.nodes);
    const auto dense = Ring::Build(nodes, Dense(fleet, RingVersion::kV1));
    if (!dense.ok()) return dense.status();
    RingParameters parameters = Dense(fleet, RingVersion::kV1);
    parameters.layout = RingLayout::kPacked;
    const auto packed = Ring::Build(nodes, parameters);
    if (!packed.ok()) return packed.status();
    std::vector<NodeIndex> owners(positions_.size()), expected(positions_.size());
    (*dense)->OwnersAt(positions_, owners);
    (*packed)->OwnersAt(positions_, expected);
    if (absl::Status status = CheckOwners("204m", positions_, owners, expected); !status.ok()) {
      return status;
    }
    if ((*dense)->checksum() != (*packed)->checksum()) {
      return absl::InternalError("wrong owner: the checksums of dense and packed differ");
    }
    AddBytesPerPoint("204m", **dense, 2.5);
    return absl::OkStatus();
  }

  const RingSuiteSize size_;
  Figures& figures_;
  const std::vector<std::uint32_t> positions_;
};

}  // namespace

absl::Status RunRingSuite(const RingSuiteSize& size, Figures& figures) {
  return RingSuite(size, figures).Run();
}

}  // namespace ringshift::bench
