#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ring/internal/bit_writer.h"
#include "ring/internal/build_plan.h"
#include "ring/internal/huge_pages.h"
#include "ring/internal/range_sort.h"
#include "ring/internal/ring_builder.h"
#include "ring/internal/ring_checksum.h"

namespace ringshift::internal {
namespace {

BuildPlan MakePlan(const DenseShape& shape, std::size_t threads) {
  // Groups must not lie across ranges.
  const int max_range_bits = std::min(12, shape.bucket_bits - shape.group_bits);
  return BuildPlan(shape.points, 13, max_range_bits, threads);
}

// A point that is to be sorted: the rest of its hash above its node.
int WordBits(const DenseShape& shape, const BuildPlan& plan) {
  return 32 - plan.range_bits + shape.node_bits;
}
constexpr int kSmallWordBits = 32;

std::size_t WordBytes(const DenseShape& shape, const BuildPlan& plan) {
  return WordBits(shape, plan) <= kSmallWordBits ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
}

// How many words the scratch memory holds: for the ranges that the ring itself has no room for.
std::uint64_t ScratchWords(const DenseShape& shape, const BuildPlan& plan,
                           std::uint64_t largest_range) {
  constexpr std::uint64_t kSmall = 64 << 10;
  const std::uint64_t word_bytes = WordBytes(shape, plan);
  const std::uint64_t bytes = std::max(shape.bytes() / 4, kSmall);
  return std::min(shape.points, std::max(bytes / word_bytes, largest_range));
}

// How many words a thread may place, where nobody reads them, before it begins there again.
std::uint64_t UnreadWords(const DenseShape& shape) {
  constexpr std::uint64_t kMany = 1 << 14;
  static_assert(kMany >= PointChains::kBlock);
  return std::min(shape.points, kMany);
}

// Memory that is left uninitialised.
template <typename Word>
class WordArray {
 public:
  explicit WordArray(std::uint64_t size)
      : words_(std::make_unique_for_overwrite<Word[]>(static_cast<std::size_t>(size))) {
    PreferHugePages(words_.get(), static_cast<std::size_t>(size) * sizeof(Word));
  }
  Word* data() { return words_.get(); }

 private:
  std::unique_ptr<Word[]> words_;
};

template <typename Word>
class DenseBuilder {
 public:
  DenseBuilder(const NodeSet& nodes, const PointChains& chains, RingVersion version,
               const RingBuildOptions& options)
      : nodes_(nodes),
        chains_(chains),
        version_(version),
        shape_(chains.point_count(), nodes.size()),
        plan_(MakePlan(shape_, options.threads)),
        points_(shape_),
        checksum_(nodes, chains.point_count()),
        progress_(options, chains.point_count()),
        counts_(plan_.threads, std::vector<std::uint32_t>(plan_.ranges())),
        next_(plan_.threads, std::vector<Word*>(plan_.ranges())),
        range_begin_(plan_.ranges() + 1),
        range_words_(plan_.ranges()),
        edges_(plan_.ranges()) {}

  BuiltRing<DensePoints> Build() {
    const std::uint64_t largest_range = Count();
    const std::uint64_t scratch_size = ScratchWords(shape_, plan_, largest_range);
    WordArray<Word> scratch(scratch_size);
    std::vector<ThreadSpace> spaces;
    for (std::size_t t = 0; t < plan_.threads; ++t) {
      spaces.emplace_back(UnreadWords(shape_), largest_range, BucketsInRange(),
                          shape_.buckets_in_group());
    }
    for (std::size_t first = 0; first < plan_.ranges();) {
      const std::size_t last = PlanRound(first, scratch.data(), scratch_size);
      Place(first, last, spaces);
      SortAndPack(first, last, spaces);
      first = last;
    }
    std::vector<DensePoints::FullGroup> full_groups;
    for (ThreadSpace& space : spaces) {
      std::move(space.full_groups.begin(), space.full_groups.end(),
                std::back_inserter(full_groups));
    }
    points_.SetFullGroups(full_groups);
    return {std::move(points_), collisions_, checksum_.Finish()};
  }

