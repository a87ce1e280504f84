#include "migration/decision.h"

// Inlined: most keys are short, and a call into the shared library would cost as much as their
// hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ringshift {

Decision::Decision(std::string_view salt) : seed_(XXH3_64bits(salt.data(), salt.size())) {}

std::uint64_t Decision::Hash(std::string_view key) const {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed_);
}

}  // namespace ringshift
