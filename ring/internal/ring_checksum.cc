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
    XXH3_64bits_update(&state_->xxh3, identity.data(), identity.size());
    AddNumber(node.weight);
  }
  AddNumber(point_count);
}

RingChecksum::~RingChecksum() = default;

std::uint64_t RingChecksum::Finish() { return XXH3_64bits_digest(&state_->xxh3); }

void RingChecksum::AddNumbers(std::span<std::uint64_t> numbers) {
  if constexpr (std::endian::native == std::endian::big) {
    for (std::uint64_t& number : numbers) number = __builtin_bswap64(number);
  }
  XXH3_64bits_update(&state_->xxh3, numbers.data(), numbers.size_bytes());
}

}  // namespace ringshift::internal
