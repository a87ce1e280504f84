#include "server/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "server/log.h"
#include "server/unique_fd.h"

namespace ringshift {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";
constexpr std::string_view kMetricsText = "text/plain; version=0.0.4; charset=utf-8";

// How long to wait where the system has no descriptor for a connection.
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string MakeAnswer(std::string_view status, std::string_view type, std::string_view body,
                       bool with_body = true) {
  std::string answer = "HTTP/1.1 ";
  answer += status;
  answer += "\r\nContent-Type: ";
  answer += type;
  answer += "\r\nContent-Length: " + std::to_string(body.size());
  if (status.starts_with("405")) answer += "\r\nAllow: GET, HEAD";
  answer += "\r\nConnection: close\r\n\r\n";
  if (with_body) answer += body;
  return answer;
}

// `line` is the first of a request, without its end.
std::string Answer(std::string_view line, const HttpServer::Handlers& handlers) {
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == target_end || !line.substr(target_end).starts_with(" HTTP/1.")) {
    return MakeAnswer("400 Bad Request", kPlainText, "not an HTTP/1 request\n");
  }
  const std::string_view method = line.substr(0, method_end);
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::string_view path = target.substr(0, target.find('?'));
  if (path != "/metrics" && path != "/healthz" && path != "/readyz") {
    return MakeAnswer("404 Not Found", kPlainText, "try /metrics, /healthz, /readyz\n",
                      method != "HEAD");
  }
  const bool with_body = method == "GET";
  if (!with_body && method != "HEAD") {
    return MakeAnswer("405 Method Not Allowed", kPlainText, "GET and HEAD only\n");
  }
  if (path == "/healthz") return MakeAnswer("200 OK", kPlainText, "ok\n", with_body);
  if (path == "/metrics") {
    if (const std::optional<std::string> metrics = handlers.metrics()) {
      return MakeAnswer("200 OK", kMetricsText, *metrics, with_body);
    }
  } else if (handlers.is_ready()) {
    const std::string remark = handlers.remark ? handlers.remark() : "";
    return MakeAnswer("200 OK", kPlainText, remark.empty() ? "ready\n" : "ready; " + remark + "\n",
                      with_body);
  }
  return MakeAnswer("503 Service Unavailable", kPlainText, "not ready\n", with_body);
}

// One request and its answer.
class Connection {
 public:
  explicit Connection(UniqueFd fd)
      : fd_(std::move(fd)), deadline_(Clock::now() + HttpServer::kLifetime) {}

  int fd() const { return fd_.get(); }
  short events() const { return state_ == State::kWriting ? POLLOUT : POLLIN; }
  Clock::time_point deadline() const { return deadline_; }
  bool is_writing() const { return state_ == State::kWriting; }

  void EndBy(Clock::time_point deadline) { deadline_ = std::min(deadline_, deadline); }

  // Does what can be done now. False if the connection has come to its end.
  bool Advance(const HttpServer::Handlers& handlers) {
    if (state_ == State::kReading && !Read(handlers)) return false;
    if (state_ == State::kWriting && !Write()) return false;
    return state_ != State::kClosing || Discard();
  }

 private:
  enum class State {
    kReading,
    kWriting,
    kClosing,  // the client has yet to close: to close before it could lose it the answer
  };

  static bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  bool Read(const HttpServer::Handlers& handlers) {
    char buffer[HttpServer::kMaxHeadBytes];
    const ssize_t got =
        ::recv(fd(), buffer, HttpServer::kMaxHeadBytes - text_.size(), MSG_DONTWAIT);
    if (got <= 0) return got < 0 && WouldBlock();
    const std::size_t end_may_begin = text_.size() < 3 ? 0 : text_.size() - 3;
    text_.append(buffer, static_cast<std::size_t>(got));
    if (text_.find("\r\n\r\n", end_may_begin) != std::string::npos) {
      try {
        text_ = Answer(std::string_view(text_).substr(0, text_.find("\r\n")), handlers);
      } catch (const std::exception& error) {
        LogError("HTTP request failed", {{"error", error.what()}});
        text_ = MakeAnswer("500 Internal Server Error", kPlainText, "see the router's log\n");
      }
    } else if (text_.size() == HttpServer::kMaxHeadBytes) {
      text_ = MakeAnswer("431 Request Header Fields Too Large", kPlainText, "too large\n");
    } else {
      return true;
    }
    state_ = State::kWriting;
    return true;
  }

