#include "client/ringctl/route_pipeline.h"

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ringshift {
namespace {

using ::testing::ElementsAre;

// Answers key K with owner K. Keys that start with "held" wait until key "release" was answered,
// keys that start with "never" for ever; key "bad" is refused.
class FakeRouter : public v1::RoutingService::CallbackService {
 public:
  FakeRouter() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  class Reactor : public grpc::ServerUnaryReactor {
   public:
    explicit Reactor(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
    void OnDone() override {
      on_done_();
      delete this;
    }
    void OnCancel() override {
      if (finish_when_cancelled) Finish(grpc::Status::CANCELLED);
    }
    bool finish_when_cancelled = false;

   private:
    const std::function<void()> on_done_;
  };

  grpc::ServerUnaryReactor* Route(grpc::CallbackServerContext*, const v1::RouteRequest* request,
                                  v1::RouteResponse* response) override {
    const std::string& key = request->key();
    response->mutable_owner()->set_name(key);
    // `release` is on its way before the held answers are.
    auto* reactor = new Reactor([this, is_release = key == "release"] {
      if (is_release) Release();
    });
    if (key.starts_with("never")) {
      reactor->finish_when_cancelled = true;
    } else if (key == "bad") {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, "a bad key"});
    } else if (!Hold(key, reactor)) {
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }

  bool Hold(const std::string& key, Reactor* reactor) {
    const std::lock_guard lock(mutex_);
    if (!key.starts_with("held") || released_) return false;
    held_.push_back(reactor);
    return true;
  }

  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    for (Reactor* reactor : held_) reactor->Finish(grpc::Status::OK);
    held_.clear();
  }

  std::mutex mutex_;
  bool released_ = false;
  std::vector<Reactor*> held_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // last: it ends before what its calls use
};

v1::RouteRequest RequestFor(const std::string& key) {
  v1::RouteRequest request;
  request.set_key(key);
  return request;
}

TEST(RoutePipelineTest, AnswersComeInTheOrderOfTheRequests) {
  FakeRouter router;
  const Remote remote({router.address(), "60s"});
  std::vector<std::string> answers;
  RoutePipeline pipeline(remote, [&](const RoutePipeline::Answer& answer) {
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.request.key(), answer.response.owner().name());
    EXPECT_EQ(answer.number, answers.size() + 1);
    answers.emplace_back(answer.text);
    return true;
  });
  for (const char* key : {"held 1", "a", "held 2", "release", "b"}) {
    EXPECT_TRUE(pipeline.Send(key, RequestFor(key)));
  }
  EXPECT_TRUE(pipeline.Drain());
  EXPECT_THAT(answers, ElementsAre("held 1", "a", "held 2", "release", "b"));
}

TEST(RoutePipelineTest, ManyMoreRequestsThanMayBeUnderWayAreAllAnswered) {
  FakeRouter router;
  const Remote remote({router.address(), "60s"});
  std::size_t answers = 0;
  RoutePipeline pipeline(remote, [&](const RoutePipeline::Answer& answer) {
    EXPECT_EQ(answer.response.owner().name(), std::to_string(answers));
    ++answers;
    return true;
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(pipeline.Send(std::to_string(i), RequestFor(std::to_string(i))));
  }
  EXPECT_TRUE(pipeline.Drain());
  EXPECT_EQ(answers, 1000U);
}

TEST(RoutePipelineTest, AfterGivingUpNothingIsSentOrAnswered) {
  FakeRouter router;
  const Remote remote({router.address(), "60s"});
  std::vector<std::string> answers;
  RoutePipeline pipeline(remote, [&](const RoutePipeline::Answer& answer) {
    answers.emplace_back(answer.text);
    return answer.status.ok();
  });
  for (const char* key : {"a", "bad", "b"}) EXPECT_TRUE(pipeline.Send(key, RequestFor(key)));
  EXPECT_FALSE(pipeline.Drain());
  EXPECT_FALSE(pipeline.Send("c", RequestFor("c")));
  EXPECT_FALSE(pipeline.Drain());
  EXPECT_THAT(answers, ElementsAre("a", "bad"));
}

TEST(RoutePipelineTest, ItsEndDoesNotWaitForAnswers) {
  FakeRouter router;
  const Remote remote({router.address(), "24h"});
  RoutePipeline pipeline(remote, [](const RoutePipeline::Answer&) { return true; });
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(pipeline.Send("never", RequestFor("never")));
  // Were they waited for, the test would time out here.
}

}  // namespace
}  // namespace ringshift
