// How evenly a ring spreads the keys over a pool, for people.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_ROUTING_POOL_BALANCE_H_
#define RINGSHIFT_ROUTING_POOL_BALANCE_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift {

// The load of a node is its part of the key space divided by its part of the weight; these are the
// lower bounds of the classes in which loads are counted.
inline constexpr std::array<double, 11> kLoadClasses = {0,    0.5,  0.8, 0.9, 0.95, 0.98,
                                                        1.02, 1.05, 1.1, 1.2, 1.5};

struct PoolBalance {
  std::string pool;
  std::size_t nodes = 0;
  double cv = 0;
  double max_ratio = 0;
  double min_ratio = 0;
  // The names of the nodes with the highest and the lowest load; empty in a pool without nodes.
  std::string max_node;
  std::string min_node;
  std::array<std::size_t, kLoadClasses.size()> nodes_by_load{};
};

// `nodes` names the nodes of `ring`. Cost: one pass over the points.
PoolBalance MeasurePoolBalance(const Ring& ring, const NodeSet& nodes, std::string_view pool,
                               const NodeMask& eligible);

// What a ring of these nodes deserves to be warned of, before it is built: its lightest node has
// too few points (kBalancedPoints), what to expect of that, and what mends it. "" where it has
// enough. Cost: linear in the nodes. REQUIRES: parameters that Ring::Measure accepts.
std::string BalanceWarning(const NodeSet& nodes, const RingParameters& parameters);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_POOL_BALANCE_H_
