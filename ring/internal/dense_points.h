// The points of the layout `dense`: sorted by hash and packed to the bit.
//
// The highest bits of a hash choose its bucket, 4 to 7 points of an even ring in each, so a point
// is only the rest of its hash and its node, in as few bits as they need: 21 for 20 million points
// of 2,048 nodes. Where a bucket begins is two numbers: a byte in the record of its group, a group
// being the buckets of at most 165 points of an even ring, and the group's first point. A group of
// more points than a byte counts, which only a ring that is not even has, keeps whole numbers in a
// table beside.
//
// A search reads the record and then the bucket, so it waits for memory twice however large the
// ring is. A bucket of many points is searched by halves.
//
// Thread safety: immutable once built.
#ifndef RINGSHIFT_RING_INTERNAL_DENSE_POINTS_H_
#define RINGSHIFT_RING_INTERNAL_DENSE_POINTS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace ringshift::internal {

// How the bits of a dense ring are divided; it follows from the counts of points and nodes alone.
struct DenseShape {
  // REQUIRES: points is 1 to 2^32 - 1, nodes 1 to 65,536
  DenseShape(std::uint64_t points, std::size_t nodes);

  int point_bits() const { return low_bits + node_bits; }  // 3 to 48
  std::size_t buckets_in_group() const { return std::size_t{1} << group_bits; }
  std::size_t groups() const { return std::size_t{1} << (bucket_bits - group_bits); }
  std::size_t record_bytes() const { return sizeof(std::uint32_t) + buckets_in_group(); }
  std::uint64_t record_table_bytes() const { return groups() * record_bytes(); }
  std::uint64_t point_bytes() const;  // with what is read behind the last point
  std::uint64_t bytes() const { return record_table_bytes() + point_bytes(); }

  std::uint64_t points;
  int bucket_bits;  // the highest of a hash
  int low_bits;     // the other ones
  int node_bits;
  int group_bits;  // the lowest of a bucket's number, which choose it in its group
};

class DensePoints {
 public:
  class Cursor;

  // Room for the points, which a builder writes.
  explicit DensePoints(const DenseShape& shape);

  // The members of every layout: see plain_points.h.
  std::size_t size() const { return size_; }
  // Cost: a binary search, where node() is a read.
  std::uint32_t hash(std::size_t index) const;
  std::uint32_t node(std::size_t index) const {
    return static_cast<std::uint32_t>(Load(index) & node_mask_);
  }
  std::size_t FindFirst(std::uint32_t position) const {
    return Finish(BucketOf(position), position);
  }
  template <typename Found>
  void FindFirsts(std::span<const std::uint32_t> positions, const Found& found) const;
  Cursor CursorAtBegin() const;
  Cursor CursorAt(std::uint32_t position, std::size_t index) const;
  std::uint64_t bytes() const {
    return shape_.bytes() + full_groups_.size() * sizeof(full_groups_[0]);
  }

  // For a builder.

  const DenseShape& shape() const { return shape_; }
  // Point i is the bits from i * point_bits() on, the lowest first: its node, then the low bits of
  // its hash. Bytes behind the last point may have any value.
  unsigned char* data() { return points_.get(); }
  // Where a group begins and its buckets end, as indexes of points; ends.size() is
  // buckets_in_group(). Returns false, and does nothing, where it has too many points for bytes:
  // then SetFullGroups takes it. May be called for several groups at the same time.
  bool SetGroup(std::size_t group, std::uint32_t begin, std::span<const std::uint32_t> ends);
  struct FullGroup {
    std::size_t group;
    std::uint32_t begin;
    std::vector<std::uint32_t> ends;
  };
  // All of them at once.
  void SetFullGroups(std::span<const FullGroup> groups);

 private:
  // The points whose hashes have the same high bits.
  struct Bucket {
    std::uint32_t begin;
    std::uint32_t size;
  };

  static constexpr std::uint32_t kMaxGroupPoints = 254;
  static constexpr std::uint32_t kWindow = 8;  // points that are compared at once

  // A record is the index of the group's first point, then where each bucket ends, from there on.
  // One of a full group is the index of its numbers in full_groups_, then bytes with which every
  // bucket is larger than kMaxGroupPoints: 255, 254, 253, ...
  const unsigned char* Record(std::size_t group) const {
    return records_.get() + group * record_bytes_;
  }
  static bool IsFull(const unsigned char* record) {
    return record[sizeof(std::uint32_t)] > kMaxGroupPoints;
  }
  static std::uint32_t LoadIndex(const unsigned char* record) {
    std::uint32_t index;
    std::memcpy(&index, record, sizeof index);
    return index;
  }

  Bucket BucketAt(const unsigned char* record, std::size_t place) const {
    const unsigned char* const ends = record + sizeof(std::uint32_t);
    const std::uint32_t before = place == 0 ? 0 : ends[place - 1];
    const std::uint32_t size = ends[place] - before;
    const std::uint32_t index = LoadIndex(record);
    if (size > kMaxGroupPoints) [[unlikely]]
      return BucketOfFullGroup(index, place);
    return {index + before, size};
  }
  Bucket BucketOf(std::uint32_t position) const {
    const std::uint64_t bucket = std::uint64_t{position} >> low_bits_;
    return BucketAt(Record(static_cast<std::size_t>(bucket >> group_bits_)),
                    static_cast<std::size_t>(bucket) & place_mask_);
  }
  Bucket BucketOfFullGroup(std::uint32_t index, std::size_t place) const {
    const std::uint32_t begin = full_groups_[index + place];
    return {begin, full_groups_[index + place + 1] - begin};
  }
  std::uint32_t GroupBegin(std::size_t group) const {
    const unsigned char* const record = Record(group);
    const std::uint32_t index = LoadIndex(record);
    return IsFull(record) ? full_groups_[index] : index;
  }

