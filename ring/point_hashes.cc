#include "ring/point_hashes.h"

#include "ring/crc32.h"
#include "ring/internal/point_chains.h"
#include "ring/node_set.h"

namespace ringshift {

std::uint64_t PointCount(const RingIdentity& identity, std::uint32_t weight,
                         std::uint32_t points_per_weight) {
  if (HasStuckChain(identity)) return weight > 0 ? 1 : 0;
  return std::uint64_t{weight} * points_per_weight;
}

void ForEachPointHash(const RingIdentity& identity, PointNumbers numbers,
                      const std::function<void(std::uint32_t)>& found) {
  const std::uint32_t state = internal::Crc32Extend(0xFFFFFFFF, identity.bytes());
  std::uint32_t hash = internal::HashAfter(state, numbers.begin);
  for (std::uint64_t number = numbers.begin; number < numbers.end; ++number) {
    hash = internal::Crc32OfStateThenWord(state, hash);
    found(hash);
  }
}

}  // namespace ringshift
