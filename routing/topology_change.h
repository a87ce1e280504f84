// What a new topology would do to a data center that is being served, and whether that may happen
// just so: a change of topology is a migration too.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_ROUTING_TOPOLOGY_CHANGE_H_
#define RINGSHIFT_ROUTING_TOPOLOGY_CHANGE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "migration/share.h"
#include "routing/data_center.h"
#include "routing/topology.h"

namespace ringshift {

struct NodeChanges {
  std::size_t before = 0;
  std::size_t after = 0;
  // Nodes as MatchNodes knows them.
  std::size_t added = 0;
  std::size_t removed = 0;
  std::size_t reweighted = 0;
  std::size_t readdressed = 0;  // another address, the same ring identity
};

// The exact part of the key space, 0 to 1, whose owner changes.
struct PoolChurn {
  std::string pool;
  // None where either data center has not that ring. Where both are none everything moves.
  std::optional<double> v1;
  std::optional<double> v2;

  // Of the requests at `share`: buckets and positions of keys are independent.
  double Moved(Share share) const;
};

struct DataCenterChange {
  NodeChanges nodes;
  // Of every pool that the old data center has, `default` first. A pool that is no more, or has no
  // nodes any more, has moved as a whole.
  std::vector<PoolChurn> pools;

  // The pool of which most moves at `share`.
  const PoolChurn& Worst(Share share) const;
};

// From what is served to what would be. Cost: a pass over the points of both for each pool and each
// ring that differs.
DataCenterChange DescribeChange(const DataCenter& from, const DataCenter& to);

// How much a reload may change without being asked. A data center that is no longer listed loses
// all of its nodes.
struct ReloadLimits {
  double max_moved_ratio = 0.1;    // of the key space, of any pool
  double max_removed_ratio = 0.1;  // of the nodes
};

// "" if `change` is within the limits at `share`; else why it is not, for people, with the figures:
// "moves 23.4512% of the key space (pool default), above 10%".
std::string ReasonToHold(const DataCenterChange& change, Share share, const ReloadLimits& limits);

// FAILED_PRECONDITION where `to` would change what a ring that answers at `share` places keys by:
// its points_per_weight, or that it is there at all. v1 answers below 100 %, v2 above 0. A ring
// that answers nothing may change freely, and so may layouts. The message has both values and what
// to do. `share` is the migration's, which is in force as soon as there is a v1.
absl::Status CheckAnsweringRings(const DataCenterSpec& from, const DataCenterSpec& to, Share share);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_TOPOLOGY_CHANGE_H_
