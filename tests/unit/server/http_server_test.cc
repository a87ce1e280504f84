#include "server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = HttpServer::Start({"127.0.0.1", 0}, {[] { return std::string("a_metric 1\n"); },
                                                       [this] { return ready_.load(); }});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_->address().port);
  }

  std::atomic<bool> ready_{false};
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpServerTest, MetricsAreText) {
  const auto result = client_->Get("/metrics");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, "a_metric 1\n");
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(HttpServerTest, ReadinessFollowsTheRouterAndLivenessDoesNot) {
  EXPECT_EQ(client_->Get("/readyz")->status, 503);
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
  ready_ = true;
  EXPECT_EQ(client_->Get("/readyz")->status, 200);
}

TEST_F(HttpServerTest, EveryOtherPathAndVerbIsRefused) {
  EXPECT_EQ(client_->Get("/")->status, 404);
  EXPECT_EQ(client_->Get("/metrics/")->status, 404);
  EXPECT_EQ(client_->Get("/quitquitquit")->status, 404);
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/migrations"}) {
    EXPECT_EQ(client_->Post(path, "x=1", "text/plain")->status, 404) << path;
    EXPECT_EQ(client_->Put(path, "x=1", "text/plain")->status, 404) << path;
    EXPECT_EQ(client_->Patch(path, "x=1", "text/plain")->status, 404) << path;
    EXPECT_EQ(client_->Delete(path)->status, 404) << path;
  }
}

TEST_F(HttpServerTest, APortInUseIsRefused) {
  EXPECT_THAT(HttpServer::Start(server_->address(), {[] { return ""; }, [] { return true; }}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("in use")));
}

TEST_F(HttpServerTest, StopClosesThePort) {
  ASSERT_EQ(client_->Get("/healthz")->status, 200);
  EXPECT_TRUE(server_->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  EXPECT_FALSE(client_->Get("/healthz"));
}

}  // namespace
}  // namespace ringshift