 private:
  static constexpr double kCountingPart = 0.1;  // of the time of a build, about

  // What a thread places, sorts and packs with.
  struct ThreadSpace {
    ThreadSpace(std::uint64_t unread_words, std::uint64_t largest_range, std::size_t buckets,
                std::size_t group_buckets)
        : unread(unread_words),
          a(largest_range),
          b(largest_range),
          bucket_ends(buckets),
          group_ends(group_buckets) {}

    WordArray<Word> unread;
    WordArray<Word> a;
    WordArray<Word> b;
    std::vector<std::uint32_t> bucket_ends;
    std::vector<std::uint32_t> group_ends;
    std::vector<DensePoints::FullGroup> full_groups;
  };

  std::size_t BucketsInRange() const {
    return std::size_t{1} << (shape_.bucket_bits - plan_.range_bits);
  }
  std::uint64_t BitOf(std::uint64_t point) const {
    return point * static_cast<std::uint64_t>(shape_.point_bits());
  }
  std::uint64_t RangeSize(std::size_t range) const {
    return range_begin_[range + 1] - range_begin_[range];
  }

  // Generates the points of a thread, which is the part of the build from `from` to `to`.
  template <typename Emit>
  void Generate(std::size_t thread, double from, double to, const Emit& emit) {
    const std::uint64_t begin = plan_.FirstPoint(thread), end = plan_.FirstPoint(thread + 1);
    chains_.Generate(begin, end, emit, [&](std::uint64_t done) {
      if (thread + 1 < plan_.threads) return;
      progress_.Report(from +
                       (to - from) * static_cast<double>(done) / static_cast<double>(end - begin));
    });
  }

  // How far the build is when all ranges before this one are there.
  double DoneBefore(std::size_t range) const {
    return kCountingPart +
           (1 - kCountingPart) * static_cast<double>(range) / static_cast<double>(plan_.ranges());
  }

  // Counts the points of every range. Returns the largest range's.
  std::uint64_t Count() {
    RunOnThreads(plan_.threads, [this](std::size_t t) {
      std::uint32_t* const counts = counts_[t].data();
      Generate(t, 0, kCountingPart, [&](std::span<const std::uint32_t> hashes, NodeIndex) {
        const BuildPlan plan = plan_;
        for (const std::uint32_t hash : hashes) ++counts[plan.RangeOf(hash)];
      });
    });
    std::uint64_t largest_range = 0;
    for (std::size_t r = 0; r < plan_.ranges(); ++r) {
      std::uint64_t size = 0;
      for (const auto& counts : counts_) size += counts[r];
      range_begin_[r + 1] = range_begin_[r] + size;
      largest_range = std::max(largest_range, size);
    }
    return largest_range;
  }

  // Finds room for the words of as many ranges from `first` on as there is: in the ring, from where
  // the points of these ranges are going to be, and then in the scratch memory. Returns the range
  // behind the last of them; it is at least one, because the scratch memory holds the largest.
  //
  // A word is no smaller than a point, so the words of a range in the ring begin behind the points
  // of all ranges before it: these can be written when it has been read.
  std::size_t PlanRound(std::size_t first, Word* scratch, std::uint64_t scratch_size) {
    // Behind the byte that has the end of the round before.
    const std::uint64_t begin = (BitOf(range_begin_[first]) / 8 / sizeof(Word) + 1) * sizeof(Word);
    const std::uint64_t ring_size = (std::max(shape_.point_bytes(), begin) - begin) / sizeof(Word);
    std::size_t range = first;
    const auto take = [&](Word* next, std::uint64_t size) {
      for (; range < plan_.ranges() && RangeSize(range) <= size; ++range) {
        size -= RangeSize(range);
        range_words_[range] = next;
        for (std::size_t t = 0; t < plan_.threads; ++t) {
          next_[t][range] = next;
          next += counts_[t][range];
        }
      }
    };
    take(reinterpret_cast<Word*>(points_.data() + begin), ring_size);
    take(scratch, scratch_size);
    return range;
  }

