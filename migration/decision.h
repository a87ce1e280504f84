// The decision: which of a data center's two rings answers a key.
//
//   Decision decision("ams");                      // the salt
//   bool v2 = AnswersV2(decision.Bucket(key), share);
//
// The rule, `xxh3-ppm-1`:  seed   = XXH3_64bits(salt)
//                          bucket = (XXH3_64bits_withSeed(key, seed) * 1'000'000) >> 64   (128-bit)
//                          v2 answers iff bucket < share in ppm; else v1 does.
//
// It is a contract between every router and client of a fleet and is never changed: another rule
// gets another id. docs/decision.md publishes test vectors. It shares nothing with the hash that
// places keys on a ring: with crc32, or crc32 of a prefix and the key, the first percent would be a
// few nodes' keys.
//
// Guarantees: a pure function of (salt, key, share). Share 0 sends no key to v2, 1'000'000 every
// key. Raising a share only moves keys from v1 to v2, lowering it only moves those back.
//
// Thread safety: immutable, pure. Cost: one XXH3 of the key.
#ifndef RINGSHIFT_MIGRATION_DECISION_H_
#define RINGSHIFT_MIGRATION_DECISION_H_

#include <cstdint>
#include <string_view>

#include "migration/share.h"

namespace ringshift {

inline constexpr std::string_view kDecisionAlgorithm = "xxh3-ppm-1";

class Decision {
 public:
  explicit Decision(std::string_view salt);

  // XXH3_64bits of the salt.
  std::uint64_t seed() const { return seed_; }

  // The decision hash of `key` (any bytes), all 64 bits of it.
  std::uint64_t Hash(std::string_view key) const;

  // The bucket of `key`, 0 to 999'999.
  std::uint32_t Bucket(std::string_view key) const { return BucketOfHash(Hash(key)); }

  // The bucket of a decision hash: monotone, 0 for hash 0 and 999'999 for hash 2^64 - 1.
  static std::uint32_t BucketOfHash(std::uint64_t hash) {
    __extension__ using Uint128 = unsigned __int128;
    return static_cast<std::uint32_t>((Uint128{hash} * 1'000'000) >> 64);
  }

 private:
  std::uint64_t seed_;
};

// True where v2 answers a key of this bucket; everywhere else v1 does.
constexpr bool AnswersV2(std::uint32_t bucket, Share share) {
  return bucket < static_cast<std::uint32_t>(share.ppm());
}

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_DECISION_H_
