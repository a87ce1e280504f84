#include "migration/forecast.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "migration/decision.h"
#include "ring/churn.h"

namespace ringshift {
namespace {

constexpr double kPositions = 4294967296.0;

struct CountedKey {
  RoutedKey key;
  double times = 0;  // that it came
  bool moves = false;
  bool moves_from_young = false;
};

std::vector<CountedKey> CountKeys(std::vector<RoutedKey> keys) {
  std::sort(keys.begin(), keys.end());
  std::vector<CountedKey> counted;
  for (const RoutedKey& key : keys) {
    if (counted.empty() || counted.back().key != key) counted.push_back({key});
    ++counted.back().times;
  }
  return counted;
}

// The owners of the keys on the ring.
std::vector<NodeIndex> OwnersOf(const Ring& ring, const NodeMask& nodes,
                                const std::vector<std::uint32_t>& positions) {
  std::vector<NodeIndex> owners(positions.size());
  if (nodes.count() == nodes.size()) {
    ring.OwnersAt(positions, owners);
  } else {
    ring.OwnersAt(positions, nodes, owners);
  }
  return owners;
}

// Fills in what becomes of keys of the pool that another ring answers then.
void FindMoves(const PoolOfRings& pool, ShareStep step, const NodeMask* settled,
               std::span<CountedKey* const> keys) {
  std::vector<std::uint32_t> positions;
  positions.reserve(keys.size());
  for (const CountedKey* each : keys) positions.push_back(each->key.position);
  const bool rises = step.from < step.to;
  const auto before = OwnersOf(rises ? *pool.v1 : *pool.v2, *pool.nodes, positions);
  const auto after = OwnersOf(rises ? *pool.v2 : *pool.v1, *pool.nodes, positions);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i]->moves = before[i] != after[i];
    keys[i]->moves_from_young =
        keys[i]->moves && settled != nullptr && !settled->Contains(before[i]);
  }
}

}  // namespace

bool ShareStep::Changes(std::uint32_t bucket) const {
  return AnswersV2(bucket, from) != AnswersV2(bucket, to);
}

double MeasureRingChurn(const Ring& v1, const Ring& v2) {
  const NodeMask all = NodeMask::All(v1.nodes().size());
  NodeMatching same(all.size());
  for (NodeIndex node = 0; node < all.size(); ++node) same[node] = node;
  return MeasureChurn({v1, all}, {v2, all}, same).moved_ratio();
}

std::vector<NodeShift> LargestShifts(const Ownership& v1, const Ownership& v2, ShareStep step,
                                     std::size_t count) {
  const auto part = [&](NodeIndex node, Share share) {
    const double of_v2 = static_cast<double>(share.ppm()) / Share::kMaxPpm;
    return ((1 - of_v2) * static_cast<double>(v1.positions[node]) +
            of_v2 * static_cast<double>(v2.positions[node])) /
           kPositions;
  };
  std::vector<NodeShift> gaining, losing;
  for (NodeIndex node = 0; node < v1.positions.size(); ++node) {
    const NodeShift shift{node, part(node, step.from), part(node, step.to)};
    if (shift.after > shift.before) gaining.push_back(shift);
    if (shift.after < shift.before) losing.push_back(shift);
  }
  const auto keep = [count](std::vector<NodeShift>& shifts, double sign) {
    const auto middle =
        shifts.begin() + static_cast<std::ptrdiff_t>(std::min(count, shifts.size()));
    std::partial_sort(shifts.begin(), middle, shifts.end(),
                      [sign](const NodeShift& a, const NodeShift& b) {
                        const double of_a = sign * (a.after - a.before);
                        const double of_b = sign * (b.after - b.before);
                        return of_a != of_b ? of_a > of_b : a.node < b.node;
                      });
    shifts.erase(middle, shifts.end());
  };
  keep(gaining, 1);
  keep(losing, -1);
  gaining.insert(gaining.end(), losing.begin(), losing.end());
  return gaining;
}

std::optional<RoutedChurn> EstimateRoutedChurn(std::vector<RoutedKey> keys,
                                               std::span<const PoolOfRings> pools, ShareStep step,
                                               const NodeMask* settled) {
  std::erase_if(keys, [&](const RoutedKey& key) {
    const bool is_known = key.pool < pools.size() && pools[key.pool].nodes != nullptr;
    return !is_known || pools[key.pool].nodes->count() == 0;
  });
  if (keys.empty()) return std::nullopt;
  std::vector<CountedKey> counted = CountKeys(std::move(keys));

  std::vector<std::vector<CountedKey*>> changing(pools.size());  // by pool
  for (CountedKey& each : counted) {
    if (step.Changes(each.key.bucket)) changing[each.key.pool].push_back(&each);
  }
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    if (!changing[pool].empty()) FindMoves(pools[pool], step, settled, changing[pool]);
  }

  KeyedSample moved, moved_from_young;
  for (const CountedKey& each : counted) {
    moved.Add(each.times, each.moves);
    moved_from_young.Add(each.times, each.moves_from_young);
  }
  // What cannot be is known, and not estimated.
  RoutedChurn churn;
  if (step.from != step.to) churn.moved = moved.Ratio();
  if (step.from != step.to && settled != nullptr) churn.moved_from_young = moved_from_young.Ratio();
  return churn;
}

}  // namespace ringshift
