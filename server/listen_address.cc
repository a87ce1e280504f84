#include "server/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace ringshift {
namespace {

absl::Status Malformed(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError("\"" + std::string(text) +
                                    "\" is not HOST:PORT or [IPV6]:PORT: " + std::string(why));
}

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<AddressList> Resolve(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::InvalidArgumentError("cannot listen on " + address.ToString() + ": " +
                                      ::gai_strerror(error));
  }
  return AddressList(list, ::freeaddrinfo);
}

// None, with errno, if it cannot be had.
UniqueFd Bind(const addrinfo& info) {
  UniqueFd fd(
      ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info.ai_protocol));
  if (fd.get() < 0) return fd;
  const int on = 1;
  // Connections of an earlier process that are still closing are no obstacle. SO_REUSEPORT would
  // let a second process share the port.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), info.ai_addr, info.ai_addrlen) == 0) return fd;
  const int error = errno;
  fd = UniqueFd();
  errno = error;
  return fd;
}

// The port of a bound socket; 0 if the system does not tell.
int PortOf(const UniqueFd& fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

}  // namespace

absl::StatusOr<ListenAddress> ListenAddress::Parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text, "it has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Malformed(text, "an IPv6 address needs brackets");
  }
  if (host.empty()) return Malformed(text, "the host is empty (0.0.0.0 is every interface)");
  ListenAddress address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 ||
      address.port > 65535) {
    return Malformed(text, "the port must be 0 to 65535");
  }
  return address;
}

std::string ListenAddress::ToString() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ListenAddress::IsLoopback() const {
  in_addr ipv4{};
  if (::inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return ntohl(ipv4.s_addr) >> 24 == 127;
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1) return IN6_IS_ADDR_LOOPBACK(&ipv6);
  return host == "localhost";
}

absl::Status CheckFree(const ListenAddress& address) {
  absl::StatusOr<AddressList> list = Resolve(address);
  if (!list.ok()) return list.status();

  // A name may have addresses of a family that the machine lacks: one good address is enough, but a
  // port that is taken on any of them is taken.
  int worst = 0;
  bool any = false;
  for (const addrinfo* info = list->get(); info != nullptr; info = info->ai_next) {
    const int bind_error = Bind(*info).get() >= 0 ? 0 : errno;
    any = any || bind_error == 0;
    if (bind_error == EADDRINUSE || worst == 0) worst = bind_error;
  }
  if (any && worst != EADDRINUSE) return absl::OkStatus();
  const std::string message = "cannot listen on " + address.ToString() + ": ";
  switch (worst) {
    case EADDRINUSE:
      return absl::AlreadyExistsError(
          message + "the port is in use; stop the other process or choose another port");
    case EACCES:
      return absl::PermissionDeniedError(message + std::strerror(worst) +
                                         "; ports below 1024 need CAP_NET_BIND_SERVICE");
    default:
      return absl::UnavailableError(message + std::strerror(worst));
  }
}

absl::StatusOr<UniqueFd> Listen(ListenAddress& address) {
  if (absl::Status free = CheckFree(address); !free.ok()) return free;
  absl::StatusOr<AddressList> list = Resolve(address);
  if (!list.ok()) return list.status();
  int error = 0;
  for (const addrinfo* info = list->get(); info != nullptr; info = info->ai_next) {
    UniqueFd fd = Bind(*info);
    if (fd.get() >= 0 && ::listen(fd.get(), SOMAXCONN) == 0) {
      address.port = PortOf(fd);
      return fd;
    }
    error = errno;
  }
  return absl::UnavailableError("cannot listen on " + address.ToString() + ": " +
                                std::strerror(error));
}

}  // namespace ringshift
