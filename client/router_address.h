// The addresses of routers that the client library and ringctl take.
//
// Thread safety: a pure function.
#ifndef RINGSHIFT_CLIENT_ROUTER_ADDRESS_H_
#define RINGSHIFT_CLIENT_ROUTER_ADDRESS_H_

#include <string>

namespace ringshift {

// What to write, for the error of whoever refuses an address.
inline constexpr const char* kRouterAddressForms = "HOST:PORT, [IPv6]:PORT or unix:PATH";

// Whether `address` is of one of these forms. Without a port gRPC would take 443, silently.
bool IsRouterAddress(const std::string& address);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_ROUTER_ADDRESS_H_
