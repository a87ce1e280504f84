// absl::Status as it leaves the process.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_STATUS_H_
#define RINGSHIFT_SERVER_STATUS_H_

#include <grpcpp/support/status.h>

#include <cstddef>

#include "absl/status/status.h"

namespace ringshift {

// A longer message would not fit the 8 KiB of metadata that clients take, and the call would fail
// with another code than ours.
inline constexpr std::size_t kMaxStatusMessageBytes = 2048;

// The same code, and the message, cut to kMaxStatusMessageBytes.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_STATUS_H_
