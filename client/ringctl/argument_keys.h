// Keys that are given as arguments.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_ARGUMENT_KEYS_H_
#define RINGSHIFT_CLIENT_RINGCTL_ARGUMENT_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift {

// INVALID_ARGUMENT if one of `arguments`, which stand before "--", looks like an option.
absl::Status CheckNoOptions(const std::vector<std::string>& arguments);

// The bytes of keys. INVALID_ARGUMENT with the number of the key, from 1, if it is not hex.
absl::StatusOr<std::vector<std::string>> DecodeKeys(const std::vector<std::string>& arguments,
                                                    bool hex);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_ARGUMENT_KEYS_H_
