// A real Prometheus with the configuration, the alerts and the dashboard of deploy/, on real
// routers.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/prometheus_process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string ReadWhatIsThere(const std::string& path) {
  std::string text = ReadFile(path);
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

std::string Deployed(const std::string& name) {
  return std::string(RINGSHIFT_SOURCE_DIR) + "/deploy/" + name;
}

// Replaces every occurrence; a test failure if there is none.
void Replace(std::string& text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The objects in the array that is member `name` of `object`.
std::vector<google::protobuf::Struct> Objects(const google::protobuf::Struct& object,
                                              const std::string& name) {
  std::vector<google::protobuf::Struct> objects;
  const google::protobuf::Value array = Member(object, name);
  for (const auto& element : array.list_value().values()) objects.push_back(element.struct_value());
  return objects;
}

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

class Prometheus {
 public:
  explicit Prometheus(const std::string& dir) : process_(dir), client_(process_.url()) {}

  // The values of an instant query, without those that are no number.
  std::vector<double> Query(const std::string& expression) {
    const httplib::Result result =
        client_.Post("/api/v1/query", httplib::Params{{"query", expression}});
    EXPECT_TRUE(result && result->status == 200) << expression << "\n"
                                                 << (result ? result->body : "");
    if (!result || result->status != 200) return {};
    std::vector<double> values;
    const auto data = Member(ParseJsonObject(result->body), "data").struct_value();
    for (const google::protobuf::Struct& series : Objects(data, "result")) {
      const google::protobuf::Value sample = Member(series, "value");
      const double value = std::stod(sample.list_value().values(1).string_value());
      if (!std::isnan(value)) values.push_back(value);
    }
    return values;
  }

  // All rules that it evaluates.
  std::vector<google::protobuf::Struct> Rules() {
    const httplib::Result result = client_.Get("/api/v1/rules");
    EXPECT_TRUE(result && result->status == 200);
    if (!result) return {};
    std::vector<google::protobuf::Struct> rules;
    const auto data = Member(ParseJsonObject(result->body), "data").struct_value();
    for (const google::protobuf::Struct& group : Objects(data, "groups")) {
      for (const auto& rule : Objects(group, "rules")) rules.push_back(rule);
    }
    return rules;
  }

 private:
  PrometheusProcess process_;
  httplib::Client client_;
};

// Routes keys through data center `ams`, and some through one that there is not, until it is
// destroyed.
class Traffic {
 public:
  explicit Traffic(const RouterProcess& router)
      : stub_(v1::RoutingService::NewStub(router.PublicChannel())), thread_([this] { Run(); }) {}
  ~Traffic() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    stop_.notify_all();
    thread_.join();
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (int i = 0; !stopped_; ++i) {
      v1::RouteRequest request;
      request.set_data_center(i % 100 == 0 ? "nowhere" : "ams");
      request.set_key("/img/" + std::to_string(i));
      v1::RouteResponse response;
      grpc::ClientContext context;
      stub_->Route(&context, request, &response);
      stop_.wait_for(lock, std::chrono::milliseconds(2));
    }
  }

  std::unique_ptr<v1::RoutingService::Stub> stub_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;
};

