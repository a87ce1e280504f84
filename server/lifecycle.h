// Where the router is between its start and its end. It only moves forward.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_LIFECYCLE_H_
#define RINGSHIFT_SERVER_LIFECYCLE_H_

#include <atomic>

#include "absl/status/status.h"

namespace ringshift {

enum class Phase {
  kStarting,  // listeners are up; rings and state are not all there; nothing is answered
  kServing,
  kDraining,  // calls are still answered, but health says NOT_SERVING
  kRefusing,  // calls that still come are refused
};

class Lifecycle {
 public:
  Phase phase() const { return phase_.load(std::memory_order_acquire); }

  // What a call gets: OK, or UNAVAILABLE where the phase is kStarting or kRefusing.
  absl::Status CheckAnswering() const;

  // kStarting to kServing: publishes everything that was made ready before. False, and nothing
  // happens, from any other phase.
  bool StartServing();

  // kServing to kDraining. False, and nothing happens, from any other phase.
  bool StartDraining();

  // From any phase to kRefusing.
  void StartRefusing();

  // Returns when the phase is kDraining. REQUIRES: it is not kStarting.
  void WaitUntilDraining() const;

 private:
  std::atomic<Phase> phase_{Phase::kStarting};
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_LIFECYCLE_H_
