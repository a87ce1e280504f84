#include "server/forecaster.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "ring/node_mask.h"
#include "routing/data_center.h"
#include "server/low_priority.h"

namespace ringshift {
namespace {

// The step of the share that answers. A data center without v1 has none.
ShareStep EffectiveStep(const RoutingTable& table, Share to) {
  const Share from = table.share_to_change();
  return {from, table.data_center().spec().v1 ? to : table.share()};
}

// "" if the step can be forecast: both rings are there, or it changes nothing.
std::string Obstacle(const RoutingTable& table, ShareStep step) {
  const DataCenter& data_center = table.data_center();
  if (step.from == step.to || (data_center.v1() != nullptr && data_center.v2() != nullptr)) {
    return "";
  }
  const std::string ring = data_center.v1() == nullptr ? "v1" : "v2";
  return table.migration().retired == RetiredRing::kNone
             ? "ring " + ring + " is not built yet"
             : "ring " + ring + " is retired, and not there to be compared";
}

std::uint64_t RingBytes(const DataCenter& data_center) {
  std::uint64_t bytes = 0;
  for (const DataCenter::BuiltRing* ring : {data_center.v1(), data_center.v2()}) {
    if (ring != nullptr) bytes += ring->memory_bytes();
  }
  return bytes;
}

// Of a ring that the share needs and that is not there.
std::uint64_t MissingRingBytes(const DataCenter& data_center, Share to) {
  const bool needs_v1 = data_center.spec().v1 && to < Share::All() && data_center.v1() == nullptr;
  const bool needs_v2 = to > Share::None() && data_center.v2() == nullptr;
  if (!needs_v1 && !needs_v2) return 0;
  // It was built before, so it can be measured.
  const absl::StatusOr<BuildMemory> memory =
      DataCenter::MeasureBuild(data_center.spec(), &data_center);
  return memory.ok() ? memory->ring_bytes : 0;
}

void ToProto(const EstimatedRatio& ratio, double scale, v1::EstimatedRatio& proto) {
  proto.set_value(scale * ratio.value);
  proto.set_low(scale * ratio.low);
  proto.set_high(scale * ratio.high);
}

// Where no key was routed: what moves of the key space. Which part of that young nodes have is not
// known, if there are any.
RoutedChurn OfKeySpace(const RoutingTable& table, double churn) {
  RoutedChurn routed{{churn, churn, churn}, {}};
  if (table.state().settled != nullptr) routed.moved_from_young = {churn, 0, churn};
  return routed;
}

}  // namespace

absl::StatusOr<double> Forecaster::Churn(const RoutingTable& table, Share from, Share to) {
  const DataCenter& data_center = table.data_center();
  const ShareStep step{from, to};
  if (from == to || !data_center.spec().v1) return 0;
  if (const std::string obstacle = Obstacle(table, step); !obstacle.empty()) {
    return absl::FailedPreconditionError(
        absl::string_view("what would move is not known: " + obstacle));
  }
  return RingChurn(*data_center.v1()->ring, *data_center.v2()->ring) * step.ring_change_ppm() /
         Share::kMaxPpm;
}

double Forecaster::RingChurn(const Ring& v1, const Ring& v2) {
  const std::pair<std::uint64_t, std::uint64_t> pair(v1.checksum(), v2.checksum());
  MutexLock lock(mutex_);
  if (const auto found = ring_churns_.find(pair); found != ring_churns_.end()) {
    return found->second;
  }
  double churn = 0;
  std::thread([&] {
    TakeLowPriority();
    churn = MeasureRingChurn(v1, v2);
  }).join();
  if (ring_churns_.size() >= kMaxPairs) ring_churns_.clear();
  ring_churns_[pair] = churn;
  return churn;
}

v1::Forecast Forecaster::Forecast(const RoutingTable& table, Share to,
                                  std::optional<double> hit_ratio) {
  const DataCenter& data_center = table.data_center();
  const ShareStep step = EffectiveStep(table, to);
  v1::Forecast forecast;
  forecast.set_data_center(data_center.name());
  forecast.set_from_v2_ppm(step.from.ppm());
  forecast.set_to_v2_ppm(step.to.ppm());
  forecast.set_revision(table.migration().revision);
  forecast.set_ring_change_ppm(step.ring_change_ppm());
  forecast.set_requests_per_second(rates_.Of(data_center.name()).keys_per_second);
  const std::uint64_t bytes = RingBytes(data_center);
  forecast.set_ring_memory_bytes_before(static_cast<std::int64_t>(bytes));
  forecast.set_ring_memory_bytes_after(
      static_cast<std::int64_t>(bytes + MissingRingBytes(data_center, to)));

  std::string_view source = "given";
  if (!hit_ratio) {
    hit_ratio = reported_(data_center.name());
    source = "reported";
  }
  if (hit_ratio) {
    forecast.set_hit_ratio(*hit_ratio);
    forecast.set_hit_ratio_source(std::string(source));
  }

  if (const std::string obstacle = Obstacle(table, step); !obstacle.empty()) {
    forecast.set_unavailable_reason(obstacle);
    return forecast;
  }
  if (step.from != step.to) {
    const DataCenter::BuiltRing& built_v1 = *data_center.v1();
    const DataCenter::BuiltRing& built_v2 = *data_center.v2();
    forecast.set_churn(RingChurn(*built_v1.ring, *built_v2.ring) * step.ring_change_ppm() /
                       Share::kMaxPpm);
    for (const NodeShift& shift :
         LargestShifts(built_v1.ownership, built_v2.ownership, step, kNodes)) {
      v1::NodeForecast& node = *forecast.add_nodes();
      node.set_name(data_center.node(shift.node).name);
      node.set_share_before(shift.before);
      node.set_share_after(shift.after);
    }
  }
  const std::optional<RoutedChurn> routed = RoutedChurnOf(table, step);
  if (routed) ToProto(routed->moved, 1, *forecast.mutable_routed_churn());
  // Edges that route by themselves ask for no key, and their misses are not known here.
  if (hit_ratio && forecast.requests_per_second() > 0) {
    const RoutedChurn churn = routed ? *routed : OfKeySpace(table, forecast.churn());
    const double hits = forecast.requests_per_second() * *hit_ratio;
    ToProto(churn.moved, hits, *forecast.mutable_extra_misses_per_second());
    ToProto(churn.moved_from_young, hits,
            *forecast.mutable_extra_misses_per_second_with_previous_owner());
  }
  return forecast;
}

std::optional<RoutedChurn> Forecaster::RoutedChurnOf(const RoutingTable& table,
                                                     ShareStep step) const {
  const DataCenter& data_center = table.data_center();
  RouteMetrics::Sample sample = routes_.LastKeys(data_center.name(), table.decision().seed());
  std::vector<PoolOfRings> pools;
  for (const std::string& name : sample.pools) {
    PoolOfRings& pool = pools.emplace_back();
    const std::optional<std::size_t> index = data_center.FindPool(name);
    if (!index) continue;  // it is no more, or not yet
    pool.nodes = &data_center.pools()[*index].nodes;
    if (data_center.v1() != nullptr) pool.v1 = &data_center.v1()->RingOf(*index);
    if (data_center.v2() != nullptr) pool.v2 = &data_center.v2()->RingOf(*index);
  }
  return EstimateRoutedChurn(std::move(sample.keys), pools, step, table.state().settled.get());
}

}  // namespace ringshift