void SetShare(const RouterProcess& router, int ppm) {
  grpc::ClientContext context;
  v1::SetMigrationRequest request;
  request.mutable_selector()->add_data_centers("ams");
  request.set_v2_ppm(ppm);
  v1::SetMigrationResponse response;
  const auto status = v1::MigrationService::NewStub(router.AdminChannel())
                          ->SetMigration(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
}

// Every expression of the dashboard, as Grafana would send it for all data centers.
std::vector<std::string> DashboardExpressions() {
  const auto dashboard = ParseJsonObject(ReadWhatIsThere(Deployed("grafana/ringshift.json")));
  std::vector<std::string> expressions;
  for (const google::protobuf::Struct& panel : Objects(dashboard, "panels")) {
    for (const google::protobuf::Struct& target : Objects(panel, "targets")) {
      std::string expression = Member(target, "expr").string_value();
      absl::StrReplaceAll({{"$data_center", "(ams|fra|new)"}, {"$__rate_interval", "10s"}},
                          &expression);
      EXPECT_THAT(expression, Not(HasSubstr("$")));
      expressions.push_back(expression);
    }
  }
  return expressions;
}

// The names of metrics in PromQL.
std::set<std::string> MetricNames(const std::string& expression) {
  constexpr char kNameCharacters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::set<std::string> names;
  for (std::size_t begin = 0;
       (begin = expression.find_first_of(kNameCharacters, begin)) != std::string::npos;) {
    const std::size_t end =
        std::min(expression.find_first_not_of(kNameCharacters, begin), expression.size());
    const std::string name = expression.substr(begin, end - begin);
    for (const std::string_view prefix : {"ringshift_", "process_"}) {
      if (name.starts_with(prefix) && name.size() > prefix.size()) names.insert(name);
    }
    begin = end;
  }
  return names;
}

class PrometheusTest : public ::testing::Test {
 protected:
  PrometheusTest() {
    first_.WaitUntilReady();
    second_.WaitUntilReady();
    std::filesystem::create_directory(dir_.File("routers"));
    dir_.Write("routers/fleet.yml", "- targets: [\"" + second_.http_address() + "\"]\n");
    dir_.Write("rules.yml", ReadWhatIsThere(Deployed("prometheus/rules.yml")));
    std::string configuration = ReadWhatIsThere(Deployed("prometheus/prometheus.yml"));
    Replace(configuration, "15s", "1s");
    Replace(configuration, "127.0.0.1:9464", first_.http_address());
    dir_.Write("prometheus.yml", configuration);
    prometheus_ = std::make_unique<Prometheus>(dir_.path());
  }

  // Member `what` of the rule `name`.
  std::string Rule(const std::string& name, const std::string& what) {
    for (const google::protobuf::Struct& rule : prometheus_->Rules()) {
      if (Member(rule, "name").string_value() == name) return Member(rule, what).string_value();
    }
    return "no such rule";
  }

  TempDir dir_;
  const std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  RouterProcess first_{topology_, dir_.File("first.db")};
  RouterProcess second_{topology_, dir_.File("second.db")};
  std::unique_ptr<Prometheus> prometheus_;
};

TEST_F(PrometheusTest, EveryExpressionOfTheDashboardAndOfTheAlertsWorksDuringAMigration) {
  ASSERT_TRUE(
      Eventually([&] { return prometheus_->Query("up{job=\"ringshift\"} == 1").size() == 2; }));
  const Traffic first_traffic(first_);
  const Traffic second_traffic(second_);
  SetShare(first_, 250'000);
  SetShare(second_, 250'000);
  // fra loses half of its nodes, which is held.
  std::string topology = SmallTopology();
  Replace(topology, "      - {name: fra-0, address: \"10.1.0.0:443\", weight: 10}\n", "");
  Replace(topology, "      - {name: fra-1, address: \"10.1.0.1:443\", weight: 10}\n", "");
  dir_.Write("topology.yaml", topology);

  const std::vector<std::string> expressions = DashboardExpressions();
  ASSERT_THAT(expressions, SizeIs(Ge(16u)));
  std::set<std::string> metrics;
  for (const std::string& expression : expressions) {
    EXPECT_TRUE(Eventually([&] { return !prometheus_->Query(expression).empty(); })) << expression;
    metrics.merge(MetricNames(expression));
  }

  const std::string share =
      "avg by (kind) (ringshift_migration_v2_ratio{data_center=\"ams\", kind=\"%\"})";
  for (const char* kind : {"requested", "effective"}) {
    std::string expression = share;
    Replace(expression, "%", kind);
    EXPECT_TRUE(Eventually([&] {
      return prometheus_->Query(expression) == std::vector<double>{0.25};
    })) << expression;
  }
  const auto measured_share =
      std::find_if(expressions.begin(), expressions.end(), [](const std::string& expression) {
        return expression.find("ringshift_routes_total{ring_version=\"v2\"") != std::string::npos;
      });
  ASSERT_NE(measured_share, expressions.end());
  EXPECT_TRUE(Eventually([&] {
    const std::vector<double> measured = prometheus_->Query(*measured_share);
    return measured.size() == 1 && std::abs(measured[0] - 0.25) < 0.1;
  }));

  EXPECT_TRUE(Eventually([&] { return Rule("RingshiftReloadHeld", "state") == "pending"; }));
  const auto rules = prometheus_->Rules();
  ASSERT_THAT(rules, SizeIs(Ge(10u)));
  for (const google::protobuf::Struct& rule : rules) {
    const std::string name = Member(rule, "name").string_value();
    EXPECT_TRUE(Eventually([&] { return Rule(name, "health") == "ok"; }))
        << name << " " << Rule(name, "health");
    metrics.merge(MetricNames(Member(rule, "query").string_value()));
  }
  EXPECT_EQ(Rule("RingshiftRouterDown", "state"), "inactive");
  EXPECT_EQ(Rule("RingshiftRoutersDisagree", "state"), "inactive");

  // The pages know of all of them.
  const std::string readme = ReadWhatIsThere(RINGSHIFT_SOURCE_DIR "/README.md");
  const std::string operations = ReadWhatIsThere(RINGSHIFT_SOURCE_DIR "/docs/operations.md");
  for (const std::string& metric : MetricNames(first_.Get("/metrics"))) {
    std::string family = metric;
    for (const std::string_view part : {"_bucket", "_sum", "_count"}) {
      if (metric.ends_with(part)) family.resize(metric.size() - part.size());
    }
    if (!family.starts_with("ringshift_")) continue;
    EXPECT_THAT(readme, HasSubstr("`" + family + "`"));
  }
  for (const google::protobuf::Struct& rule : rules) {
    EXPECT_THAT(operations, HasSubstr("| `" + Member(rule, "name").string_value() + "` |"));
  }
  metrics.merge(MetricNames(readme));
  metrics.merge(MetricNames(operations));

  // An alert for a metric that does not exist would work, and never fire.
  ASSERT_THAT(metrics, SizeIs(Ge(15u)));
  for (const std::string& metric : metrics) {
    EXPECT_THAT(prometheus_->Query("count({__name__=~\"" + metric + "(_count)?\"})"),
                ElementsAre(Ge(1)))
        << metric;
  }
}

}  // namespace
}  // namespace ringshift::testing
