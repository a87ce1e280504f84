// The HTTP port of a real router.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <deque>
#include <memory>
#include <sstream>
#include <string>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/raw_connection.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

class RouterMetricsTest : public ::testing::Test {
 protected:
  RouterMetricsTest() { router_.WaitUntilReady(); }

  grpc::StatusCode Route(const std::string& data_center, const std::string& key,
                         const std::string& pool = "") {
    grpc::ClientContext context;
    v1::RouteRequest request;
    request.set_data_center(data_center);
    request.set_key(key);
    request.set_pool(pool);
    v1::RouteResponse response;
    return routing_->Route(&context, request, &response).error_code();
  }

  void SetShare(const std::string& data_center, int ppm) {
    grpc::ClientContext context;
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers(data_center);
    request.set_v2_ppm(ppm);
    v1::SetMigrationResponse response;
    const auto stub = v1::MigrationService::NewStub(router_.AdminChannel());
    ASSERT_TRUE(stub->SetMigration(&context, request, &response).ok());
  }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  std::unique_ptr<v1::RoutingService::Stub> routing_ =
      v1::RoutingService::NewStub(router_.PublicChannel());
};

TEST_F(RouterMetricsTest, PromtoolFindsNothingRightAfterTheStart) {
  const std::string text = router_.Get("/metrics");
  const Completed promtool = testing::Run({"promtool", "check", "metrics"}, text);
  EXPECT_EQ(promtool.exit_code, 0);
  EXPECT_EQ(promtool.out, "");
  EXPECT_EQ(promtool.err, "");
}

TEST_F(RouterMetricsTest, EveryFamilyIsThereRightAfterTheStart) {
  const std::string text = router_.Get("/metrics");
  for (const char* series :
       {"ringshift_routes_total{data_center=\"ams\",pool=\"fedramp\",ring_version=\"v2\"} 0",
        "ringshift_routes_total{data_center=\"fra\",pool=\"default\",ring_version=\"v1\"} 0",
        "ringshift_route_errors_total{data_center=\"ams\",code=\"NOT_FOUND\"} 0",
        "ringshift_route_errors_total{data_center=\"other\",code=\"NOT_FOUND\"} 0",
        "ringshift_route_duration_seconds_bucket{method=\"Route\",le=\"1e-06\"} 0",
        "ringshift_reported_outcomes_total{data_center=\"ams\",ring_version=\"v1\",outcome=\"hit\"}"
        " "
        "0",
        "ringshift_ring_memory_bytes{data_center=\"ams\",ring_version=\"v1\"} ",
        "ringshift_ring_points{data_center=\"ams\",ring_version=\"v1\"} 16000",
        "ringshift_ring_points{data_center=\"ams\",ring_version=\"v2\"} 1600",
        "ringshift_ring_collisions{data_center=\"ams\",ring_version=\"v1\"} ",
        "ringshift_ring_build_duration_seconds{data_center=\"ams\",ring_version=\"v1\"} ",
        "ringshift_ring_share_cv{data_center=\"ams\",ring_version=\"v1\"} 0.",
        "ringshift_ring_share_max_ratio{data_center=\"ams\",ring_version=\"v1\"} 1.",
        "ringshift_ring_pool_walk_points{data_center=\"ams\",ring_version=\"v1\",pool=\"fedramp\"}"
        " ",
        "ringshift_ring_pool_memory_bytes{data_center=\"ams\",ring_version=\"v1\",pool=\"fedramp\"}"
        " 0",
        "ringshift_migration_v2_ratio{data_center=\"ams\",kind=\"requested\"} 0",
        "ringshift_migration_v2_ratio{data_center=\"ams\",kind=\"effective\"} 0",
        "ringshift_migration_v2_ratio{data_center=\"new\",kind=\"effective\"} 1",
        "ringshift_migration_orphans 0",
        "ringshift_routing_checksum{data_center=\"ams\"} ",
        "ringshift_store_up 1",
        "ringshift_store_created 1",
        "ringshift_topology_reloads_total{result=\"applied\"} 1",
        "ringshift_topology_reloads_total{result=\"unchanged\"} 0",
        "ringshift_topology_reloads_total{result=\"held\"} 0",
        "ringshift_topology_reloads_total{result=\"failed\"} 0",
        "ringshift_topology_last_reload_success_timestamp_seconds ",
        "ringshift_topology_reload_held{data_center=\"ams\"} 0",
        "ringshift_topology_generation 1",
        "ringshift_migration_revision{data_center=\"ams\"} ",
        "ringshift_topology_nodes{data_center=\"ams\"} 10",
        "ringshift_startup_duration_seconds ",
        "ringshift_build_info{version=",
        "process_cpu_seconds_total ",
        "process_open_fds ",
        "process_max_fds ",
        "process_resident_memory_bytes ",
        "process_virtual_memory_bytes ",
        "process_start_time_seconds "}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + series));
  }
}

