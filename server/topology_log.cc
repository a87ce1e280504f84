#include "server/topology_log.h"

#include <cmath>
#include <cstddef>
#include <cstdio>

#include "server/log.h"

namespace ringshift {

using Outcome = TopologyController::Change::Outcome;
using Result = TopologyController::Result;

std::string_view ReloadTriggerName(ReloadTrigger trigger) {
  switch (trigger) {
    case ReloadTrigger::kStart:
      return "start";
    case ReloadTrigger::kSignal:
      return "signal";
    case ReloadTrigger::kCall:
      return "call";
    case ReloadTrigger::kFile:
      return "file";
  }
  return "";
}

std::string_view ReloadResultName(Result result) {
  switch (result) {
    case Result::kApplied:
      return "applied";
    case Result::kUnchanged:
      return "unchanged";
    case Result::kHeld:
      return "held";
    case Result::kFailed:
      return "failed";
  }
  return "";
}

double MovedRatio(const TopologyController::Change& change) {
  if (change.difference) return change.difference->Worst(change.share).Moved(change.share);
  return change.nodes.after == 0 ? 1 : 0;
}

std::string RatioToPercent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", 100 * ratio);
  return text;
}

std::string DescribeForHistory(const TopologyController::Change& change) {
  const NodeChanges& nodes = change.nodes;
  if (nodes.before == 0) return "new, with " + std::to_string(nodes.after) + " nodes";
  if (nodes.after == 0) return "gone, with its " + std::to_string(nodes.before) + " nodes";
  return std::to_string(nodes.added) + " nodes added, " + std::to_string(nodes.removed) +
         " removed, " + std::to_string(nodes.reweighted) + " reweighted, " +
         std::to_string(nodes.readdressed) + " readdressed; moves " +
         RatioToPercent(MovedRatio(change)) + "% of the key space";
}

void LogTopologyChange(const TopologyController::Change& change, std::string_view checksum,
                       ReloadTrigger trigger) {
  const auto count = [](std::size_t nodes) { return std::to_string(nodes); };
  const NodeChanges& nodes = change.nodes;
  const std::string moved = RatioToPercent(MovedRatio(change));
  switch (change.outcome) {
    case Outcome::kUnchanged:
      return;
    case Outcome::kApplied:
      LogInfo("data center changed", {{"data_center", change.data_center},
                                      {"nodes", count(nodes.after)},
                                      {"added", count(nodes.added)},
                                      {"removed", count(nodes.removed)},
                                      {"reweighted", count(nodes.reweighted)},
                                      {"readdressed", count(nodes.readdressed)},
                                      {"moved_percent", moved},
                                      {"checksum", std::string(checksum)}});
      return;
    case Outcome::kHeld:
      // Nobody reads the answer of a start.
      Log(trigger == ReloadTrigger::kStart ? LogLevel::kError : LogLevel::kWarn,
          "change of a data center is held; it serves as before",
          {{"data_center", change.data_center},
           {"nodes", count(nodes.after)},
           {"added", count(nodes.added)},
           {"removed", count(nodes.removed)},
           {"reweighted", count(nodes.reweighted)},
           {"readdressed", count(nodes.readdressed)},
           {"moved_percent", moved},
           {"checksum", std::string(checksum)},
           {"reason", change.reason},
           {"accept", "ringctl topology accept " + std::string(checksum)}});
      return;
    case Outcome::kFailed:
      LogError(nodes.before == 0 ? "new data center not served"
                                 : "data center not changed; it serves as before",
               {{"data_center", change.data_center},
                {"checksum", std::string(checksum)},
                {"error", change.reason}});
      return;
  }
}

void LogLongWalks(const DataCenter& data_center) {
  for (const DataCenter::BuiltRing* built : {data_center.v1(), data_center.v2()}) {
    if (built == nullptr) continue;
    std::size_t lacking = 0;
    std::size_t farthest = 0;
    for (std::size_t i = 0; i < built->pools.size(); ++i) {
      if (!built->pools[i].lacks_own()) continue;
      ++lacking;
      if (built->pools[i].walk.mean > built->pools[farthest].walk.mean) farthest = i;
    }
    if (lacking == 0) continue;
    LogWarn("sparse pools are slow: no memory is left for rings of their own",
            {{"data_center", data_center.name()},
             {"ring_version", std::string(RingVersionName(built->ring->parameters().version))},
             {"pools", std::to_string(lacking)},
             {"slowest", data_center.pools()[farthest].name},
             {"mean_walk_points", std::to_string(std::llround(built->pools[farthest].walk.mean))}});
  }
}

}  // namespace ringshift
