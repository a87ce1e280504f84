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
#include <string_view>

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
    for (std::size_t i = 0; i < count;) {
      const std::size_t end = std::min(count, i + numbers_.size() - used_);
      std::uint64_t* next = numbers_.data() + used_;
      used_ += end - i;
      for (; i < end; ++i) *next++ = std::uint64_t{node(i)} << 32 | hash(i);
      if (used_ == numbers_.size()) Flush();
    }
  }
  std::uint64_t Finish();

 private:
  struct State;

  void AddNumber(std::uint64_t number) {
    numbers_[used_++] = number;
    if (used_ == numbers_.size()) Flush();
  }
  void Flush();

  std::unique_ptr<State> state_;
  std::array<std::uint64_t, 1024> numbers_;
  std::size_t used_ = 0;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_RING_CHECKSUM_H_
