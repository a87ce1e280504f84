// Guards' values from a real Prometheus, and from one that misbehaves.
#include "server/prometheus_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/process.h"
#include "tests/integration/prometheus_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::chrono::seconds kNow(1'800'000'000);

std::unique_ptr<PrometheusQuery> Connect(
    const std::string& url, std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  PrometheusQuery::Options options;
  options.timeout = timeout;
  return PrometheusQuery::Create(url, options).value();
}

class RealPrometheusTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<TempDir>();
    dir_->Write("prometheus.yml", "global: {scrape_interval: 1h}\n");
    prometheus_ = std::make_unique<PrometheusProcess>(dir_->path());
  }
  static void TearDownTestSuite() {
    prometheus_.reset();
    dir_.reset();
  }

  static Measurement Measure(const std::string& query) {
    return Connect(prometheus_->url())->Measure(query);
  }

  static std::unique_ptr<TempDir> dir_;
  static std::unique_ptr<PrometheusProcess> prometheus_;
};
std::unique_ptr<TempDir> RealPrometheusTest::dir_;
std::unique_ptr<PrometheusProcess> RealPrometheusTest::prometheus_;

TEST_F(RealPrometheusTest, AScalarAndAVectorOfOneElementAreValues) {
  EXPECT_THAT(Measure("2.5").value, Optional(2.5));
  EXPECT_THAT(Measure("vector(-1e-7)").value, Optional(-1e-7));
  EXPECT_THAT(Measure("sum(vector(1) or label_replace(vector(2), \"a\", \"b\", \"\", \"\"))").value,
              Optional(3.0));
}

TEST_F(RealPrometheusTest, WhatIsNotOneNumberIsMissingWithTheReason) {
  struct Case {
    const char* query;
    const char* missing;
  };
  const Case cases[] = {
      {"no_such_metric", "no data"},
      {"vector(0) / 0", "its value is not a number"},
      {"0 / 0", "its value is not a number"},
      {"1 / 0", "its value is infinite"},
      {"vector(-1) / 0", "its value is infinite"},
      {"vector(1) or label_replace(vector(2), \"a\", \"b\", \"\", \"\")",
       "the query has several series, not one value; aggregate them"},
      {"no_such_metric[5m]", "the query is a \"matrix\", not one value"},
      {"\"text\"", "the query is a \"string\", not one value"},
      {"sum(", "answers with HTTP status 400: Prometheus refuses the query: "},
  };
  for (const Case& c : cases) {
    const Measurement measurement = Measure(c.query);
    EXPECT_EQ(measurement.value, std::nullopt) << c.query;
    EXPECT_THAT(measurement.missing, HasSubstr(c.missing)) << c.query;
    EXPECT_EQ(Measure(c.query).missing, measurement.missing) << c.query;
  }
}

TEST_F(RealPrometheusTest, AnswersOfAnotherTimeThanOursAreStale) {
  PrometheusQuery::Options options;
  options.timeout = std::chrono::seconds(30);
  options.clock = [] { return SystemWallTime() + std::chrono::minutes(10); };
  const auto prometheus = PrometheusQuery::Create(prometheus_->url(), options).value();
  EXPECT_THAT(prometheus->Measure("2.5").missing, HasSubstr("the answer is stale"));
}

TEST(PrometheusQueryTest, ARefusedConnectionIsMissing) {
  const std::string url = absl::StrCat("http://127.0.0.1:", FreePort());
  EXPECT_EQ(Connect(url)->Measure("up").missing, "no connection to " + url);
}

// A port whose connections nobody takes: the system opens them, and nothing answers.
TEST(PrometheusQueryTest, NoAnswerInTimeIsMissing) {
  httplib::Server silent;
  const int port = silent.bind_to_any_port("127.0.0.1");
  const std::string url = absl::StrCat("http://127.0.0.1:", port);
  EXPECT_EQ(Connect(url, std::chrono::milliseconds(50))->Measure("up").missing,
            "no whole answer from " + url + " within 50 ms");
}