TEST_F(RouterMetricsTest, AnswersAndErrorsAreCountedWhereTheyBelong) {
  SetShare("ams", 1'000'000);
  for (int i = 0; i < 20; ++i) Route("ams", "key " + std::to_string(i));
  for (int i = 0; i < 7; ++i) Route("fra", "key " + std::to_string(i));
  EXPECT_EQ(Route("ams", "key", "fedramp"), grpc::StatusCode::OK);
  EXPECT_EQ(Route("ams", "key", "nowhere"), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Route("ams", "key", "unknown"), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Route("ams", ""), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Route("unknown", "key"), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Route("", "key"), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(
      router_.Get("/metrics"),
      AllOf(
          HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"default\",ring_version="
                    "\"v1\"} 0\n"),
          HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"default\",ring_version="
                    "\"v2\"} 20\n"),
          HasSubstr("ringshift_routes_total{data_center=\"fra\",pool=\"default\",ring_version="
                    "\"v1\"} 7\n"),
          HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"fedramp\",ring_version="
                    "\"v2\"} 1\n"),
          HasSubstr("ringshift_route_errors_total{data_center=\"ams\",code=\"UNAVAILABLE\"} 1\n"),
          HasSubstr("ringshift_route_errors_total{data_center=\"ams\",code=\"NOT_FOUND\"} 1\n"),
          HasSubstr(
              "ringshift_route_errors_total{data_center=\"ams\",code=\"INVALID_ARGUMENT\"} 1\n"),
          HasSubstr("ringshift_route_errors_total{data_center=\"other\",code=\"NOT_FOUND\"} 1\n"),
          HasSubstr(
              "ringshift_route_errors_total{data_center=\"other\",code=\"INVALID_ARGUMENT\"} 1\n"),
          HasSubstr("ringshift_route_duration_seconds_count{method=\"Route\"} 33\n"),
          HasSubstr("ringshift_migration_v2_ratio{data_center=\"ams\",kind=\"effective\"} 1\n")));
}

TEST_F(RouterMetricsTest, WhateverIsAskedForTheSeriesStayTheSame) {
  // Without the one that a data center has while there is traffic.
  const auto count = [](const std::string& text) {
    std::istringstream lines(text);
    int series = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("ringshift_migration_measured_share") == std::string::npos) ++series;
    }
    return series;
  };
  const int before = count(router_.Get("/metrics"));
  for (int i = 0; i < 2000; ++i) {
    Route("dc-" + std::to_string(i), "key");
    Route("ams", "key " + std::to_string(i),
          i % 2 == 0 ? "" : "pool \"" + std::to_string(i) + "\n");
  }
  const std::string after = router_.Get("/metrics");
  EXPECT_EQ(count(after), before);
  EXPECT_THAT(after, HasSubstr("{data_center=\"other\",code=\"NOT_FOUND\"} 2000\n"));
}

