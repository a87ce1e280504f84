#include "ring/ring.h"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ring/internal/dense_points.h"
#include "ring/internal/plain_points.h"
#include "ring/internal/point_array.h"
#include "ring/internal/point_chains.h"
#include "ring/internal/ring_builder.h"
#include "ring/internal/ring_points.h"
#include "ring/point_hashes.h"

namespace ringshift {
namespace {

using internal::DenseShape;
using internal::PackedPoint;
using internal::PlainPoints;
using internal::PointChains;
using internal::RingPoints;
using internal::WidePoint;

// The node of the first point from `point` on that is eligible.
template <typename Points>
NodeIndex FirstEligible(const Points& points, std::size_t point, const NodeMask& eligible) {
  NodeIndex node = points.node(point);
  while (!eligible.Contains(node)) {
    point = point + 1 == points.size() ? 0 : point + 1;
    node = points.node(point);
  }
  return node;
}

// What the points hold on the heap.
std::uint64_t PointBytes(RingLayout layout, std::size_t nodes, std::uint64_t points) {
  switch (layout) {
    case RingLayout::kWide:
      return PlainPoints<WidePoint>::Bytes(points);
    case RingLayout::kPacked:
      return PlainPoints<PackedPoint>::Bytes(points);
    case RingLayout::kDense:
      return DenseShape(points, nodes).bytes();
  }
  return 0;
}

constexpr std::uint64_t kFixedBytes = sizeof(Ring) + sizeof(RingPoints);

}  // namespace

std::string_view RingVersionName(RingVersion version) {
  return version == RingVersion::kV1 ? "v1" : "v2";
}

std::string_view RingAlgorithm(RingVersion version) {
  return version == RingVersion::kV1 ? "ketama-crc32-v1" : "ketama-crc32-v2";
}

std::string_view RingLayoutName(RingLayout layout) {
  switch (layout) {
    case RingLayout::kWide:
      return "wide";
    case RingLayout::kPacked:
      return "packed";
    case RingLayout::kDense:
      return "dense";
  }
  return "unknown";
}

RingParameters DefaultRingParameters(RingVersion version) {
  return version == RingVersion::kV1 ? RingParameters{version, 160, RingLayout::kWide}
                                     : RingParameters{version, 16, RingLayout::kDense};
}

absl::StatusOr<RingSize> Ring::Measure(const NodeSet& nodes, const RingParameters& parameters,
                                       const NodeMask* members) {
  if (parameters.points_per_weight < 1 || parameters.points_per_weight > kMaxPointsPerWeight) {
    return absl::InvalidArgumentError(absl::StrCat("points_per_weight ",
                                                   parameters.points_per_weight, " is not in [1, ",
                                                   kMaxPointsPerWeight, "]"));
  }
  // At most 65,536 nodes * 100,000 * 1,000,000 < 2^63.
  RingSize size;
  std::uint64_t most_points = 0;
  const RingNode* largest = nullptr;
  for (NodeIndex index = 0; index < nodes.size(); ++index) {
    if (members != nullptr && !members->Contains(index)) continue;
    const RingNode& node = nodes[index];
    const std::uint64_t points =
        PointCount(node.identity, node.weight, parameters.points_per_weight);
    size.points += points;
    if (points > most_points) most_points = points, largest = &node;
  }
  size.bytes = kFixedBytes + PointBytes(parameters.layout, nodes.size(), size.points);
  size.scratch_bytes = parameters.layout == RingLayout::kDense
                           ? internal::DenseScratchBytes(nodes.size(), size.points)
                           : internal::PlainScratchBytes(nodes.size(), size.points);
  if (size.points > kMaxPoints) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ring of ", size.points, " points (", size.bytes, " bytes) is above the limit of ",
        kMaxPoints, " points; node ", largest->name, " has the most, ", most_points, " = weight ",
        largest->weight, " x ", parameters.points_per_weight,
        " points_per_weight: lower the weights or points_per_weight"));
  }
  return size;
}