  // Generates all points and places those of the ranges from `first` up to `last`. Those of others
  // come at random: to leave them out would take a branch that no processor could foresee, so they
  // are written too, to where nobody reads them.
  void Place(std::size_t first, std::size_t last, std::vector<ThreadSpace>& spaces) {
    RunOnThreads(plan_.threads, [&, first, last](std::size_t t) {
      Word** const next = next_[t].data();
      Word* const unread = spaces[t].unread.data();
      std::uint64_t unread_left = 0;
      const double from = DoneBefore(first), to = (from + DoneBefore(last)) / 2;
      Generate(t, from, to, [&](std::span<const std::uint32_t> hashes, NodeIndex node) {
        if (unread_left < hashes.size()) {
          std::fill(next, next + first, unread);
          std::fill(next + last, next + plan_.ranges(), unread);
          unread_left = UnreadWords(shape_);
        }
        unread_left -= hashes.size();
        // Copies, of which the compiler knows that no word is written over them.
        const BuildPlan plan = plan_;
        const int node_bits = shape_.node_bits;
        for (const std::uint32_t hash : hashes) {
          const std::size_t range = plan.RangeOf(hash);
          Word* const place = next[range]++;
          PrefetchToWrite(place);
          *place = static_cast<Word>(Word{hash - plan.FirstHash(range)} << node_bits | node);
        }
      });
    });
  }

  void SortAndPack(std::size_t first, std::size_t last, std::vector<ThreadSpace>& spaces) {
    std::atomic<std::size_t> next_range = first;  // only hands out numbers; joining publishes
    RunOnThreads(plan_.threads, [&](std::size_t t) {
      for (std::size_t r; (r = next_range.fetch_add(1, std::memory_order_relaxed)) < last;) {
        const WordFormat<Word> format(shape_.node_bits, plan_.FirstHash(r));
        const auto size = static_cast<std::size_t>(RangeSize(r));
        Word* const words =
            SortByHash<Word>(range_words_[r], spaces[t].a.data(), spaces[t].b.data(), size,
                             shape_.node_bits, 32 - plan_.range_bits);
        collisions_.fetch_add(OrderTies(nodes_, version_, format, words, size),
                              std::memory_order_relaxed);
        turnstile_.Enter(r);
        // All ranges before it have been read now, so its points may be written.
        checksum_.AddPoints(
            size, [&](std::size_t i) { return format.hash(words[i]); },
            [&](std::size_t i) { return format.node(words[i]); });
        turnstile_.Leave(r);
        Pack(r, words, size, spaces[t]);
        if (t + 1 == plan_.threads) {
          progress_.Report((DoneBefore(r) + DoneBefore(last)) / 2);
        }
      }
    });
    JoinEdges(first, last);
  }

  // Writes the bytes in which a range ends and another one begins.
  void JoinEdges(std::size_t first, std::size_t last) {
    // The first of them has the end of the round before.
    const auto byte_of = [this](std::size_t range) {
      return points_.data() + BitOf(range_begin_[range]) / 8;
    };
    const bool has_end_before = BitOf(range_begin_[first]) % 8 != 0;
    for (std::size_t r = first; r <= last; ++r) {
      if (!(has_end_before && byte_of(r) == byte_of(first)) && BitOf(range_begin_[r]) % 8 != 0) {
        *byte_of(r) = 0;
      }
    }
    for (std::size_t r = first; r < last; ++r) {
      *byte_of(r) |= edges_[r].first;
      *byte_of(r + 1) |= edges_[r].last;
    }
  }

