// How long rings will take to build on this machine, told from a small one.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_BUILD_ESTIMATE_H_
#define RINGSHIFT_CLIENT_RINGCTL_BUILD_ESTIMATE_H_

#include <chrono>
#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "ring/ring.h"

namespace ringshift {

class BuildEstimate {
 public:
  // The time that a ring of so many points will take, within a factor of about two. The first call
  // for a layout builds a sample, in tenths of a second and up to 16 MiB. Errors: those of
  // Ring::Build.
  absl::StatusOr<std::chrono::duration<double>> For(std::uint64_t points, RingLayout layout);

 private:
  std::map<RingLayout, std::chrono::duration<double>> for_a_point_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_BUILD_ESTIMATE_H_