absl::StatusOr<std::shared_ptr<const Ring>> Ring::Build(std::shared_ptr<const NodeSet> nodes,
                                                        const RingParameters& parameters,
                                                        const RingBuildOptions& options) {
  const absl::StatusOr<RingSize> size = Measure(*nodes, parameters, options.members);
  if (!size.ok()) return size.status();
  const auto make_ring = [&](auto built) {
    std::unique_ptr<const RingPoints> points(new RingPoints{std::move(built.points)});
    return std::shared_ptr<const Ring>(new Ring(std::move(nodes), parameters, std::move(points),
                                                built.collision_count, built.checksum));
  };
  try {
    const PointChains chains(*nodes, parameters.points_per_weight, options.members,
                             options.hash_mask_for_test);
    switch (parameters.layout) {
      case RingLayout::kWide:
        return make_ring(
            internal::BuildPlain<WidePoint>(*nodes, chains, parameters.version, options));
      case RingLayout::kPacked:
        return make_ring(
            internal::BuildPlain<PackedPoint>(*nodes, chains, parameters.version, options));
      case RingLayout::kDense:
        return make_ring(internal::BuildDense(*nodes, chains, parameters.version, options));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("no layout ", static_cast<int>(parameters.layout)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for a ring of ", size->points,
                                                     " points (", size->bytes, " bytes)"));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start threads to build a ring: ", error.what()));
  }
}

Ring::Ring(std::shared_ptr<const NodeSet> nodes, const RingParameters& parameters,
           std::unique_ptr<const RingPoints> points, std::uint64_t collision_count,
           std::uint64_t checksum)
    : nodes_(std::move(nodes)),
      parameters_(parameters),
      points_(std::move(points)),
      point_count_(RingPoints::Visit(*this, [](const auto& p) { return p.size(); })),
      collision_count_(collision_count),
      checksum_(checksum) {}

Ring::~Ring() = default;

std::size_t Ring::FindPoint(std::uint32_t position) const {
  return RingPoints::Visit(*this, [position](const auto& p) { return p.FindFirst(position); });
}

Ring::Point Ring::point(std::size_t index) const {
  return RingPoints::Visit(*this, [index](const auto& p) {
    return Point{p.hash(index), p.node(index)};
  });
}

NodeIndex Ring::OwnerAt(std::uint32_t position) const {
  return RingPoints::Visit(*this,
                           [position](const auto& p) { return p.node(p.FindFirst(position)); });
}

NodeIndex Ring::OwnerAt(std::uint32_t position, const NodeMask& eligible) const {
  return RingPoints::Visit(
      *this, [&](const auto& p) { return FirstEligible(p, p.FindFirst(position), eligible); });
}

void Ring::OwnersAt(std::span<const std::uint32_t> positions, std::span<NodeIndex> owners) const {
  RingPoints::Visit(*this, [&](const auto& p) {
    p.FindFirsts(positions, [&](std::size_t i, std::size_t point) { owners[i] = p.node(point); });
  });
}

void Ring::OwnersAt(std::span<const std::uint32_t> positions, const NodeMask& eligible,
                    std::span<NodeIndex> owners) const {
  RingPoints::Visit(*this, [&](const auto& p) {
    p.FindFirsts(positions, [&](std::size_t i, std::size_t point) {
      owners[i] = FirstEligible(p, point, eligible);
    });
  });
}

std::size_t Ring::FindNodes(std::uint32_t position, const NodeMask& eligible,
                            std::span<NodeIndex> out) const {
  constexpr std::size_t kFewNodes = 32;  // so few are searched faster than marked
  const std::size_t wanted = std::min(out.size(), eligible.count());
  if (wanted == 0) return 0;
  NodeMask met(wanted > kFewNodes ? nodes_->size() : 0);
  std::size_t found = 0;
  RingPoints::Visit(*this, [&](const auto& p) {
    for (std::size_t i = p.FindFirst(position); found < wanted; i = i + 1 == p.size() ? 0 : i + 1) {
      const NodeIndex node = p.node(i);
      if (!eligible.Contains(node)) continue;
      if (wanted > kFewNodes) {
        if (met.Contains(node)) continue;
        met.Insert(node);
      } else if (std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(found), node) !=
                 out.begin() + static_cast<std::ptrdiff_t>(found)) {
        continue;
      }
      out[found++] = node;
    }
  });
  return found;
}

std::uint64_t Ring::memory_bytes() const {
  return kFixedBytes + RingPoints::Visit(*this, [](const auto& p) { return p.bytes(); });
}

}  // namespace ringshift
