// The addresses of routers that a client takes.
//
// Thread safety: a pure function.
#ifndef RINGSHIFT_CLIENT_ROUTER_ADDRESS_H_
#define RINGSHIFT_CLIENT_ROUTER_ADDRESS_H_

#include <string>

#include "absl/status/status.h"

namespace ringshift {

// INVALID_ARGUMENT unless `address` is HOST:PORT, [IPv6]:PORT or unix:PATH. Without a port gRPC
// would take 443, silently.
absl::Status CheckRouterAddress(const std::string& address);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_ROUTER_ADDRESS_H_
