#include "server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/testing/raw_connection.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::RawConnection;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kPage[] = "a_metric 1\n";

// What the system buffers for a client that reads nothing is less.
constexpr std::size_t kMoreThanFitsBetween = 6'000'000;

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = HttpServer::Start({"127.0.0.1", 0}, {[this] { return page_; },  //
                                                       [this] { return ready_.load(); }});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", port());
  }

  int port() const { return server_->address().port; }

  // The whole answer to these bytes.
  std::string Answer(const std::string& request) {
    RawConnection connection(port());
    EXPECT_TRUE(connection.Send(request));
    return connection.ReceiveAll();
  }

  std::optional<std::string> page_ = kPage;
  std::atomic<bool> ready_{false};
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpServerTest, MetricsAreText) {
  const auto result = client_->Get("/metrics");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, kPage);
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(HttpServerTest, WhereThereAreNoMetricsYetThereIsNoHalfAPage) {
  page_ = std::nullopt;
  const auto result = client_->Get("/metrics");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 503);
  EXPECT_EQ(result->body, "not ready\n");
}

TEST_F(HttpServerTest, ReadinessFollowsTheRouterAndLivenessDoesNot) {
  EXPECT_EQ(client_->Get("/readyz")->status, 503);
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
  ready_ = true;
  EXPECT_EQ(client_->Get("/readyz")->status, 200);
  EXPECT_EQ(client_->Get("/readyz?verbose=1")->status, 200);
}

TEST_F(HttpServerTest, EveryOtherPathAndMethodIsRefused) {
  EXPECT_EQ(client_->Get("/")->status, 404);
  EXPECT_EQ(client_->Get("/metrics/")->status, 404);
  EXPECT_EQ(client_->Get("/quitquitquit")->status, 404);
  EXPECT_EQ(client_->Post("/migrations", "x=1", "text/plain")->status, 404);
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_EQ(client_->Post(path, "x=1", "text/plain")->status, 405) << path;
    EXPECT_EQ(client_->Put(path, "x=1", "text/plain")->status, 405) << path;
    EXPECT_EQ(client_->Patch(path, "x=1", "text/plain")->status, 405) << path;
    EXPECT_EQ(client_->Delete(path)->status, 405) << path;
    EXPECT_EQ(client_->Options(path)->get_header_value("Allow"), "GET, HEAD") << path;
  }
}

