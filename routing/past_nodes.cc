#include "routing/past_nodes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "ring/point_hashes.h"

namespace ringshift {
namespace {

// The weights above which, and up to which, a node's points are told apart; `end` is not more than
// `begin` where there are none.
struct WeightRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

WeightRange RangeIn(const PastWeights& weights, std::uint32_t now) {
  const bool is_young = weights.least == 0 && now > 0;
  // Of a node that only came, no point says more than that it is young.
  const std::uint32_t begin =
      is_young ? (weights.first > 0 ? 0 : now) : std::min(weights.least, now);
  return {begin, weights.most};
}

std::uint32_t WeightIn(const DataCenter& data_center, const PastNode& node, std::size_t pool) {
  if (!node.node || !data_center.pools()[pool].nodes.Contains(*node.node)) return 0;
  return data_center.node_set()[*node.node].weight;
}

// Over all pools.
WeightRange RangeOf(const DataCenter& data_center, const PastNode& node) {
  std::optional<WeightRange> all;
  for (std::size_t pool = 0; pool < node.pools.size(); ++pool) {
    const WeightRange range = RangeIn(node.pools[pool], WeightIn(data_center, node, pool));
    if (range.begin >= range.end) continue;
    if (!all) all = range;
    all = {std::min(all->begin, range.begin), std::max(all->end, range.end)};
  }
  return all.value_or(WeightRange{});
}

// Those of the points of a weight of `end` that one of `begin` has not.
PointNumbers NumbersOf(const RingIdentity& identity, WeightRange range,
                       std::uint32_t points_per_weight) {
  return {PointCount(identity, range.begin, points_per_weight),
          PointCount(identity, range.end, points_per_weight)};
}

}  // namespace

std::uint64_t PastNodes::MaxPoints(const DataCenter& data_center) {
  const DataCenterSpec& spec = data_center.spec();
  const std::uint64_t points_per_weight =
      std::uint64_t{spec.v1 ? spec.v1->points_per_weight : 0} + spec.v2.points_per_weight;
  return std::clamp(data_center.node_set().total_weight() * points_per_weight / 4, kLeastMaxPoints,
                    kMostMaxPoints);
}

std::uint64_t PastNodes::CountPoints(const DataCenter& data_center,
                                     const std::vector<PastNode>& nodes) {
  const DataCenterSpec& spec = data_center.spec();
  std::uint64_t count = 0;
  for (const PastNode& node : nodes) {
    const WeightRange range = RangeOf(data_center, node);
    if (spec.v1) count += NumbersOf(node.identity, range, spec.v1->points_per_weight).count();
    count += NumbersOf(node.identity, range, spec.v2.points_per_weight).count();
  }
  return count;
}

std::shared_ptr<const PastNodes> PastNodes::Create(const DataCenter& data_center,
                                                   std::vector<PastNode> nodes) {
  return std::shared_ptr<const PastNodes>(new PastNodes(data_center, std::move(nodes)));
}

PastNodes::PastNodes(const DataCenter& data_center, std::vector<PastNode> nodes)
    : nodes_(std::move(nodes)) {
  const std::size_t size = data_center.node_set().size();
  for (std::size_t p = 0; p < data_center.pools().size(); ++p) {
    Pool& pool = pools_.emplace_back(Pool{NodeMask(size), NodeMask(size), NodeMask(size), {}});
    for (const PastNode& node : nodes_) {
      const std::uint32_t now = WeightIn(data_center, node, p);
      const PastWeights& weights = node.pools[p];
      pool.weights.push_back(now);
      if (now == 0) continue;
      if (weights.least == 0) pool.young.Insert(*node.node);
      if (weights.least != now || weights.most != now) pool.changed.Insert(*node.node);
      if (weights.least > 0 && weights.first < now) pool.grown.Insert(*node.node);
      has_reweighted_ |= weights.least > 0 && weights.first != now;
    }
  }
  std::vector<std::uint32_t> part_ends;  // of the weights of each part
  for (std::uint32_t place = 0; place < nodes_.size(); ++place) {
    const WeightRange range = RangeOf(data_center, nodes_[place]);
    std::set<std::uint32_t> bounds = {range.begin, range.end};
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      const auto& [first, least, most] = nodes_[place].pools[p];
      for (const std::uint32_t weight : {first, least, most, pools_[p].weights[place]}) {
        if (weight > range.begin && weight < range.end) bounds.insert(weight);
      }
    }
    for (auto bound = bounds.begin(); std::next(bound) != bounds.end(); ++bound) {
      parts_.push_back({place, *bound});
      part_ends.push_back(*std::next(bound));
    }
  }
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    const bool is_v1 = version == RingVersion::kV1;
    const DataCenterSpec& spec = data_center.spec();
    if (is_v1 && !spec.v1) continue;
    const std::uint32_t points_per_weight =
        is_v1 ? spec.v1->points_per_weight : spec.v2.points_per_weight;
    std::vector<Point>& points = points_[is_v1 ? 0 : 1];
    for (std::uint32_t part = 0; part < parts_.size(); ++part) {
      const RingIdentity& identity = nodes_[parts_[part].place].identity;
      const PointNumbers numbers =
          NumbersOf(identity, {parts_[part].weight, part_ends[part]}, points_per_weight);
      points.reserve(points.size() + numbers.count());
      ForEachPointHash(identity, numbers, [&](std::uint32_t hash) {
        points.push_back({hash, part});
      });
    }
    std::sort(points.begin(), points.end(),
              [](const Point& a, const Point& b) { return a.hash < b.hash; });
  }
}

