// Sorts the points of one range of the hash space.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_RING_INTERNAL_RANGE_SORT_H_
#define RINGSHIFT_RING_INTERNAL_RANGE_SORT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift::internal {

// How a range's points are words: a hash above a node, so that they sort by hash, then by node.
// What all hashes of the range have in common may be left out of the words.
template <typename Word>
class WordFormat {
 public:
  // `common_hash`: the bits that are left out, the others 0.
  WordFormat(int node_bits, std::uint32_t common_hash)
      : node_bits_(node_bits), common_hash_(common_hash) {}

  std::uint32_t hash(Word word) const {
    return common_hash_ | static_cast<std::uint32_t>(word >> node_bits_);
  }
  NodeIndex node(Word word) const {
    return static_cast<NodeIndex>(word & ((Word{1} << node_bits_) - 1));
  }
  int node_bits() const { return node_bits_; }

 private:
  int node_bits_;
  std::uint32_t common_hash_;
};

inline constexpr int kMaxDigitBits = 11;

// SortByHash by kDigits digits of `digit_bits` bits, at most kMaxDigitBits.
template <std::size_t kDigits, typename Word>
Word* SortByDigits(const Word* source, Word* a, Word* b, std::size_t size, int shift,
                   int digit_bits) {
  const std::size_t digit_values = std::size_t{1} << digit_bits;
  std::array<std::array<std::uint32_t, 1 << kMaxDigitBits>, kDigits> offsets;
  for (auto& counts : offsets) std::fill_n(counts.begin(), digit_values, 0u);
  for (std::size_t i = 0; i < size; ++i) {
    Word rest = source[i] >> shift;
    for (auto& counts : offsets) {
      ++counts[static_cast<std::size_t>(rest) & (digit_values - 1)];
      rest >>= digit_bits;
    }
  }
  for (auto& next : offsets) {
    std::uint32_t offset = 0;
    for (std::size_t value = 0; value < digit_values; ++value) {
      offset += std::exchange(next[value], offset);
    }
    for (std::size_t i = 0; i < size; ++i) {
      a[next[static_cast<std::size_t>(source[i] >> shift) & (digit_values - 1)]++] = source[i];
    }
    source = a;
    std::swap(a, b);
    shift += digit_bits;
  }
  return b;
}

// Sorts the `size` words at `source` by their `bits` bits from bit `shift` on, words that have
// those equal in any order. Returns where the sorted ones are, which is `a` or `b`, each with room
// for them; `b` may be `source`.
template <typename Word>
Word* SortByHash(const Word* source, Word* a, Word* b, std::size_t size, int shift, int bits) {
  constexpr std::size_t kFewWords = 256;
  if (size <= kFewWords) {
    std::copy_n(source, size, a);
    std::sort(a, a + size);
    return a;
  }
  if (bits <= kMaxDigitBits) return SortByDigits<1>(source, a, b, size, shift, bits);
  if (bits <= 2 * kMaxDigitBits) {
    return SortByDigits<2>(source, a, b, size, shift, (bits + 1) / 2);
  }
  return SortByDigits<3>(source, a, b, size, shift, (bits + 2) / 3);
}

// The key by which v1 orders the nodes that have a point on one hash.
std::uint64_t TieKey(const RingNode& node, std::uint32_t hash);

// Orders every run of equal hashes by the version's rule for ties; returns how many are of several
// nodes.
template <typename Word>
std::uint64_t OrderTies(const NodeSet& nodes, RingVersion version, const WordFormat<Word>& format,
                        Word* words, std::size_t size) {
  const auto has_hash_of_next = [words, node_bits = format.node_bits()](std::size_t i) {
    return (words[i] ^ words[i + 1]) >> node_bits == 0;
  };
  std::uint64_t collisions = 0;
  for (std::size_t begin = 0; begin + 1 < size; ++begin) {
    // Ties are rare: passes over the words by so many of which none has the hash of the next.
    constexpr std::size_t kBlock = 16;
    for (; begin + kBlock < size; begin += kBlock) {
      Word ties = 0;
      for (std::size_t i = begin; i < begin + kBlock; ++i) ties |= Word{has_hash_of_next(i)};
      if (ties != 0) break;
    }
    while (begin + 1 < size && !has_hash_of_next(begin)) ++begin;
    if (begin + 1 >= size) break;
    const std::uint32_t hash = format.hash(words[begin]);
    std::size_t end = begin + 2;
    while (end < size && format.hash(words[end]) == hash) ++end;
    Word* const first = words + begin;
    Word* const last = words + end;
    std::sort(first, last);  // by node, which is the order of the identities
    if (format.node(*first) != format.node(last[-1])) {
      ++collisions;
      if (version == RingVersion::kV1) {
        std::stable_sort(first, last, [&](Word a, Word b) {
          return TieKey(nodes[format.node(a)], hash) < TieKey(nodes[format.node(b)], hash);
        });
      }
    }
    begin = end - 1;
  }
  return collisions;
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RANGE_SORT_H_
