// The HTTP port: GET /metrics, /healthz, /readyz. Everything else is 404; nothing changes anything.
//
// A client that reads slowly, or not at all, holds one of kThreads threads and nothing else.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_SERVER_HTTP_SERVER_H_
#define RINGSHIFT_SERVER_HTTP_SERVER_H_

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace httplib {
class Server;
}

namespace ringshift {

class HttpServer {
 public:
  static constexpr std::size_t kThreads = 32;

  struct Handlers {
    std::function<std::string()> metrics;  // the text of /metrics
    std::function<bool()> is_ready;        // /readyz: 200 or 503
  };

  // Listens and answers. Errors: those of CheckFree. `handlers` are called from several threads.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const ListenAddress& address,
                                                           Handlers handlers);
  // Waits for the open connections.
  ~HttpServer();

  // Where it listens, with the port that it really has.
  const ListenAddress& address() const { return address_; }

  // Takes no more connections and waits for the open ones. False if some are still open then.
  bool Stop(std::chrono::steady_clock::time_point deadline);

 private:
  HttpServer(ListenAddress address, std::unique_ptr<httplib::Server> server);

  const ListenAddress address_;
  const std::unique_ptr<httplib::Server> server_;
  bool stopping_ = false;
  std::future<void> finished_;  // its destructor waits
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_HTTP_SERVER_H_
