// What `ringctl ring diff` says about two rings: which part of the key space changes its owner, and
// between whom.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RING_DIFF_H_
#define RINGSHIFT_CLIENT_RINGCTL_RING_DIFF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/offline.h"
#include "client/ringctl/output.h"
#include "ring/ring.h"

namespace ringshift {

// A node of either ring; counts of the 2^32 positions.
struct NodeDiff {
  // Its name on each side; empty where it is not among the nodes that may answer.
  std::string from;
  std::string to;
  std::uint64_t from_weight = 0;
  std::uint64_t to_weight = 0;
  std::uint64_t from_positions = 0;  // that it owns
  std::uint64_t to_positions = 0;
  std::uint64_t lost = 0;
  std::uint64_t gained = 0;
};

struct RingDiff {
  struct Side {
    std::string file;
    RingParameters parameters;
    std::uint64_t points = 0;
    std::uint64_t nodes = 0;         // of the pool
    std::uint64_t total_weight = 0;  // of these
    std::uint64_t checksum = 0;      // of the whole ring
  };
  std::string data_center;
  std::string pool;
  Side from;
  Side to;
  // As in Churn.
  std::uint64_t moved = 0;
  std::uint64_t moved_between_survivors = 0;
  std::uint64_t tied = 0;
  std::uint64_t moved_tied = 0;
  std::vector<NodeDiff> nodes;  // those that lose and gain most first, then by name

  double moved_ratio() const { return static_cast<double>(moved) / 4294967296.0; }
};

// A ring and where it is from. What it points to outlives the call that it is given to.
struct RingSource {
  std::string file;
  const OfflineDataCenter& data_center;
  const Ring& ring;
};

// Of one pool. Errors: those of MakePoolMask, with the file. Cost: three passes over the points.
absl::StatusOr<RingDiff> DiffRings(const RingSource& from, const RingSource& to,
                                   std::string_view pool);

// For people.
void PrintDiff(const RingDiff& diff, Output& output);

// For scripts, as docs/ringctl.md describes it.
void WriteDiff(const RingDiff& diff, JsonWriter& json);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RING_DIFF_H_
