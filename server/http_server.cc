#include "server/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

namespace ringshift {
namespace {

// Each is for one read or write, not for a request.
constexpr std::chrono::seconds kReadTimeout{5};
constexpr std::chrono::seconds kWriteTimeout{5};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const ListenAddress& address,
                                                              Handlers handlers) {
  if (absl::Status free = CheckFree(address); !free.ok()) return free;
  auto server = std::make_unique<httplib::Server>();
  // Not the library's default, which lets a second process share the port.
  server->set_socket_options([](socket_t fd) {
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  server->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server->set_read_timeout(kReadTimeout);
  server->set_write_timeout(kWriteTimeout);
  server->set_payload_max_length(1024);
  // An idle connection would hold a thread; a new one for each scrape costs nothing that matters.
  server->set_keep_alive_max_count(1);

  server->Get("/metrics", [metrics = std::move(handlers.metrics)](const httplib::Request&,
                                                                  httplib::Response& response) {
    response.set_content(metrics(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server->Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  server->Get("/readyz", [is_ready = std::move(handlers.is_ready)](const httplib::Request&,
                                                                   httplib::Response& response) {
    const bool ready = is_ready();
    response.status = ready ? 200 : 503;
    response.set_content(ready ? "ready\n" : "not ready\n", "text/plain");
  });

  ListenAddress listening = address;
  if (address.port == 0) {
    listening.port = server->bind_to_any_port(address.host);
  } else if (!server->bind_to_port(address.host, address.port)) {
    listening.port = -1;
  }
  if (listening.port <= 0) {
    return absl::UnavailableError("cannot listen on " + address.ToString());
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listening), std::move(server)));
}

HttpServer::HttpServer(ListenAddress address, std::unique_ptr<httplib::Server> server)
    : address_(std::move(address)), server_(std::move(server)) {
  finished_ = std::async(std::launch::async, [this] { server_->listen_after_bind(); });
  // The library ignores a stop() that comes before it runs.
  while (!server_->is_running() &&
         finished_.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
  }
}

HttpServer::~HttpServer() { Stop(std::chrono::steady_clock::now()); }

bool HttpServer::Stop(std::chrono::steady_clock::time_point deadline) {
  if (!std::exchange(stopping_, true)) server_->stop();
  return finished_.wait_until(deadline) == std::future_status::ready;
}

}  // namespace ringshift
