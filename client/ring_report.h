// What `ringctl ring stats` says about a ring: its size, its memory, and how evenly it spreads the
// keys.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RING_REPORT_H_
#define RINGSHIFT_CLIENT_RING_REPORT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/offline.h"
#include "client/output.h"
#include "ring/ring.h"

namespace ringshift {

// The load of a node is its part of the key space divided by its part of the weight; these are the
// lower bounds of the classes in which loads are counted.
inline constexpr std::array<double, 11> kLoadClasses = {0,    0.5,  0.8, 0.9, 0.95, 0.98,
                                                        1.02, 1.05, 1.1, 1.2, 1.5};

struct PoolReport {
  std::string name;
  std::size_t nodes = 0;
  double cv = 0;
  double max_ratio = 0;
  double min_ratio = 0;
  // The names of the nodes with the highest and the lowest load; empty in a pool without nodes.
  std::string max_node;
  std::string min_node;
  std::array<std::size_t, kLoadClasses.size()> nodes_by_load{};
};

struct RingReport {
  RingParameters parameters;
  std::uint64_t points = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t collisions = 0;
  std::uint64_t checksum = 0;
  double build_seconds = 0;
  std::vector<PoolReport> pools;  // `default` first, then in the order of the topology
};

// Errors: those of MakePoolMask. Cost: one pass over the points for each pool.
absl::StatusOr<RingReport> ReportRing(const OfflineDataCenter& data_center, const TimedRing& built);

// For people. `reports` are of one data center, v1 (if there is one) before v2.
void PrintRingReports(const OfflineDataCenter& data_center, const std::vector<RingReport>& reports,
                      Output& output);

// For scripts: one JSON object and a newline, as docs/ringctl.md describes it.
std::string RingReportsAsJson(const OfflineDataCenter& data_center,
                              const std::vector<RingReport>& reports);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RING_REPORT_H_
