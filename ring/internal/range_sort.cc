#include "ring/internal/range_sort.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ringshift::internal {

std::uint64_t TieKey(const RingNode& node, std::uint32_t hash) {
  const std::string& identity = node.identity.bytes();
  return XXH3_64bits_withSeed(identity.data(), identity.size(), hash);
}

}  // namespace ringshift::internal
