// Where a store in etcd is, as people write it.
//
//   etcd://host:port[,host:port...]?prefix=/ringshift/
//
// Thread safety: a value; pure functions.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_ADDRESS_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_ADDRESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ringshift {

struct EtcdAddress {
  std::vector<std::string> endpoints;  // host:port, an IPv6 address in brackets; at least one
  std::string prefix = "/ringshift/";  // of all keys; begins and ends with '/'

  friend bool operator==(const EtcdAddress&, const EtcdAddress&) = default;
};

// As ParseEtcdAddress reads it.
std::string ToText(const EtcdAddress& address);

// INVALID_ARGUMENT quotes what makes no sense, and says what is expected there.
absl::StatusOr<EtcdAddress> ParseEtcdAddress(std::string_view text);

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_ADDRESS_H_
