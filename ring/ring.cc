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
#include "ring/internal/plain_points.h"
#include "ring/internal/point_array.h"
#include "ring/internal/ring_builder.h"
#include "ring/internal/ring_points.h"

namespace ringshift {
namespace {

using internal::PackedPoint;
using internal::PlainPoints;
using internal::RingPoints;
using internal::WidePoint;

std::uint64_t RingBytes(RingLayout layout, std::uint64_t points) {
  return sizeof(Ring) + sizeof(RingPoints) +
         (layout == RingLayout::kWide ? PlainPoints<WidePoint>::Bytes(points)
                                      : PlainPoints<PackedPoint>::Bytes(points));
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

template <typename Points>
std::uint64_t Checksum(const NodeSet& nodes, const Points& points) {
  ChecksumStream stream;
  stream.AddWord(nodes.size());
  for (const RingNode& node : nodes.nodes()) {
    stream.Add(node.identity.bytes());
    stream.AddWord(node.weight);
  }
  stream.AddWord(points.size());
  for (auto cursor = points.CursorAtBegin(); !cursor.AtEnd(); cursor.Next()) {
    stream.AddWord(std::uint64_t{cursor.node()} << 32 | cursor.hash());
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
    using Points = PlainPoints<decltype(point)>;
    return std::shared_ptr<const Ring>(
        new Ring(std::move(nodes), parameters,
                 std::unique_ptr<const RingPoints>(new RingPoints{Points(std::move(built.points))}),
                 built.collision_count));
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

Ring::Ring(std::shared_ptr<const NodeSet> nodes, const RingParameters& parameters,
           std::unique_ptr<const RingPoints> points, std::uint64_t collision_count)
    : nodes_(std::move(nodes)),
      parameters_(parameters),
      points_(std::move(points)),
      point_count_(RingPoints::Visit(*this, [](const auto& p) { return p.size(); })),
      collision_count_(collision_count),
      checksum_(RingPoints::Visit(*this, [this](const auto& p) { return Checksum(*nodes_, p); })) {}

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

void Ring::OwnersAt(std::span<const std::uint32_t> positions, std::span<NodeIndex> owners) const {
  RingPoints::Visit(*this, [&](const auto& p) {
    p.FindFirsts(positions, [&](std::size_t i, std::size_t point) { owners[i] = p.node(point); });
  });
}

void Ring::OwnersAt(std::span<const std::uint32_t> positions, const NodeMask& eligible,
                    std::span<NodeIndex> owners) const {
  RingPoints::Visit(*this, [&](const auto& p) {
    p.FindFirsts(positions, [&](std::size_t i, std::size_t point) {
      NodeIndex node = p.node(point);
      while (!eligible.Contains(node)) {
        point = point + 1 == p.size() ? 0 : point + 1;
        node = p.node(point);
      }
      owners[i] = node;
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

std::uint64_t Ring::memory_bytes() const { return RingBytes(parameters_.layout, point_count_); }

}  // namespace ringshift
