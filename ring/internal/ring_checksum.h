// XXH3 over what decides a ring's owners.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_RING_INTERNAL_RING_CHECKSUM_H_
#define RINGSHIFT_RING_INTERNAL_RING_CHECKSUM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ring/node_set.h"

namespace ringshift::internal {

// Compared between routers, of other versions and machines too: the rule is frozen. It is fed with
// numbers of eight bytes, the lowest first: the nodes, each with its identity (how many bytes, then
// these) and weight; how many points; then the points in order of (hash, tie rule).
class RingChecksum {
 public:
  RingChecksum(const NodeSet& nodes, std::uint64_t point_count);
  ~RingChecksum();

  // The next `count` points: their hashes are hash(0) and so on, their nodes node(0) and so on.
  template <typename Hash, typename Node>
  void AddPoints(std::size_t count, const Hash& hash, const Node& node) {
    // On the stack: the next points may come from another thread.
    std::array<std::uint64_t, 512> numbers;
    for (std::size_t begin = 0; begin < count; begin += numbers.size()) {
      const std::size_t size = std::min(count - begin, numbers.size());
      for (std::size_t i = 0; i < size; ++i) {
        numbers[i] = std::uint64_t{node(begin + i)} << 32 | hash(begin + i);
      }
      AddNumbers(std::span(numbers).first(size));
    }
  }
  std::uint64_t Finish();

 private:
  struct State;

  void AddNumber(std::uint64_t number) { AddNumbers({&number, 1}); }
  void AddNumbers(std::span<std::uint64_t> numbers);  // may change them

  std::unique_ptr<State> state_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RING_CHECKSUM_H_
