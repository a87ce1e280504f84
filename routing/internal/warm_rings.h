// Which ring answered a bucket within the warm window.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_ROUTING_INTERNAL_WARM_RINGS_H_
#define RINGSHIFT_ROUTING_INTERNAL_WARM_RINGS_H_

#include <cstdint>

#include "migration/answer_history.h"
#include "migration/decision.h"
#include "ring/ring.h"

namespace ringshift::internal {

inline RingVersion OtherRing(RingVersion version) {
  return version == RingVersion::kV1 ? RingVersion::kV2 : RingVersion::kV1;
}

// Whether it did, at any time of the window.
inline bool Answered(const Warmth& warmth, RingVersion version, std::uint32_t bucket) {
  return version == RingVersion::kV2 ? AnswersV2(bucket, warmth.v2_warm_below)
                                     : !AnswersV2(bucket, warmth.v1_warm_from);
}

// The one that did before nodes first changed within the window; when it began, if none did.
inline RingVersion FirstRing(const Warmth& warmth, std::uint32_t bucket) {
  return AnswersV2(bucket, warmth.first_share) ? RingVersion::kV2 : RingVersion::kV1;
}

}  // namespace ringshift::internal

#endif  // RINGSHIFT_ROUTING_INTERNAL_WARM_RINGS_H_