bool PastNodes::AreOf(const DataCenter& data_center) const {
  return pools_.size() == data_center.pools().size() &&
         pools_.front().young.size() == data_center.node_set().size();
}

template <typename Visit>
void PastNodes::VisitFrom(RingVersion version, std::uint32_t position, std::uint32_t distance,
                          const Visit& visit) const {
  const std::vector<Point>& points = points_[version == RingVersion::kV1 ? 0 : 1];
  auto point =
      std::lower_bound(points.begin(), points.end(), position,
                       [](const Point& each, std::uint32_t hash) { return each.hash < hash; });
  for (std::size_t i = 0; i < points.size(); ++i, ++point) {
    if (point == points.end()) point = points.begin();
    if (point->hash - position > distance || !visit(parts_[point->part], point->hash)) return;
  }
}

bool PastNodes::OwnedThroughout(RingVersion version, std::size_t pool, std::uint32_t position,
                                Ring::Point owner) const {
  bool owned = true;
  VisitFrom(version, position, owner.hash - position, [&](const Part& part, std::uint32_t hash) {
    const PastNode& node = nodes_[part.place];
    const PastWeights& weights = node.pools[pool];
    const bool is_there = part.weight < pools_[pool].weights[part.place];
    if (node.node == owner.node) {
      owned = !is_there || hash != owner.hash || part.weight < weights.least;
    } else {
      owned = is_there || part.weight >= weights.most;
    }
    return owned;
  });
  return owned;
}

bool PastNodes::IsGained(RingVersion version, std::size_t pool, Ring::Point point) const {
  if (!pools_[pool].grown.Contains(point.node)) return false;
  bool is_gained = false;
  VisitFrom(version, point.hash, 0, [&](const Part& part, std::uint32_t) {
    const PastNode& node = nodes_[part.place];
    is_gained = node.node == point.node && part.weight >= node.pools[pool].first;
    return !is_gained;
  });
  return is_gained;
}

std::optional<NodeIndex> PastNodes::FirstOwner(const Ring& ring, std::size_t pool,
                                               std::uint32_t position,
                                               const NodeMask& settled) const {
  const RingVersion version = ring.parameters().version;
  std::optional<NodeIndex> owner;
  std::uint32_t distance = 0xFFFFFFFF;
  std::size_t index = ring.FindPoint(position);
  for (std::size_t walked = 0; walked < ring.point_count(); ++walked) {
    const Ring::Point point = ring.point(index);
    if (settled.Contains(point.node) && !IsGained(version, pool, point)) {
      owner = point.node;
      distance = point.hash - position;
      break;
    }
    if (++index == ring.point_count()) index = 0;
  }
  // Then the lost points before it, and on its hash.
  VisitFrom(version, position, distance, [&](const Part& part, std::uint32_t hash) {
    if (hash - position > distance) return false;
    const PastNode& node = nodes_[part.place];
    const bool is_young = IsYoung(node, pool);
    const bool is_lost = part.weight >= pools_[pool].weights[part.place];
    if (part.weight >= node.pools[pool].first || (!is_lost && !is_young)) return true;
    const bool is_node_there = !is_young && pools_[pool].weights[part.place] > 0;
    const std::optional<NodeIndex> loser = is_node_there ? node.node : std::nullopt;
    if (hash - position < distance) {
      owner = loser;
      distance = hash - position;
    } else if (owner != loser) {
      owner = std::nullopt;
    }
    return true;
  });
  return owner;
}

void PastNodes::AppendOwnersByLostPoints(RingVersion version, std::size_t pool,
                                         std::uint32_t position, std::uint32_t end,
                                         std::vector<NodeIndex>& nodes) const {
  VisitFrom(version, position, end - position, [&](const Part& part, std::uint32_t) {
    const PastNode& node = nodes_[part.place];
    if (node.node && part.weight >= pools_[pool].weights[part.place] &&
        part.weight < node.pools[pool].most) {
      nodes.push_back(*node.node);
    }
    return true;
  });
}

Ring::Point FirstPoint(const Ring& ring, std::uint32_t position, const NodeMask& eligible) {
  std::size_t index = ring.FindPoint(position);
  for (;;) {
    const Ring::Point point = ring.point(index);
    if (eligible.Contains(point.node)) return point;
    if (++index == ring.point_count()) index = 0;
  }
}

}  // namespace ringshift
