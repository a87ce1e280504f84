// What `ringctl ring balance` says: the share of every node against its ideal one.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_BALANCE_REPORT_H_
#define RINGSHIFT_CLIENT_RINGCTL_BALANCE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "ring/ownership.h"
#include "ring/ring.h"

namespace ringshift {

// Up to so many nodes are shown one by one.
inline constexpr std::size_t kMostNodesAlone = 48;

// A node of the pool. Its load is its share divided by its ideal one; 1 is perfect.
struct NodeShare {
  std::string name;
  std::uint64_t weight = 0;
  std::uint64_t positions = 0;  // of 2^32, that it owns
  double load = 0;
};

struct RingBalance {
  RingParameters parameters;
  std::uint64_t points = 0;     // of the whole ring
  BalancePrediction predicted;  // of a ring of the pool's nodes
  double cv = 0;                // as Ownership has them
  double max_ratio = 0;
  double min_ratio = 0;
  std::vector<NodeShare> nodes;  // the most loaded first
};

struct BalanceReport {
  std::string data_center;
  std::string pool;
  std::uint64_t nodes = 0;         // of the pool, at least one
  std::uint64_t total_weight = 0;  // of these
  std::vector<RingBalance> rings;  // one or two
};

// Without rings. Errors: those of MakePoolMask; FAILED_PRECONDITION if the pool has no node.
absl::StatusOr<BalanceReport> StartBalance(const OfflineDataCenter& data_center,
                                           std::string_view pool);

// The balance of `ring`, which is one of the data center's, on that pool. Errors: likewise.
// Cost: one pass over the points.
absl::StatusOr<RingBalance> MeasureBalance(const OfflineDataCenter& data_center, const Ring& ring,
                                           std::string_view pool);

// For people: figures and a chart for each ring. Of many nodes, those with about one load share a
// line.
void PrintBalance(const BalanceReport& report, Output& output);

// For scripts: one JSON object and a newline, as docs/ringctl.md describes it.
std::string BalanceAsJson(const BalanceReport& report);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_BALANCE_REPORT_H_