  bool Write() {
    while (sent_ < text_.size()) {
      const ssize_t sent =
          ::send(fd(), text_.data() + sent_, text_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return WouldBlock();
      sent_ += static_cast<std::size_t>(sent);
    }
    text_ = std::string();
    ::shutdown(fd(), SHUT_WR);
    state_ = State::kClosing;
    return true;
  }

  bool Discard() {
    char buffer[HttpServer::kMaxHeadBytes];
    const ssize_t got = ::recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    return got > 0 || (got < 0 && WouldBlock());
  }

  UniqueFd fd_;
  Clock::time_point deadline_;
  State state_ = State::kReading;
  std::string text_;      // of the request, then of the answer
  std::size_t sent_ = 0;  // of the answer
};

}  // namespace

class HttpServer::Loop {
 public:
  Loop(UniqueFd listener, UniqueFd wake, Handlers handlers)
      : listener_(std::move(listener)), wake_(std::move(wake)), handlers_(std::move(handlers)) {}

  // Returns at the latest at the deadline that StopBy gave.
  void Run() {
    while (!is_closed() || !connections_.empty()) {
      const std::vector<pollfd> polled = Poll();
      // Who is here already is served before the next one comes in.
      AdvanceConnections(polled);
      if (polled[kWake].revents != 0) {
        Close();
      } else if (polled[kListener].revents != 0) {
        Accept();
      }
    }
  }

  // Thread-safe; once.
  void StopBy(Clock::time_point deadline) {
    stop_by_.store(deadline);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

 private:
  static constexpr std::size_t kWake = 0;
  static constexpr std::size_t kListener = 1;
  static constexpr std::size_t kFirstConnection = 2;

  // What has happened: in the order above, the connections as in connections_.
  std::vector<pollfd> Poll() {
    const Clock::time_point now = Clock::now();
    Clock::time_point until = Clock::time_point::max();
    // poll() leaves out what is below 0.
    const bool pause = accept_again_ > now;
    std::vector<pollfd> polled = {{is_closed() ? -1 : wake_.get(), POLLIN, 0},
                                  {pause ? -1 : listener_.get(), POLLIN, 0}};
    if (pause) until = accept_again_;
    for (const Connection& connection : connections_) {
      polled.push_back({connection.fd(), connection.events(), 0});
      until = std::min(until, connection.deadline());
    }
    int timeout = -1;
    if (until != Clock::time_point::max()) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - now);
      timeout = static_cast<int>(std::max<std::int64_t>(wait.count(), 0));
    }
    if (::poll(polled.data(), polled.size(), timeout) < 0) {
      for (pollfd& each : polled) each.revents = 0;
    }
    return polled;
  }

  bool is_closed() const { return listener_.get() < 0; }

  // No more requests.
  void Close() {
    listener_ = UniqueFd();
    std::erase_if(connections_, [](const Connection& each) { return !each.is_writing(); });
    for (Connection& connection : connections_) connection.EndBy(stop_by_.load());
  }

  void AdvanceConnections(const std::vector<pollfd>& polled) {
    const Clock::time_point now = Clock::now();
    std::vector<Connection> open;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      if (now >= connection.deadline()) continue;
      const bool ready = polled[kFirstConnection + i].revents != 0;
      if (ready && !connection.Advance(handlers_)) continue;
      if (is_closed() && !connection.is_writing()) continue;
      open.push_back(std::move(connection));
    }
    connections_ = std::move(open);
  }

  void Accept() {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        accept_again_ = Clock::now() + kAcceptPause;
      }
      return;
    }
    if (connections_.size() == kMaxConnections) connections_.erase(connections_.begin());
    connections_.emplace_back(std::move(fd));
  }

  UniqueFd listener_;  // none once the loop was told to stop
  const UniqueFd wake_;
  const Handlers handlers_;
  std::vector<Connection> connections_;  // the oldest first
  Clock::time_point accept_again_ = Clock::time_point::min();
  std::atomic<Clock::time_point> stop_by_{Clock::time_point::max()};
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const ListenAddress& address,
                                                              Handlers handlers) {
  ListenAddress listening = address;
  absl::StatusOr<UniqueFd> listener = Listen(listening);
  if (!listener.ok()) return listener.status();
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (wake.get() < 0) {
    return absl::UnavailableError("cannot listen on " + address.ToString() + ": " +
                                  std::strerror(errno));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(
      std::move(listening),
      std::make_unique<Loop>(*std::move(listener), std::move(wake), std::move(handlers))));
}

HttpServer::HttpServer(ListenAddress address, std::unique_ptr<Loop> loop)
    : address_(std::move(address)), loop_(std::move(loop)), thread_([this] { loop_->Run(); }) {}

HttpServer::~HttpServer() { Stop(Clock::now()); }

void HttpServer::Stop(Clock::time_point deadline) {
  if (!thread_.joinable()) return;
  loop_->StopBy(deadline);
  thread_.join();
}

}  // namespace ringshift
