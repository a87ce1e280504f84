// What is asked in a benchmark, and the right answers.
#ifndef RINGSHIFT_TESTS_BENCH_WORKLOAD_H_
#define RINGSHIFT_TESTS_BENCH_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringshift/v1/routing.pb.h"
#include "routing/routing_table.h"
#include "routing/topology.h"

namespace ringshift::bench {

inline constexpr std::string_view kDataCenter = "bench";

// A data center to measure with: nodes alike, default points, v1 wide and v2 packed.
struct BenchCase {
  std::string_view name;  // as the names of figures have it
  std::size_t nodes = 0;
  std::uint32_t weight = 0;
  bool has_v1 = true;
  std::int64_t v2_ppm = 0;
};

inline constexpr BenchCase kCases[] = {
    // For a quick look at whether everything works.
    {"tiny", 8, 10, true, 500'000},
    {"tiny_v1", 8, 10, true, 0},
    // 1,024,000 wide points of v1 answer.
    {"1m", 64, 100, true, 0},
    // Half of it is answered by the 102,400 packed points of v2.
    {"1m_half", 64, 100, true, 500'000},
    // 16,000,000 wide points of v1 answer.
    {"16m", 1'000, 100, true, 0},
    // Half of it is answered by the 1,600,000 packed points of v2.
    {"16m_half", 1'000, 100, true, 500'000},
    // 20,480,000 packed points of v2 answer.
    {"20m", 2'048, 625, false, 1'000'000},
    // 204,800,000 wide points of v1 answer; the 20,480,000 of v2 are there too.
    {"204m", 2'048, 625, true, 0},
};

// NOT_FOUND if there is none of that name.
absl::StatusOr<BenchCase> FindCase(std::string_view name);

// Another one, of the same owners.
RingLayout OtherLayout(RingLayout layout);

DataCenterSpec MakeSpec(const BenchCase& bench_case);

// Both rings have answered all keys within the warm window, so that nearly all have a previous
// owner.
RouterState BothRingsWarm();

// Cost: that of Ring::Build.
absl::StatusOr<std::shared_ptr<const RoutingTable>> BuildTable(const DataCenterSpec& spec,
                                                               std::int64_t v2_ppm,
                                                               RouterState state = {});

// Key `index` of every benchmark: 22 to 28 bytes.
std::string MakeKey(std::size_t index);

struct Workload {
  std::vector<std::string> keys;
  // For each key, as a response has them.
  std::vector<std::string> owners;
  std::vector<v1::RingVersion> ring_versions;
  std::vector<std::string> previous_owners;  // "" where there is none
};

// MakeKey(0) and so on, and what Route answers on rings of another layout than the case's.
absl::StatusOr<Workload> MakeWorkload(const BenchCase& bench_case, std::size_t key_count,
                                      RouterState state = {});

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_WORKLOAD_H_
