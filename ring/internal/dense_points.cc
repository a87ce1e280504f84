#include "ring/internal/dense_points.h"

#include "ring/internal/huge_pages.h"

namespace ringshift::internal {
namespace {

// The number of buckets is the power of two with which an even ring has at least 7 / 2 points in
// each. Of 4 points the memory is the same as of 8, and in between it is less; but a search
// compares eight points at once, and buckets of nearly 8 often have more.
int BucketBits(std::uint64_t points) {
  // A ring that has too many points has a size too, which its refusal tells.
  return std::clamp(static_cast<int>(std::bit_width(points * 2 / 7)) - 1, 0, 32);
}

// With this many expected, one group of some ten thousand million has more points than its bytes
// count.
constexpr std::uint64_t kGroupPoints = 165;

std::unique_ptr<unsigned char[]> Allocate(std::uint64_t bytes) {
  auto memory = std::make_unique_for_overwrite<unsigned char[]>(static_cast<std::size_t>(bytes));
  PreferHugePages(memory.get(), static_cast<std::size_t>(bytes));
  return memory;
}

constexpr std::uint64_t LowBits(int bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

DenseShape::DenseShape(std::uint64_t point_count, std::size_t nodes)
    : points(point_count),
      bucket_bits(BucketBits(points)),
      low_bits(32 - bucket_bits),
      node_bits(static_cast<int>(std::bit_width(nodes - 1))),
      group_bits(0) {
  while (group_bits < bucket_bits && (points << (group_bits + 1)) >> bucket_bits <= kGroupPoints) {
    ++group_bits;
  }
}

std::uint64_t DenseShape::point_bytes() const {
  // A search compares eight points at once, of up to 6 bytes, and reads eight bytes for each.
  constexpr std::uint64_t kReadBehind = 8 * 6 + 8;
  return (points * static_cast<std::uint64_t>(point_bits()) + 7) / 8 + kReadBehind;
}

DensePoints::DensePoints(const DenseShape& shape)
    : points_(Allocate(shape.point_bytes())),
      records_(Allocate(shape.record_table_bytes())),
      size_(static_cast<std::size_t>(shape.points)),
      record_bytes_(shape.record_bytes()),
      place_mask_(shape.buckets_in_group() - 1),
      point_mask_(LowBits(shape.point_bits())),
      low_mask_(LowBits(shape.low_bits)),
      node_mask_(LowBits(shape.node_bits)),
      point_bits_(static_cast<std::uint32_t>(shape.point_bits())),
      low_bits_(static_cast<std::uint32_t>(shape.low_bits)),
      node_bits_(static_cast<std::uint32_t>(shape.node_bits)),
      group_bits_(static_cast<std::uint32_t>(shape.group_bits)),
      shape_(shape) {}

bool DensePoints::SetGroup(std::size_t group, std::uint32_t begin,
                           std::span<const std::uint32_t> ends) {
  if (ends.back() - begin > kMaxGroupPoints) return false;
  unsigned char* const record = records_.get() + group * record_bytes_;
  std::memcpy(record, &begin, sizeof begin);
  for (std::size_t place = 0; place < ends.size(); ++place) {
    record[sizeof begin + place] = static_cast<unsigned char>(ends[place] - begin);
  }
  return true;
}

void DensePoints::SetFullGroups(std::span<const FullGroup> groups) {
  full_groups_.reserve(groups.size() * (shape_.buckets_in_group() + 1));
  for (const auto& [group, begin, ends] : groups) {
    unsigned char* const record = records_.get() + group * record_bytes_;
    const auto index = static_cast<std::uint32_t>(full_groups_.size());
    std::memcpy(record, &index, sizeof index);
    for (std::size_t place = 0; place < ends.size(); ++place) {
      record[sizeof index + place] = static_cast<unsigned char>(kMaxGroupPoints + 1 - place);
    }
    full_groups_.push_back(begin);
    full_groups_.insert(full_groups_.end(), ends.begin(), ends.end());
  }
}

std::uint32_t DensePoints::hash(std::size_t index) const {
  // The last group that does not begin behind the point has it.
  std::size_t low = 0, high = shape_.groups();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (GroupBegin(middle) <= index ? low : high) = middle;
  }
  const unsigned char* const record = Record(low);
  std::size_t place = 0;
  for (;; ++place) {
    const Bucket bucket = BucketAt(record, place);
    if (index < std::size_t{bucket.begin} + bucket.size) break;
  }
  const std::uint64_t bucket = std::uint64_t{low} << group_bits_ | place;
  return static_cast<std::uint32_t>(bucket << low_bits_ |
                                    (Load(index) & point_mask_) >> node_bits_);
}

std::size_t DensePoints::SearchByHalves(Bucket bucket, std::uint64_t wanted) const {
  std::size_t low = std::size_t{bucket.begin} + kWindow;
  std::size_t high = std::size_t{bucket.begin} + bucket.size;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if ((Load(middle) & point_mask_) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace ringshift::internal
