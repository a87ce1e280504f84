// Amounts of memory, as people write and read them.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_ROUTING_BYTE_SIZE_H_
#define RINGSHIFT_ROUTING_BYTE_SIZE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringshift {

// "8GiB", "512MiB", "64KiB", "1TiB", or bytes: "1000000". INVALID_ARGUMENT unless it is one of
// these and 1 to 2^64-1 bytes. Units of 1,000, and those that some take for 1,000 and others for
// 1,024, are none.
absl::StatusOr<std::uint64_t> ParseByteSize(std::string_view text);

// "1638400104 bytes (1.5 GiB)", "17 bytes".
std::string DescribeBytes(std::uint64_t bytes);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_BYTE_SIZE_H_
