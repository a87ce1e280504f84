// The ring identity of a node: the bytes `HOST \0 PORT` that decide where its points fall.
//
//   absl::StatusOr<RingIdentity> identity =
//       RingIdentity::Parse("[2001:DB8::0:1]:443", IdentityStyle::kCanonical);
//   identity->bytes();  // "2001:db8::1\0443"
//
// Identities are ordered: IPv4 before IPv6, by address, then by port; names after them, by bytes.
// This is the order of pingora-ketama (Rust's SocketAddr), and it decides ties on a v2 ring.
//
// Thread safety: a value; const methods may be called from any thread.
#ifndef RINGSHIFT_RING_RING_IDENTITY_H_
#define RINGSHIFT_RING_RING_IDENTITY_H_

#include <compare>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringshift {

// How an address becomes an identity. Frozen: a change would move keys.
enum class IdentityStyle {
  // An IP address in canonical text (RFC 5952) without brackets and without its scope id, a host
  // name byte for byte; a port is required, 1 to 65535. The way of pingora-ketama.
  kCanonical,
  // A `server` directive of nginx as written: everything before a trailing `:digits` is the host
  // (an IPv6 address keeps its brackets), the digits are the port; without them the port is empty;
  // of "unix:PATH", in any case, the host is PATH and the port is empty.
  kNginx,
};

class RingIdentity {
 public:
  // INVALID_ARGUMENT if `address` is not of the style's form; the message quotes the address and
  // says what was expected.
  static absl::StatusOr<RingIdentity> Parse(std::string_view address, IdentityStyle style);

  // `HOST \0 PORT`, what is hashed.
  const std::string& bytes() const { return bytes_; }

  // For people: "HOST:PORT", with brackets around an IPv6 address.
  std::string ToString() const;

  friend bool operator==(const RingIdentity& a, const RingIdentity& b) {
    return a.bytes_ == b.bytes_;
  }
  friend std::strong_ordering operator<=>(const RingIdentity& a, const RingIdentity& b);

 private:
  RingIdentity(std::string host, std::string port);

  std::string bytes_;
  std::string order_key_;  // compares by bytes as the order above; empty parts only for names
};

}  // namespace ringshift

#endif  // RINGSHIFT_RING_RING_IDENTITY_H_