// A server that answers as it is told.
class StubPrometheus {
 public:
  explicit StubPrometheus(const httplib::Server::Handler& handler) {
    server_.Get(".*", handler);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~StubPrometheus() {
    server_.stop();
    thread_.join();
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST(PrometheusQueryTest, TheQueryArrivesAsItIsUnderThePathOfTheUrl) {
  std::string path;
  std::string query;
  const StubPrometheus stub([&](const httplib::Request& request, httplib::Response& response) {
    path = request.path;
    query = request.get_param_value("query");
    response.set_content("{}", "application/json");
  });
  const std::string wanted = "sum(rate(x{a=\"b&c+d\"}[1m])) / 100 % 7 # \xc3\xa9";
  Connect(stub.url() + "/prom/")->Measure(wanted);
  EXPECT_EQ(path, "/prom/api/v1/query");
  EXPECT_EQ(query, wanted);
}

TEST(PrometheusQueryTest, AnErrorOfHttpIsMissingWithItsStatus) {
  for (const int status : {302, 404, 500, 503}) {
    const StubPrometheus stub([status](const httplib::Request&, httplib::Response& response) {
      response.status = status;
      response.set_header("Location", "/elsewhere");
    });
    EXPECT_THAT(Connect(stub.url())->Measure("up").missing,
                HasSubstr(absl::StrCat("answers with HTTP status ", status)));
  }
}

TEST(PrometheusQueryTest, AnAnswerWithoutEndIsCutOff) {
  const StubPrometheus stub([](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::string(PrometheusQuery::kMaxAnswerBytes + 1, ' '), "text/plain");
  });
  EXPECT_EQ(Connect(stub.url())->Measure("up").missing, "an answer of more than 1048576 bytes");
}

TEST(PrometheusQueryTest, OnlyAPlainUrlIsTaken) {
  for (const char* url : {"", "localhost:9090", "https://p:9090", "http://", "http:///x",
                          "http://:9090", "http://a b", "http://p?x=1", "http://u@p", "ftp://p"}) {
    EXPECT_THAT(PrometheusQuery::Create(url, {}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not http://HOST[:PORT]")))
        << url;
  }
}

TEST(PrometheusAnswerTest, AnAnswerIsReadStrictly) {
  const std::string good = R"({"status":"success","data":{"resultType":"vector","result":[)"
                           R"({"metric":{},"value":[1800000000.5,"0.25"]}]}})";
  EXPECT_THAT(ReadPrometheusAnswer(good, WallTime(kNow)).value, Optional(0.25));
  struct Case {
    std::string from;
    std::string to;
    const char* missing;
  };
  const std::string none = "what is not an answer";
  const std::vector<Case> cases = {
      {"success", "fine", "what is not an answer"},
      {"\"status\":\"success\",", "", "what is not an answer"},
      {"\"data\"", "\"date\"", "what is not an answer"},
      {"\"vector\"", "1", "what is not an answer"},
      {"\"value\"", "\"values\"", "what is not an answer"},
      {"\"0.25\"", "0.25", "what is not an answer"},
      {"\"0.25\"", "\"0.25x\"", "what is not an answer"},
      {"\"0.25\"", "\"\"", "what is not an answer"},
      {"\"0.25\"", "\"inf\"", "what is not an answer"},
      {"\"0.25\"", "\"1e999\"", "what is not an answer"},
      {"\"0.25\"", "\"0.25\",1", "what is not an answer"},
      {"1800000000.5", "\"1800000000.5\"", "what is not an answer"},
      {"1800000000.5", "1799999939", "the answer is stale"},
      {"1800000000.5", "1800000061", "the answer is stale"},
      {"}]}}", "}]}", "what is not an answer"},
      {"{\"status\"", "{\"warnings\":[\"a store is away\"],\"status\"", "may be partial"},
      {"{\"metric\":{},\"value\":[1800000000.5,\"0.25\"]}", "7", "what is not an answer"},
  };
  for (const Case& c : cases) {
    std::string json = good;
    const std::size_t at = json.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    json.replace(at, c.from.size(), c.to);
    const Measurement measurement = ReadPrometheusAnswer(json, WallTime(kNow));
    EXPECT_EQ(measurement.value, std::nullopt) << json;
    EXPECT_THAT(measurement.missing, HasSubstr(c.missing)) << json;
  }
  EXPECT_THAT(ReadPrometheusAnswer("", WallTime(kNow)).missing, HasSubstr(none));
  EXPECT_EQ(ReadPrometheusAnswer(R"({"status":"error","error":"too many samples"})", WallTime(kNow))
                .missing,
            "Prometheus refuses the query: \"too many samples\"");
}

}  // namespace
}  // namespace ringshift::testing