TEST_F(RouterMetricsTest, NothingCanBeChangedThere) {
  const std::string migrations = "ringshift_migration_revision";
  const auto revisions = [&] {
    const std::string text = router_.Get("/metrics");
    return text.substr(text.find(migrations), 400);
  };
  const std::string before = revisions();
  httplib::Client client("http://" + router_.http_address());
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/quitquitquit", "/migrations",
                           "/ringshift.v1.MigrationService/SetMigration"}) {
    for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
      httplib::Request request;
      request.method = method;
      request.path = path;
      request.body = "data_center=ams&v2_ppm=1000000";
      const httplib::Result result = client.send(request);
      ASSERT_TRUE(result) << method << path;
      EXPECT_THAT(result->status, ::testing::AnyOf(404, 405)) << method << path;
    }
    if (std::string_view(path) == "/metrics") continue;
    const httplib::Result result = client.Get(std::string(path) + "?v2_ppm=1000000");
    ASSERT_TRUE(result);
    EXPECT_THAT(result->status, ::testing::AnyOf(200, 404)) << path;
  }
  EXPECT_EQ(revisions(), before);
  EXPECT_EQ(client.Get("/readyz")->status, 200);
}

TEST_F(RouterMetricsTest, NoRequestIsTooMuch) {
  std::string ranges = "Range: bytes=0-";
  while (ranges.size() < 7800) ranges += ",0-";
  const std::string page = router_.Get("/metrics");
  RawConnection many_ranges(router_.http_port());
  ASSERT_TRUE(many_ranges.Send("GET /metrics HTTP/1.1\r\n" + ranges + "\r\n\r\n"));
  const std::string answer = many_ranges.ReceiveAll();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer.substr(0, 100);
  EXPECT_LT(answer.size(), page.size() + 1000);

  const auto memory = [this] {
    const std::string text = router_.Get("/metrics");
    const std::string name = "\nprocess_resident_memory_bytes ";
    return std::stod(text.substr(text.find(name) + name.size()));
  };
  const double before = memory();
  RawConnection endless_line(router_.http_port());
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 300; ++i) endless_line.Send(megabyte);
  EXPECT_LT(memory() - before, 100e6);
}

// An idle connection costs nobody a wait, however many there are.
TEST_F(RouterMetricsTest, IdleConnectionsKeepNobodyOut) {
  std::deque<RawConnection> idle;
  for (int i = 0; i < 128; ++i) idle.emplace_back(router_.http_port());
  EXPECT_EQ(router_.Get("/healthz"), "ok\n");
  EXPECT_FALSE(idle.back().IsClosed());  // it was not waited for
}

TEST(SlowScraperTest, NobodyWaitsForScrapersThatDoNotRead) {
  // Enough pools that a page does not fit the buffers between.
  std::string yaml =
      "data_centers:\n  - name: ams\n    nodes:\n      - {name: a, address: \"10.0.0.1:443\", "
      "features: [f]}\n    "
      "pools:\n";
  for (int i = 0; i < 25'000; ++i) {
    yaml += "      - {name: a-pool-with-a-name-so-long-that-the-page-is-long-too-" +
            std::to_string(i) + ", required_features: [f]}\n";
  }
  const TempDir dir;
  RouterProcess router(dir.Write("topology.yaml", yaml), dir.File("state.db"));
  router.WaitUntilReady();
  ASSERT_GT(router.Get("/metrics").size(), 5'000'000);

  std::deque<RawConnection> scrapers;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(scrapers.emplace_back(router.http_port()).Send("GET /metrics HTTP/1.1\r\n\r\n"));
    ASSERT_EQ(scrapers.back().Receive(8), "HTTP/1.1");  // the answer is on its way
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(router.Get("/healthz"), "ok\n");
  EXPECT_GT(router.Get("/metrics").size(), 5'000'000);
  // Nobody had to wait until they were given up: they still are served.
  EXPECT_GT(scrapers.front().ReceiveAll().size(), 5'000'000);

  router.process().Signal(SIGTERM);
  EXPECT_THAT(router.process().WaitForExit(std::chrono::seconds(30)), Optional(0));
}

}  // namespace
}  // namespace ringshift::testing
