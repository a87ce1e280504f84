// Where a listener listens.
//
// Thread safety: a value; pure functions.
#ifndef RINGSHIFT_SERVER_LISTEN_ADDRESS_H_
#define RINGSHIFT_SERVER_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/unique_fd.h"

namespace ringshift {

struct ListenAddress {
  std::string host;  // a name or an IP address, without brackets
  int port = 0;      // 0 to 65535; 0 lets the system choose

  // Reads "HOST:PORT" or "[IPV6]:PORT". INVALID_ARGUMENT quotes the text and says what was
  // expected.
  static absl::StatusOr<ListenAddress> Parse(std::string_view text);

  // "HOST:PORT", with brackets around an IPv6 address.
  std::string ToString() const;

  // Whether only this machine can connect to it.
  bool IsLoopback() const;
};

// Whether a listener could have the address now; what libraries say when they cannot is less clear.
//
// INVALID_ARGUMENT   the host is not known.
// ALREADY_EXISTS     the port is in use.
// PERMISSION_DENIED  the port needs privileges.
// UNAVAILABLE        anything else, for example an address that this machine does not have.
absl::Status CheckFree(const ListenAddress& address);

// A non-blocking TCP listener on the first address of the host that can be had. Puts the port that
// it really has into `address`. Errors: those of CheckFree.
absl::StatusOr<UniqueFd> Listen(ListenAddress& address);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_LISTEN_ADDRESS_H_
