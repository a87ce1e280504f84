// What `ringctl ring stats` says about the rings of a data center: their size, their memory, and
// how evenly they spread the keys.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RING_REPORT_H_
#define RINGSHIFT_CLIENT_RINGCTL_RING_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "ring/pool_rings.h"
#include "routing/pool_balance.h"

namespace ringshift {

struct PoolReport {
  PoolBalance balance;
  PoolWalk walk;                     // on the whole ring
  std::uint64_t own_ring_bytes = 0;  // 0: it has no ring of its own
  bool lacks_own_ring = false;       // it should have one, but others have taken the memory
};

struct RingReport {
  std::string ring_version;  // "v1" or "v2"
  std::uint64_t points_per_weight = 0;
  std::string layout;  // "wide", ...
  std::uint64_t points = 0;
  std::uint64_t memory_bytes = 0;  // with the pools' own rings
  std::uint64_t collisions = 0;
  std::uint64_t checksum = 0;
  double build_seconds = 0;
  std::vector<PoolReport> pools;  // `default` first, then in the order of the topology
};

struct DataCenterReport {
  std::string data_center;
  std::uint64_t nodes = 0;
  std::uint64_t total_weight = 0;
  std::vector<RingReport> rings;  // v1 (if there is one) before v2, with the same pools
};

// Errors: those of MakePoolMask and BuildPoolRings. Cost: one pass over the points for each pool,
// and that of BuildPoolRings.
absl::StatusOr<RingReport> ReportRing(const OfflineDataCenter& data_center, const TimedRing& built);

// For people. REQUIRES: at least one ring
void PrintReport(const DataCenterReport& report, Output& output);

// For scripts: one JSON object and a newline, as docs/ringctl.md describes it.
std::string ReportAsJson(const DataCenterReport& report);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RING_REPORT_H_
