// Lies between one client and a server and counts what HTTP/2 says about the connection itself.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_TESTS_TESTING_HTTP2_TAP_H_
#define RINGSHIFT_TESTS_TESTING_HTTP2_TAP_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ringshift::testing {

class Http2Tap {
 public:
  // Listens at once. `server` is 127.0.0.1:PORT.
  explicit Http2Tap(const std::string& server)
      : server_port_(std::stoi(server.substr(server.rfind(':') + 1))),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at = Loopback(0);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~Http2Tap() {
    {
      std::lock_guard lock(mutex_);
      for (const int fd : fds_) ::shutdown(fd, SHUT_RDWR);
      ::shutdown(listener_, SHUT_RDWR);
    }
    acceptor_.join();
    for (std::thread& pump : pumps_) pump.join();
    for (const int fd : fds_) ::close(fd);
    ::close(listener_);
  }
  Http2Tap(const Http2Tap&) = delete;
  Http2Tap& operator=(const Http2Tap&) = delete;

  const std::string& address() const { return address_; }

  // The connections that are there now stay open and carry nothing any more.
  void Mute() {
    std::lock_guard lock(mutex_);
    muted_ = connections_;
  }

  // Waits until the client has sent `count` pings of its own.
  void WaitForPings(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pings_ >= count; });
  }
  // Waits until the server has sent the client away.
  void WaitForGoAway() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return go_aways_ > 0; });
  }
  int go_aways() {
    std::lock_guard lock(mutex_);
    return go_aways_;
  }
  int connections() {
    std::lock_guard lock(mutex_);
    return connections_;
  }

 private:
  // Reads a direction of a connection, frame by frame.
  class Frames {
   public:
    explicit Frames(std::size_t preface) : skip_(preface) {}

    template <typename OnFrame>  // void(type, flags)
    void Read(std::string_view bytes, OnFrame on_frame) {
      while (!bytes.empty()) {
        const std::size_t skipped = std::min(skip_, bytes.size());
        skip_ -= skipped;
        bytes.remove_prefix(skipped);
        while (skip_ == 0 && have_ < head_.size() && !bytes.empty()) {
          head_[have_++] = static_cast<unsigned char>(bytes.front());
          bytes.remove_prefix(1);
        }
        if (have_ < head_.size()) continue;
        on_frame(head_[3], head_[4]);
        skip_ = static_cast<std::size_t>(head_[0] << 16 | head_[1] << 8 | head_[2]);
        have_ = 0;
      }
    }

   private:
    std::size_t skip_;
    std::size_t have_ = 0;
    std::array<unsigned char, 9> head_{};  // length, type, flags, stream
  };

  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  void Accept() {
    for (;;) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in to = Loopback(server_port_);
      EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
      std::lock_guard lock(mutex_);
      ++connections_;
      fds_.insert(fds_.end(), {client, server});
      const int number = connections_;
      pumps_.emplace_back([this, number, client, server] {
        constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        Pump(number, client, server, Frames(kPreface.size()), [this](int type, int flags) {
          if (type == kPing && (flags & kAck) == 0) ++pings_;
        });
      });
      pumps_.emplace_back([this, number, client, server] {
        Pump(number, server, client, Frames(0), [this](int type, int) {
          if (type == kGoAway) ++go_aways_;
        });
      });
    }
  }

  template <typename OnFrame>
  void Pump(int number, int from, int to, Frames frames, OnFrame on_frame) {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::recv(from, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      {
        std::lock_guard lock(mutex_);
        if (number <= muted_) continue;
        frames.Read(std::string_view(buffer, static_cast<std::size_t>(got)), on_frame);
      }
      changed_.notify_all();
      if (::send(to, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) break;
    }
    ::shutdown(to, SHUT_RDWR);
  }

  static constexpr int kPing = 6;
  static constexpr int kAck = 1;
  static constexpr int kGoAway = 7;

  const int server_port_;
  const int listener_;
  std::string address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int pings_ = 0;                   // guarded by mutex_
  int go_aways_ = 0;                // guarded by mutex_
  int connections_ = 0;             // guarded by mutex_
  int muted_ = 0;                   // guarded by mutex_: the first of them
  std::vector<int> fds_;            // guarded by mutex_
  std::vector<std::thread> pumps_;  // of acceptor_, until it has ended
  std::thread acceptor_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_HTTP2_TAP_H_
