// A TCP connection to a port of this machine, byte by byte.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_TESTING_RAW_CONNECTION_H_
#define RINGSHIFT_TESTS_TESTING_RAW_CONNECTION_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringshift::testing {

class RawConnection {
 public:
  // With the smallest receive buffer that there is, so that what is not read is soon not sent.
  explicit RawConnection(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int smallest = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~RawConnection() { ::close(fd_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // False if the other side has closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Waits for `size` bytes; fewer only where the other side closes.
  std::string Receive(std::size_t size) {
    std::string received(size, '\0');
    std::size_t at = 0;
    while (at < size) {
      const ssize_t got = ::recv(fd_, received.data() + at, size - at, 0);
      if (got <= 0) break;
      at += static_cast<std::size_t>(got);
    }
    received.resize(at);
    return received;
  }

  // All until the other side closes.
  std::string ReceiveAll() {
    std::string all;
    for (std::string part = Receive(1); !part.empty(); part = Receive(65'536)) all += part;
    return all;
  }

  // Whether the other side has closed already. REQUIRES: all that it sent is received.
  bool IsClosed() const {
    char byte = 0;
    const ssize_t got = ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

 private:
  const int fd_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_RAW_CONNECTION_H_
