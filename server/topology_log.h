// What the log and the store's history say about reloads of the topology.
//
// Thread safety: pure functions, and those of log.h.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_LOG_H_
#define RINGSHIFT_SERVER_TOPOLOGY_LOG_H_

#include <string>
#include <string_view>

#include "server/topology_controller.h"

namespace ringshift {

// "start", "signal", "call" or "file".
std::string_view ReloadTriggerName(ReloadTrigger trigger);

// "applied", "unchanged", "held" or "failed".
std::string_view ReloadResultName(TopologyController::Result result);

// The part of the key space, 0 to 1, that moves in the pool in which most does; of a data center
// that is gone all of it does, of one that is new or unchanged none.
double MovedRatio(const TopologyController::Change& change);

// A ratio of 0 to 1 as a percentage with four decimals, without a sign.
std::string RatioToPercent(double ratio);

// "2 nodes added, 1 removed, 0 reweighted, 3 readdressed; moves 0.1235% of the key space".
std::string DescribeForHistory(const TopologyController::Change& change);

// A line for a data center that is not unchanged.
void LogTopologyChange(const TopologyController::Change& change, std::string_view checksum,
                       ReloadTrigger trigger);

// A line for each ring of `data_center` on which pools lack rings of their own.
void LogLongWalks(const DataCenter& data_center);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_LOG_H_
