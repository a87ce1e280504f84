#include "client/ringctl/ring_stats_client.h"

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ringshift/v1/topology.grpc.pb.h"
#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ScratchFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Answers for every data center what it is told to.
class FakeRouter : public v1::TopologyService::Service {
 public:
  explicit FakeRouter(v1::GetRingStatsResponse response) : response_(std::move(response)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  RemoteOptions options() const {
    return {.server = "127.0.0.1:" + std::to_string(port_), .timeout = "60s"};
  }

 private:
  grpc::Status GetRingStats(grpc::ServerContext*, const v1::GetRingStatsRequest* request,
                            v1::GetRingStatsResponse* response) override {
    if (request->data_center() == "none") return {grpc::StatusCode::NOT_FOUND, "no such thing"};
    *response = response_;
    return grpc::Status::OK;
  }

  const v1::GetRingStatsResponse response_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

v1::GetRingStatsResponse Answer() {
  v1::GetRingStatsResponse response;
  response.set_data_center("ams");
  response.set_nodes(3);
  response.set_total_weight(5);
  for (const v1::RingVersion version : {v1::RING_VERSION_V1, v1::RING_VERSION_V2}) {
    v1::RingStats& stats = *response.add_rings();
    v1::RingSummary& ring = *stats.mutable_ring();
    ring.set_ring_version(version);
    ring.set_points_per_weight(160);
    ring.set_layout(version == v1::RING_VERSION_V1 ? v1::RING_LAYOUT_WIDE : v1::RING_LAYOUT_PACKED);
    ring.set_points(800);
    ring.set_memory_bytes(6400);
    ring.set_collisions(2);
    ring.set_build_seconds(0.25);
    ring.set_checksum(0xABCDEF);
    v1::PoolBalance& pool = *stats.add_pools();
    pool.set_pool("default");
    pool.set_nodes(3);
    pool.set_cv(0.125);
    pool.set_max_ratio(1.25);
    pool.set_min_ratio(0.75);
    pool.set_max_node("a");
    pool.set_min_node("b");
    pool.set_points(800);
    pool.set_mean_walk(1);
    pool.set_longest_walk(1);
    for (const int count : {0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0}) pool.add_nodes_by_load(count);
  }
  return response;
}

TEST(RingStatsClientTest, AnAnswerIsReportedWithEveryFigure) {
  const FakeRouter router(Answer());
  const Remote remote(router.options());
  DataCenterReport report;
  const grpc::Status status = GetRingStats(remote, "ams", report);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(
      ReportAsJson(report),
      ::testing::StartsWith(
          R"({"data_center":"ams","nodes":3,"total_weight":5,"rings":[{"ring_version":"v1",)"
          R"("points_per_weight":160,"layout":"wide","points":800,"memory_bytes":6400,)"
          R"("bytes_per_point":8,"collisions":2,"build_seconds":0.25,)"
          R"("checksum":"0000000000abcdef","pools":[{"pool":"default","nodes":3,"cv":0.125,)"
          R"("max_ratio":1.25,"min_ratio":0.75,"max_node":"a","min_node":"b","points":800,"mean_walk":1,)"
          R"("longest_walk":1,"own_ring_memory_bytes":0,"lacks_own_ring":false}]},)"
          R"({"ring_version":"v2","points_per_weight":160,"layout":"packed","points":800,)"));
  const ScratchFile file;
  Output output(file.fd());
  PrintReport(report, output);
  output.Flush();
  EXPECT_THAT(file.Contents(),
              AllOf(HasSubstr("Data center ams: 3 nodes, total weight 5\n"), HasSubstr("250.0 ms"),
                    HasSubstr("\n1.10 to 1.20           0                   0\n"),
                    HasSubstr("\n1.20 to 1.50           1  ########         1  ########\n")));
}

TEST(RingStatsClientTest, AnAnswerSaysWhichPoolsHaveRingsOfTheirOwn) {
  v1::GetRingStatsResponse response = Answer();
  for (v1::RingStats& ring : *response.mutable_rings()) {
    for (const char* name : {"own", "lacking", "dense"}) {
      v1::PoolBalance& pool = *ring.add_pools();
      pool.set_pool(name);
      pool.set_nodes(1);
      pool.set_points(1234);
      pool.set_mean_walk(name == std::string("dense") ? 2.5 : 1000.25);
      pool.set_longest_walk(5678);
    }
    ring.mutable_pools(1)->set_own_ring_memory_bytes(2048);
    ring.mutable_pools(2)->set_lacks_own_ring(true);
  }
  const FakeRouter router(response);
  const Remote remote(router.options());
  DataCenterReport report;
  ASSERT_TRUE(GetRingStats(remote, "ams", report).ok());
  EXPECT_THAT(ReportAsJson(report),
              AllOf(HasSubstr(R"("bytes_per_point":5.44,)"),
                    HasSubstr(R"("points":1234,"mean_walk":1000.25,"longest_walk":5678,)"
                              R"("own_ring_memory_bytes":2048,"lacks_own_ring":false})"),
                    HasSubstr(R"("own_ring_memory_bytes":0,"lacks_own_ring":true})")));
  const ScratchFile file;
  Output output(file.fd());
  PrintReport(report, output);
  output.Flush();
  EXPECT_THAT(file.Contents(),
              AllOf(HasSubstr("own      v1     1,234     1000.2    5,678  2.0 KiB\n"),
                    HasSubstr("lacking  v2     1,234     1000.2    5,678  no memory left\n"),
                    HasSubstr("dense    v2     1,234        2.5    5,678  not needed\n"),
                    HasSubstr("less than 1/16 of the ring")));
}

TEST(RingStatsClientTest, ARefusalIsPassedOn) {
  const FakeRouter router(Answer());
  const Remote remote(router.options());
  DataCenterReport report;
  const grpc::Status status = GetRingStats(remote, "none", report);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such thing");
}

TEST(RingStatsClientTest, AnAnswerThatMakesNoSenseIsDataLoss) {
  v1::GetRingStatsResponse without_rings = Answer();
  without_rings.clear_rings();
  v1::GetRingStatsResponse uneven = Answer();
  uneven.mutable_rings(1)->add_pools()->set_pool("fast");
  v1::GetRingStatsResponse without_pools = Answer();
  for (v1::RingStats& ring : *without_pools.mutable_rings()) ring.clear_pools();
  for (const v1::GetRingStatsResponse& response : {without_rings, uneven, without_pools}) {
    const FakeRouter router(response);
    const Remote remote(router.options());
    DataCenterReport report;
    EXPECT_EQ(GetRingStats(remote, "ams", report).error_code(), grpc::StatusCode::DATA_LOSS)
        << response.ShortDebugString();
  }
}

TEST(RingStatsClientTest, FiguresOutOfRangeDoNotBreakTheReport) {
  v1::GetRingStatsResponse response = Answer();
  response.set_nodes(-1);
  v1::RingStats& v2 = *response.mutable_rings(1);
  v2.mutable_ring()->set_points(0);
  v2.mutable_ring()->set_layout(v1::RING_LAYOUT_UNSPECIFIED);
  v2.mutable_pools(0)->set_nodes(0);
  v2.mutable_pools(0)->set_nodes_by_load(3, 2'000'000'000);
  response.mutable_rings(0)->mutable_pools(0)->set_nodes_by_load(3, 2'000'000'000);
  response.mutable_rings(0)->mutable_pools(0)->add_nodes_by_load(1);
  const FakeRouter router(response);
  const Remote remote(router.options());
  DataCenterReport report;
  ASSERT_TRUE(GetRingStats(remote, "ams", report).ok());
  EXPECT_THAT(ReportAsJson(report),
              AllOf(HasSubstr("\"nodes\":0,"), HasSubstr("\"bytes_per_point\":null"),
                    HasSubstr("\"layout\":\"unknown\"")));
  const ScratchFile file;
  Output output(file.fd());
  PrintReport(report, output);
  output.Flush();
  EXPECT_LT(file.Contents().size(), 10'000U);
}

}  // namespace
}  // namespace ringshift
