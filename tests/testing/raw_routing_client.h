// A client of RoutingService that does what HTTP/2 allows and no gRPC library does: it lets the
// server send no answer, since its windows are of 0 bytes, and leaves requests unfinished.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_TESTING_RAW_ROUTING_CLIENT_H_
#define RINGSHIFT_TESTS_TESTING_RAW_ROUTING_CLIENT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tests/testing/raw_connection.h"

namespace ringshift::testing {

class RawRoutingClient {
 public:
  explicit RawRoutingClient(int port) : connection_(port) {
    const std::string window_of_zero("\0\4\0\0\0\0", 6);
    connection_.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, window_of_zero));
    while (!is_ready_ && Read()) {
    }
  }

  // Makes a call, and returns once the server would send its answer or has refused to. A connection
  // that the server closes is a test failure.
  void Route(const std::string& data_center, const std::string& key) {
    const std::string request = "\x0A" + Prefixed(data_center) + "\x12" + Prefixed(key);
    // In one piece, which the system does not hold back.
    connection_.Send(Headers("Route") +
                     Frame(kData, kEndStream, next_stream_,
                           BigEndian(0, 1) + BigEndian(request.size(), 4) + request));
    next_stream_ += 2;
    const int before = headers_;
    while (headers_ == before) {
      if (!Read()) FAIL() << "the server closed the connection";
    }
  }

  // Begins a RouteBatch, sends of it what the server's windows take at once, but not all, and waits
  // until the server has that, or has closed the connection. REQUIRES: it is the first call.
  void SendPartOfABatch() {
    connection_.Send(Headers("RouteBatch"));
    constexpr std::size_t kMaxFrame = 16'384;
    constexpr std::size_t kMessage = std::size_t{4} << 20;
    const std::size_t size = std::min({kMessage, stream_window_, connection_window_});
    std::string part = BigEndian(0, 1) + BigEndian(kMessage, 4);
    part.resize(size, '\0');
    for (std::size_t at = 0; at < size; at += kMaxFrame) {
      connection_.Send(Frame(kData, 0, next_stream_, part.substr(at, kMaxFrame)));
    }
    next_stream_ += 2;
    connection_.Send(Frame(kPing, 0, 0, std::string(8, 'p')));
    while (pings_acknowledged_ == 0 && Read()) {
    }
  }

  // Waits until the server has given up one of the calls.
  void WaitForReset() {
    while (resets_ == 0) {
      if (!Read()) FAIL() << "the server closed the connection";
    }
  }

 private:
  static std::string BigEndian(std::size_t value, int bytes) {
    std::string text;
    while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes) & 0xFF);
    return text;
  }
  static std::size_t Number(const std::string& text, std::size_t at, std::size_t bytes) {
    std::size_t value = 0;
    for (const char byte : text.substr(at, bytes)) {
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
  }
  // Length, below 127, and text.
  static std::string Prefixed(std::string_view text) {
    return BigEndian(text.size(), 1) + std::string(text);
  }
  static std::string Frame(int type, int flags, std::uint32_t stream, const std::string& payload) {
    std::string frame = BigEndian(payload.size(), 3);
    frame += static_cast<char>(type);
    frame += static_cast<char>(flags);
    return frame + BigEndian(stream, 4) + payload;
  }
  std::string Headers(const std::string& method) const {
    std::string headers;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", "/ringshift.v1.RoutingService/" + method},
                                      {":authority", "router"},
                                      {"content-type", "application/grpc"},
                                      {"te", "trailers"}}) {
      headers += '\0';  // a literal that is not indexed
      headers += Prefixed(name) + Prefixed(value);
    }
    return Frame(kHeaders, kEndHeaders, next_stream_, headers);
  }

  // Takes the next frame. False if the server closes instead.
  bool Read() {
    const std::string head = connection_.Receive(9);
    if (head.size() < 9) return false;
    const std::size_t size = Number(head, 0, 3);
    const std::string payload = connection_.Receive(size);
    const bool is_ack = (head[4] & kAck) != 0;
    switch (head[3]) {
      case kHeaders:
        ++headers_;
        break;
      case kReset:
        ++resets_;
        break;
      case kSettings:
        if (is_ack) {
          is_ready_ = true;
        } else {
          for (std::size_t at = 0; at + 6 <= size; at += 6) {
            if (Number(payload, at, 2) == kInitialWindow) {
              stream_window_ = Number(payload, at + 2, 4);
            }
          }
          connection_.Send(Frame(kSettings, kAck, 0, ""));
        }
        break;
      case kPing:
        if (is_ack) {
          ++pings_acknowledged_;
        } else {
          connection_.Send(Frame(kPing, kAck, 0, payload));
        }
        break;
      case kWindowUpdate:
        if (Number(head, 5, 4) == 0) connection_window_ += Number(payload, 0, 4);
        break;
    }
    return true;
  }

  static constexpr int kData = 0;
  static constexpr int kHeaders = 1;
  static constexpr int kReset = 3;
  static constexpr int kSettings = 4;
  static constexpr int kPing = 6;
  static constexpr int kWindowUpdate = 8;
  static constexpr std::size_t kInitialWindow = 4;  // among the settings
  static constexpr int kEndStream = 1;
  static constexpr int kAck = 1;
  static constexpr int kEndHeaders = 4;

  RawConnection connection_;
  std::uint32_t next_stream_ = 1;
  int headers_ = 0;  // received, and so on
  int resets_ = 0;
  int pings_acknowledged_ = 0;
  bool is_ready_ = false;  // both sides have each other's settings
  // What the server takes.
  std::size_t connection_window_ = 65'535;
  std::size_t stream_window_ = 65'535;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_RAW_ROUTING_CLIENT_H_
