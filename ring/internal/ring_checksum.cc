#include "ring/internal/ring_checksum.h"

#include <bit>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ringshift::internal {

struct RingChecksum::State {
  XXH3_state_t xxh3;
};

RingChecksum::RingChecksum(const NodeSet& nodes, std::uint64_t point_count)
    : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh3);
  AddNumber(nodes.size());
  for (const RingNode& node : nodes.nodes()) {
    const std::string& identity = node.identity.bytes();
    AddNumber(identity.size());
    Flush();
    XXH3_64bits_update(&state_->xxh3, identity.data(), identity.size());
    AddNumber(node.weight);
  }
  AddNumber(point_count);
}

RingChecksum::~RingChecksum() = default;

std::uint64_t RingChecksum::Finish() {
  Flush();
  return XXH3_64bits_digest(&state_->xxh3);
}

void RingChecksum::Flush() {
  if constexpr (std::endian::native == std::endian::big) {
    for (std::size_t i = 0; i < used_; ++i) numbers_[i] = __builtin_bswap64(numbers_[i]);
  }
  XXH3_64bits_update(&state_->xxh3, numbers_.data(), used_ * sizeof numbers_[0]);
  used_ = 0;
}

}  // namespace ringshift::internal
