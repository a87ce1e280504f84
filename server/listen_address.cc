#include "server/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

namespace ringshift {
namespace {

absl::Status Malformed(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError("\"" + std::string(text) +
                                    "\" is not HOST:PORT or [IPV6]:PORT: " + std::string(why));
}

// 0, or the errno of the step that failed.
int TryToBind(const addrinfo& info) {
  const int fd = ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) return errno;
  const int on = 1;
  // As the listeners do: connections of an earlier process that are still closing are no obstacle.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int error = ::bind(fd, info.ai_addr, info.ai_addrlen) == 0 ? 0 : errno;
  ::close(fd);
  return error;
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
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

absl::Status CheckFree(const ListenAddress& address) {
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
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);

  // A name may have addresses of a family that the machine lacks: one good address is enough, but a
  // port that is taken on any of them is taken.
  int worst = 0;
  bool any = false;
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    const int bind_error = TryToBind(*info);
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

}  // namespace ringshift