  void Pack(std::size_t range, const Word* words, std::size_t size, ThreadSpace& space) {
    const int point_bits = shape_.point_bits();
    const Word point_mask = static_cast<Word>((std::uint64_t{1} << point_bits) - 1);
    const auto bucket_ends = std::span(space.bucket_ends);
    const auto begin = static_cast<std::uint32_t>(range_begin_[range]);
    std::fill(bucket_ends.begin(), bucket_ends.end(), begin);
    BitWriter writer(points_.data(), BitOf(begin));
    for (std::size_t i = 0; i < size; ++i) {
      const Word word = words[i];
      bucket_ends[static_cast<std::size_t>(std::uint64_t{word} >> point_bits)] =
          begin + static_cast<std::uint32_t>(i) + 1;
      const std::uint64_t point = word & point_mask;
      if constexpr (sizeof(Word) > sizeof(std::uint32_t)) {
        const int low_bits = std::min(point_bits, 32);
        writer.Write(point & 0xFFFFFFFF, low_bits);
        writer.Write(point >> low_bits, point_bits - low_bits);
      } else {
        writer.Write(point, point_bits);
      }
    }
    edges_[range] = writer.Finish();

    const std::size_t group_buckets = shape_.buckets_in_group();
    std::size_t group = (range * BucketsInRange()) >> shape_.group_bits;
    std::uint32_t end = begin;
    for (std::size_t bucket = 0; bucket < bucket_ends.size(); bucket += group_buckets, ++group) {
      const std::uint32_t group_begin = end;
      for (std::size_t i = 0; i < group_buckets; ++i) {
        end =
            std::max(end, bucket_ends[bucket + i]);  // a bucket without points has none of its own
        space.group_ends[i] = end;
      }
      if (!points_.SetGroup(group, group_begin, space.group_ends)) {
        space.full_groups.push_back({group, group_begin, space.group_ends});
      }
    }
  }

  const NodeSet& nodes_;
  const PointChains& chains_;
  const RingVersion version_;
  const DenseShape shape_;
  const BuildPlan plan_;
  DensePoints points_;
  RingChecksum checksum_;
  BuildProgress progress_;
  Turnstile turnstile_;
  std::atomic<std::uint64_t> collisions_ = 0;
  std::vector<std::vector<std::uint32_t>> counts_;  // by thread, then by range
  std::vector<std::vector<Word*>> next_;            // where a thread places a range's next point
  std::vector<std::uint64_t> range_begin_;          // the index of the first point
  std::vector<Word*> range_words_;                  // where the points to be sorted are
  std::vector<BitWriter::Edges> edges_;             // what packing a range left to JoinEdges
};

}  // namespace

std::uint64_t DenseScratchBytes(std::size_t nodes, std::uint64_t points) {
  const DenseShape shape(points, nodes);
  const BuildPlan plan = MakePlan(shape, 0);
  const std::uint64_t word_bytes = WordBytes(shape, plan);
  const std::uint64_t buckets = std::uint64_t{1} << (shape.bucket_bits - plan.range_bits);
  const std::uint64_t per_thread = plan.ranges() * (sizeof(std::uint32_t) + sizeof(void*)) +
                                   (UnreadWords(shape) + 2 * plan.LargestRange()) * word_bytes +
                                   (buckets + shape.buckets_in_group()) * sizeof(std::uint32_t) +
                                   kBytesOfAThread;
  return ScratchWords(shape, plan, plan.LargestRange()) * word_bytes + plan.threads * per_thread +
         (plan.ranges() + 1) * (sizeof(std::uint64_t) + sizeof(void*) + sizeof(BitWriter::Edges)) +
         PointChains::Bytes(nodes) + sizeof(RingChecksum);
}

BuiltRing<DensePoints> BuildDense(const NodeSet& nodes, const PointChains& chains,
                                  RingVersion version, const RingBuildOptions& options) {
  const DenseShape shape(chains.point_count(), nodes.size());
  if (WordBits(shape, MakePlan(shape, options.threads)) <= kSmallWordBits) {
    return DenseBuilder<std::uint32_t>(nodes, chains, version, options).Build();
  }
  return DenseBuilder<std::uint64_t>(nodes, chains, version, options).Build();
}

}  // namespace ringshift::internal
