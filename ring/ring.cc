#include "ring/ring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ring/internal/point_search.h"
#include "ring/internal/ring_builder.h"

namespace ringshift {
namespace {

using internal::PackedPoint;
using internal::PointArray;
using internal::PointIndex;
using internal::WidePoint;

std::uint64_t RingBytes(RingLayout layout, std::uint64_t points) {
  const std::uint64_t point_bytes =
      layout == RingLayout::kWide ? sizeof(WidePoint) : sizeof(PackedPoint);
  return sizeof(Ring) + points * point_bytes + PointIndex::Bytes(points);
}

// Feeds XXH3 with integers as little-endian bytes, in blocks.
class ChecksumStream {
 public:
  ChecksumStream() { XXH3_64bits_reset(&state_); }

  void Add(std::string_view bytes) {
    AddWord(bytes.size());
    Flush();
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  void AddWord(std::uint64_t word) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    words_[used_++] = word;
    if (used_ == words_.size()) Flush();
  }
  std::uint64_t Finish() {
    Flush();
    return XXH3_64bits_digest(&state_);
  }

 private:
  void Flush() {
    XXH3_64bits_update(&state_, words_.data(), used_ * sizeof(std::uint64_t));
    used_ = 0;
  }

  XXH3_state_t state_;
  std::array<std::uint64_t, 1024> words_;
  std::size_t used_ = 0;
};

template <typename P>
std::uint64_t Checksum(const NodeSet& nodes, const PointArray<P>& points) {
  ChecksumStream stream;
  stream.AddWord(nodes.size());
  for (const RingNode& node : nodes.nodes()) {
    stream.Add(node.identity.bytes());
    stream.AddWord(node.weight);
  }
  stream.AddWord(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    stream.AddWord(std::uint64_t{points[i].node()} << 32 | points[i].hash());
  }
  return stream.Finish();
}

}  // namespace

std::string_view RingVersionName(RingVersion version) {
  return version == RingVersion::kV1 ? "v1" : "v2";
}

std::string_view RingAlgorithm(RingVersion version) {
  return version == RingVersion::kV1 ? "ketama-crc32-v1" : "ketama-crc32-v2";
}

std::string_view RingLayoutName(RingLayout layout) {
  return layout == RingLayout::kWide ? "wide" : "packed";
}

RingParameters DefaultRingParameters(RingVersion version) {
  return version == RingVersion::kV1 ? RingParameters{version, 160, RingLayout::kWide}
                                     : RingParameters{version, 16, RingLayout::kPacked};
}

absl::StatusOr<RingSize> Ring::Measure(const NodeSet& nodes, const RingParameters& parameters) {
  if (parameters.points_per_weight < 1 || parameters.points_per_weight > kMaxPointsPerWeight) {
    return absl::InvalidArgumentError(absl::StrCat("points_per_weight ",
                                                   parameters.points_per_weight, " is not in [1, ",
                                                   kMaxPointsPerWeight, "]"));
  }
  // At most 65,536 nodes * 100,000 * 1,000,000 < 2^63.
  RingSize size;
  std::uint64_t most_points = 0;
  const RingNode* largest = nullptr;
  for (const RingNode& node : nodes.nodes()) {
    const std::uint64_t points = internal::NodePointCount(node, parameters.points_per_weight);
    size.points += points;
    if (points > most_points) most_points = points, largest = &node;
  }
  size.bytes = RingBytes(parameters.layout, size.points);
  size.scratch_bytes = internal::ScratchBytes(nodes.size(), size.points);
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
  const absl::StatusOr<RingSize> size = Measure(*nodes, parameters);
  if (!size.ok()) return size.status();
  const auto build = [&](auto point) {
    auto built = internal::BuildPoints<decltype(point)>(*nodes, parameters, options);
    return std::shared_ptr<const Ring>(
        new Ring(std::move(nodes), parameters, std::move(built.points), built.collision_count));
  };
  try {
    return parameters.layout == RingLayout::kWide ? build(WidePoint()) : build(PackedPoint());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for a ring of ", size->points,
                                                     " points (", size->bytes, " bytes)"));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start threads to build a ring: ", error.what()));
  }
}

Ring::Ring(std::shared_ptr<const NodeSet> nodes, const RingParameters& parameters, Points points,
           std::uint64_t collision_count)
    : nodes_(std::move(nodes)),
      parameters_(parameters),
      points_(std::move(points)),
      index_(std::visit([](const auto& p) { return PointIndex(p); }, points_)),
      point_count_(std::visit([](const auto& p) { return p.size(); }, points_)),
      collision_count_(collision_count),
      checksum_(std::visit([this](const auto& p) { return Checksum(*nodes_, p); }, points_)) {}

std::size_t Ring::FindPoint(std::uint32_t position) const {
  const auto* wide = std::get_if<PointArray<WidePoint>>(&points_);
  if (wide) return internal::FindFirstPoint(*wide, index_, position);
  return internal::FindFirstPoint(*std::get_if<PointArray<PackedPoint>>(&points_), index_,
                                  position);
}

Ring::Point Ring::point(std::size_t index) const {
  const auto* wide = std::get_if<PointArray<WidePoint>>(&points_);
  if (wide) return {(*wide)[index].hash(), (*wide)[index].node()};
  const PackedPoint& packed = (*std::get_if<PointArray<PackedPoint>>(&points_))[index];
  return {packed.hash(), packed.node()};
}

void Ring::OwnersAt(std::span<const std::uint32_t> positions, std::span<NodeIndex> owners) const {
  std::visit(
      [&](const auto& points) {
        internal::FindFirstPoints(points, index_, positions, [&](std::size_t i, std::size_t point) {
          owners[i] = points[point].node();
        });
      },
      points_);
}

void Ring::OwnersAt(std::span<const std::uint32_t> positions, const NodeMask& eligible,
                    std::span<NodeIndex> owners) const {
  std::visit(
      [&](const auto& points) {
        internal::FindFirstPoints(points, index_, positions, [&](std::size_t i, std::size_t point) {
          while (!eligible.Contains(points[point].node())) {
            point = point + 1 == points.size() ? 0 : point + 1;
          }
          owners[i] = points[point].node();
        });
      },
      points_);
}

std::size_t Ring::FindNodes(std::uint32_t position, const NodeMask& eligible,
                            std::span<NodeIndex> out) const {
  constexpr std::size_t kFewNodes = 32;  // so few are searched faster than marked
  const std::size_t wanted = std::min(out.size(), eligible.count());
  NodeMask met(wanted > kFewNodes ? nodes_->size() : 0);
  std::size_t found = 0;
  for (std::size_t i = FindPoint(position); found < wanted; i = i + 1 == point_count_ ? 0 : i + 1) {
    const NodeIndex node = point(i).node;
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
  return found;
}

std::uint64_t Ring::memory_bytes() const { return RingBytes(parameters_.layout, point_count_); }

}  // namespace ringshift