TEST_F(HttpServerTest, HeadIsGetWithoutTheBody) {
  EXPECT_THAT(Answer("HEAD /metrics HTTP/1.1\r\nHost: r\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Length: 11\r\n"),
                    EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, ARequestMayComeInPieces) {
  RawConnection connection(port());
  for (const char c : std::string("GET /healthz HTTP/1.0\r\n\r\n")) {
    ASSERT_TRUE(connection.Send(std::string(1, c)));
  }
  EXPECT_THAT(connection.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nok\n")));
}

TEST_F(HttpServerTest, WhatIsNoRequestIsRefused) {
  for (const char* line : {"", "GET", "GET /metrics", "GET /metrics HTTP/2.0", "/metrics HTTP/1.1",
                           "PRI * HTTP/2.0", "\x16\x03\x01"}) {
    EXPECT_THAT(Answer(std::string(line) + "\r\n\r\n"), StartsWith("HTTP/1.1 400 ")) << line;
  }
}

TEST_F(HttpServerTest, HeadersAskForNothing) {
  std::string ranges = "Range: bytes=0-";
  while (ranges.size() < 7800) ranges += ",0-";
  for (const std::string& headers :
       {ranges, std::string("Accept-Encoding: gzip, br"), std::string("Connection: keep-alive"),
        std::string("Expect: 100-continue\r\nContent-Length: 1000000000000"),
        std::string("Transfer-Encoding: chunked"), std::string("Upgrade: h2c")}) {
    EXPECT_THAT(Answer("GET /metrics HTTP/1.1\r\nHost: r\r\n" + headers + "\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Length: 11\r\n"),
                      HasSubstr("\r\nConnection: close\r\n"), EndsWith("\r\n\r\na_metric 1\n")))
        << headers.substr(0, 40);
  }
}

TEST_F(HttpServerTest, ABodyIsNotRead) {
  EXPECT_THAT(Answer("POST /metrics HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                     "Content-Length: 100000\r\n\r\n" +
                     std::string(100'000, 'b')),
              StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpServerTest, ALineOrHeadersWithoutAnEndAreRefused) {
  EXPECT_THAT(Answer(std::string(HttpServer::kMaxHeadBytes, 'x')), StartsWith("HTTP/1.1 431 "));
  std::string headers = "GET /metrics HTTP/1.1\r\n";
  while (headers.size() < HttpServer::kMaxHeadBytes) headers += "a: b\r\n";
  EXPECT_THAT(Answer(headers), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, TheOldestConnectionGivesWayToANewOne) {
  std::deque<RawConnection> idle;
  for (std::size_t i = 0; i < HttpServer::kMaxConnections; ++i) idle.emplace_back(port());
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
  EXPECT_EQ(idle.front().Receive(1), "");  // it was closed
  for (std::size_t i = 1; i < idle.size(); ++i) EXPECT_FALSE(idle[i].IsClosed()) << i;
}

TEST_F(HttpServerTest, NobodyWaitsForClientsThatDoNotRead) {
  page_->assign(kMoreThanFitsBetween, 'x');
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  std::deque<RawConnection> slow;
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(slow.emplace_back(port()).Send(request));
    EXPECT_EQ(slow.back().Receive(8), "HTTP/1.1");
  }
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
  EXPECT_EQ(client_->Get("/metrics")->body.size(), page_->size());
  // Nor were they cut off.
  EXPECT_GT(slow.front().ReceiveAll().size(), page_->size());
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsAnErrorOfThatRequestAlone) {
  const auto server = HttpServer::Start({"127.0.0.1", 0}, {[]() -> std::optional<std::string> {
                                                             throw std::runtime_error("no page");
                                                           },
                                                           [] { return true; }});
  ASSERT_TRUE(server.ok()) << server.status();
  httplib::Client client("127.0.0.1", (*server)->address().port);
  EXPECT_EQ(client.Get("/metrics")->status, 500);
  EXPECT_EQ(client.Get("/healthz")->status, 200);
}

TEST_F(HttpServerTest, APortInUseIsRefused) {
  EXPECT_THAT(HttpServer::Start(server_->address(), {[] { return ""; }, [] { return true; }}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("in use")));
}

TEST_F(HttpServerTest, StopClosesThePort) {
  ASSERT_EQ(client_->Get("/healthz")->status, 200);
  RawConnection idle(port());
  server_->Stop(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(idle.ReceiveAll(), "");
  EXPECT_FALSE(client_->Get("/healthz"));
}

TEST_F(HttpServerTest, StopLetsAnAnswerFinish) {
  page_->assign(kMoreThanFitsBetween, 'x');
  RawConnection slow(port());
  ASSERT_TRUE(slow.Send("GET /metrics HTTP/1.1\r\n\r\n"));
  const std::string start = slow.Receive(8);
  std::thread stop(
      [this] { server_->Stop(std::chrono::steady_clock::now() + std::chrono::hours(1)); });
  EXPECT_GT(slow.ReceiveAll().size(), page_->size());
  stop.join();
}

TEST_F(HttpServerTest, StopDoesNotWaitBeyondItsDeadline) {
  page_->assign(kMoreThanFitsBetween, 'x');
  RawConnection slow(port());
  ASSERT_TRUE(slow.Send("GET /metrics HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(slow.Receive(8), "HTTP/1.1");
  server_->Stop(std::chrono::steady_clock::now());
  EXPECT_LT(slow.ReceiveAll().size(), page_->size());
}

}  // namespace
}  // namespace ringshift