  // The 64 bits from `bit` on of which at least 57 are right; a point needs no more than 48.
  std::uint64_t LoadBits(std::uint64_t bit) const {
    std::uint64_t bits;
    std::memcpy(&bits, points_.get() + (bit >> 3), sizeof bits);
    if constexpr (std::endian::native == std::endian::big) bits = __builtin_bswap64(bits);
    return bits >> (bit & 7);
  }
  // A point, with any bits above it.
  std::uint64_t Load(std::size_t index) const {
    return LoadBits(std::uint64_t{index} * point_bits_);
  }

  // The index of the first point of the bucket that is not before the position; where that is none,
  // it is in a later bucket, and so the next one. 0 behind the last.
  std::size_t Finish(Bucket bucket, std::uint32_t position) const {
    // As a point without its node.
    const std::uint64_t wanted = (std::uint64_t{position} & low_mask_) << node_bits_;
    // Counts without a branch, which no processor could foresee, and past the bucket's end if it
    // has fewer points.
    std::uint32_t not_before = 1u << std::min(bucket.size, kWindow);
    std::uint64_t bit = std::uint64_t{bucket.begin} * point_bits_;
    for (std::uint32_t i = 0; i < kWindow; ++i, bit += point_bits_) {
      not_before |= std::uint32_t{(LoadBits(bit) & point_mask_) >= wanted} << i;
    }
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(not_before));
    std::size_t found = std::size_t{bucket.begin} + rank;
    if (rank == kWindow && bucket.size > kWindow) [[unlikely]] {
      found = SearchByHalves(bucket, wanted);
    }
    return found == size_ ? 0 : found;
  }
  std::size_t SearchByHalves(Bucket bucket, std::uint64_t wanted) const;

  // What a search needs of the shape, beside each other.
  std::unique_ptr<unsigned char[]> points_;
  std::unique_ptr<unsigned char[]> records_;
  std::size_t size_;
  std::size_t record_bytes_;
  std::size_t place_mask_;
  std::uint64_t point_mask_;
  std::uint64_t low_mask_;
  std::uint64_t node_mask_;
  std::uint32_t point_bits_;
  std::uint32_t low_bits_;
  std::uint32_t node_bits_;
  std::uint32_t group_bits_;
  // For each full group, where it begins and then where each of its buckets ends.
  std::vector<std::uint32_t> full_groups_;
  DenseShape shape_;
};

class DensePoints::Cursor {
 public:
  Cursor(const DensePoints& points, std::uint32_t position, std::size_t index)
      : points_(points),
        index_(index),
        next_bucket_(static_cast<std::size_t>(std::uint64_t{position} >> points.low_bits_)) {
    NextBucket();
    Load();
  }

  bool AtEnd() const { return index_ == points_.size_; }
  // REQUIRES: !AtEnd()
  std::uint32_t hash() const {
    return high_ | static_cast<std::uint32_t>((point_ & points_.point_mask_) >> points_.node_bits_);
  }
  std::uint32_t node() const { return static_cast<std::uint32_t>(point_ & points_.node_mask_); }
  void Next() {
    ++index_;
    Load();
  }

 private:
  void Load() {
    while (index_ == bucket_end_ && index_ != points_.size_) NextBucket();
    point_ = points_.Load(index_);
  }
  void NextBucket() {
    const Bucket bucket = points_.BucketAt(points_.Record(next_bucket_ >> points_.group_bits_),
                                           next_bucket_ & points_.place_mask_);
    bucket_end_ = std::size_t{bucket.begin} + bucket.size;
    high_ = static_cast<std::uint32_t>(std::uint64_t{next_bucket_} << points_.low_bits_);
    ++next_bucket_;
  }

  const DensePoints& points_;
  std::size_t index_;
  std::uint64_t point_ = 0;
  std::uint32_t high_ = 0;  // bits of the hashes in the bucket
  std::size_t bucket_end_ = 0;
  std::size_t next_bucket_;
};

inline DensePoints::Cursor DensePoints::CursorAtBegin() const { return CursorAt(0, 0); }

inline DensePoints::Cursor DensePoints::CursorAt(std::uint32_t position, std::size_t index) const {
  return Cursor(*this, position, index);
}

template <typename Found>
void DensePoints::FindFirsts(std::span<const std::uint32_t> positions, const Found& found) const {
  constexpr std::size_t kGroup = 64;  // more reads than a core can wait for at once
  std::array<Bucket, kGroup> buckets;
  for (std::size_t begin = 0; begin < positions.size(); begin += kGroup) {
    const auto group = positions.subspan(begin, std::min(kGroup, positions.size() - begin));
    for (const std::uint32_t position : group) {
      const std::uint64_t bucket = std::uint64_t{position} >> low_bits_;
      const unsigned char* const record = Record(static_cast<std::size_t>(bucket >> group_bits_));
      __builtin_prefetch(record);
      __builtin_prefetch(record + record_bytes_ - 1);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      buckets[i] = BucketOf(group[i]);
      const unsigned char* const points =
          points_.get() + (std::uint64_t{buckets[i].begin} * point_bits_ >> 3);
      __builtin_prefetch(points);
      __builtin_prefetch(points + (kWindow * point_bits_ >> 3));
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      found(begin + i, Finish(buckets[i], group[i]));
    }
  }
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_DENSE_POINTS_H_
