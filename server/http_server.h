// The HTTP port: GET (or HEAD) /metrics, /healthz, /readyz. Every other path is 404, every other
// method 405; nothing changes anything.
//
// It is on the network, so whatever a client sends costs little: one thread serves all connections;
// each answers one request, of which the first line alone is looked at (no ranges, no compression,
// no body), has at most kMaxHeadBytes of it in memory, or one page, and ends after kLifetime. A
// connection above kMaxConnections ends the oldest one: one that is idle, or reads slowly, delays
// nobody.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_SERVER_HTTP_SERVER_H_
#define RINGSHIFT_SERVER_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace ringshift {

class HttpServer {
 public:
  static constexpr std::size_t kMaxConnections = 64;
  static constexpr std::size_t kMaxHeadBytes = 8192;  // request line and headers; above it: 431
  static constexpr std::chrono::seconds kLifetime{30};

  struct Handlers {
    // The text of /metrics; without one it is 503.
    std::function<std::optional<std::string>()> metrics;
    std::function<bool()> is_ready;  // /readyz: 200 or 503
    // What is not as it should be though it is ready, for the text of /readyz; "" or null: nothing.
    std::function<std::string()> remark = nullptr;
  };

  // Listens and answers. Errors: those of Listen. `handlers` are called from one thread, which
  // answers nobody meanwhile.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const ListenAddress& address,
                                                           Handlers handlers);
  // Stops at once.
  ~HttpServer();

  // Where it listens, with the port that it really has.
  const ListenAddress& address() const { return address_; }

  // Takes no more requests, finishes the answers that have begun, by `deadline`, and closes the
  // port.
  void Stop(std::chrono::steady_clock::time_point deadline);

 private:
  class Loop;

  HttpServer(ListenAddress address, std::unique_ptr<Loop> loop);

  const ListenAddress address_;
  const std::unique_ptr<Loop> loop_;
  std::thread thread_;  // runs the loop
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_HTTP_SERVER_H_
