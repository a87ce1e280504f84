// The harness: that its figures are those of right answers, and that every step of a suite works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "server/table_handler.h"
#include "tests/bench/bench_server.h"
#include "tests/bench/figures.h"
#include "tests/bench/in_process.h"
#include "tests/bench/load.h"
#include "tests/bench/pairs.h"
#include "tests/bench/questions.h"
#include "tests/bench/ring_suite.h"
#include "tests/bench/workload.h"
#include "tests/integration/process.h"
#include "tests/testing/byte_buffers.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::bench {
namespace {

using ::ringshift::testing::Binary;
using ::ringshift::testing::Completed;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::Parse;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TempDir;
using ::ringshift::testing::ToByteBuffer;
using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kKeys = 2'000;
constexpr std::size_t kBatchKeys = 1'000;

// The router's handler, but for key 777 of the workload: its answers are another key's.
class LyingHandler final : public RoutingHandler {
 public:
  explicit LyingHandler(BenchServer::Parts& parts)
      : truth_(parts.lifecycle, parts.directory, &parts.metrics) {}

  absl::Status Route(const grpc::ByteBuffer& bytes, Time arrival,
                     grpc::ByteBuffer& response_bytes) override {
    const absl::Status status = truth_.Route(bytes, arrival, response_bytes);
    v1::RouteRequest request;
    v1::RouteResponse response;
    if (!Parse(bytes, request) || request.key() != MakeKey(777)) return status;
    if (!Parse(response_bytes, response)) return absl::InternalError("no response");
    response.mutable_owner()->set_name("cache-99");
    response_bytes = ToByteBuffer(response);
    return status;
  }
  void StartBatch(const grpc::ByteBuffer& request, Time arrival) override {
    truth_.StartBatch(request, arrival);
  }
  std::optional<absl::Status> ContinueBatch(grpc::ByteBuffer& response_bytes) override {
    std::optional<absl::Status> status = truth_.ContinueBatch(response_bytes);
    if (!status) return status;
    v1::RouteBatchResponse response;
    if (!Parse(response_bytes, response)) return absl::InternalError("no response");
    response.set_node_indexes(777, (response.node_indexes(777) + 1) % response.nodes_size());
    response_bytes = ToByteBuffer(response);
    return status;
  }
  void CountRefused(absl::StatusCode) override {}

 private:
  TableHandler truth_;
};

absl::StatusOr<std::unique_ptr<BenchServer>> StartLyingServer() {
  const BenchCase& tiny = kCases[0];
  const auto table = BuildTable(MakeSpec(tiny), tiny.v2_ppm);
  if (!table.ok()) return table.status();
  return BenchServer::StartWith(
      *table, [](BenchServer::Parts& parts) { return std::make_unique<LyingHandler>(parts); });
}

TEST(BenchTest, ALoadOfRightAnswersHasFigures) {
  ASSERT_OK_AND_ASSIGN(const Workload workload, MakeWorkload(kCases[0], kKeys));
  ASSERT_OK_AND_ASSIGN(const auto server,
                       BenchServer::Start(HandlerKind::kReal, kCases[0], kBatchKeys));
  RouteQuestions routes(workload);
  Load<RouteQuestions> route_load(server->address(), routes, 64, 2);
  ASSERT_OK_AND_ASSIGN(const LoadResult result, route_load.Run(kKeys + 100));
  EXPECT_EQ(result.calls, kKeys + 100);
  EXPECT_GT(result.p50.count(), 0);
  EXPECT_GE(result.p99, result.p50);
  EXPECT_GE(result.time, result.p99);
  BatchQuestions batches(workload, kBatchKeys);
  Load<BatchQuestions> batch_load(server->address(), batches, 4, 2);
  EXPECT_THAT(batch_load.Run(10), IsOk());
}

TEST(BenchTest, OneWrongOwnerEndsALoadOfRoutes) {
  ASSERT_OK_AND_ASSIGN(const Workload workload, MakeWorkload(kCases[0], kKeys));
  ASSERT_OK_AND_ASSIGN(const auto server, StartLyingServer());
  RouteQuestions questions(workload);
  Load<RouteQuestions> load(server->address(), questions, 64, 2);
  EXPECT_THAT(load.Run(777), IsOk());
  EXPECT_THAT(load.Run(1),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("wrong answer: " + MakeKey(777)), HasSubstr("cache-99"))));
}

TEST(BenchTest, OneWrongOwnerEndsALoadOfBatches) {
  ASSERT_OK_AND_ASSIGN(const Workload workload, MakeWorkload(kCases[0], kKeys));
  ASSERT_OK_AND_ASSIGN(const auto server, StartLyingServer());
  BatchQuestions questions(workload, kBatchKeys);
  Load<BatchQuestions> load(server->address(), questions, 4, 2);
  EXPECT_THAT(load.Run(10), StatusIs(absl::StatusCode::kInternal, HasSubstr("wrong answer")));
}

TEST(BenchTest, AnEmptyHandlerAnswersNothingAndOneBatch) {
  ASSERT_OK_AND_ASSIGN(const Workload workload, MakeWorkload(kCases[0], kBatchKeys));
  for (const HandlerKind kind : {HandlerKind::kEmpty, HandlerKind::kEmptyWire}) {
    ASSERT_OK_AND_ASSIGN(const auto server, BenchServer::Start(kind, kCases[0], kBatchKeys));
    BatchQuestions batches(workload, kBatchKeys);
    Load<BatchQuestions> batch_load(server->address(), batches, 4, 2);
    EXPECT_THAT(batch_load.Run(4), IsOk());
    RouteQuestions questions(workload);
    Load<RouteQuestions> load(server->address(), questions, 64, 2);
    EXPECT_THAT(load.Run(1), StatusIs(absl::StatusCode::kInternal,
                                      HasSubstr("is \"\" of RING_VERSION_UNSPECIFIED")));
  }
}

TEST(BenchTest, ACallThatFailsEndsALoad) {
  Workload workload;
  workload.keys = {""};  // is refused
  workload.owners = {""};
  workload.ring_versions = {v1::RING_VERSION_UNSPECIFIED};
  ASSERT_OK_AND_ASSIGN(const auto server,
                       BenchServer::Start(HandlerKind::kReal, kCases[0], kBatchKeys));
  RouteQuestions questions(workload);
  Load<RouteQuestions> load(server->address(), questions, 1, 1);
  EXPECT_THAT(load.Run(1), StatusIs(absl::StatusCode::kUnavailable,
                                    AllOf(HasSubstr("code 3"), HasSubstr("key is empty"))));
}

TEST(BenchTest, AWrongOwnerInProcessHasNoFigure) {
  ASSERT_OK_AND_ASSIGN(Workload workload, MakeWorkload(kCases[0], kKeys));
  ASSERT_OK_AND_ASSIGN(const auto table, BuildTable(MakeSpec(kCases[0]), kCases[0].v2_ppm));
  workload.owners[777] = "cache-99";
  Figures figures;
  EXPECT_THAT(MeasureInProcess("tiny", *table, workload, 0.001, figures),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("wrong answer: " + MakeKey(777))));
  EXPECT_EQ(figures.Json(), "{\n}\n");
}

TEST(BenchTest, PairsAreInTurnsAndTheirMedianIsTheRatio) {
  std::string order;
  // Measured and reference by pair, behind a warm-up: the ratios are 2, 1, 4.
  std::vector<double> measured = {100, 4, 3, 8};
  std::vector<double> reference = {1, 2, 3, 2};
  std::size_t next_measured = 0, next_reference = 0;
  ASSERT_OK_AND_ASSIGN(const PairRatio ratio, MeasurePairs(
                                                  3,
                                                  [&]() -> absl::StatusOr<double> {
                                                    order += 'm';
                                                    return measured[next_measured++];
                                                  },
                                                  [&]() -> absl::StatusOr<double> {
                                                    order += 'r';
                                                    return reference[next_reference++];
                                                  }));
  EXPECT_EQ(order,
            "mr"
            "mr"
            "rm"
            "mr");
  EXPECT_EQ(ratio.pairs, 3u);
  EXPECT_THAT((std::vector<double>{ratio.lower_quartile, ratio.median, ratio.upper_quartile}),
              ElementsAre(1.5, 2, 3));
  EXPECT_EQ(ratio.measured, 4);
  EXPECT_EQ(ratio.reference, 2);
}

TEST(BenchTest, AnErrorOrNothingMeasuredHasNoRatio) {
  const auto one = []() -> absl::StatusOr<double> { return 1.0; };
  int left = 3;
  const auto fails = [&]() -> absl::StatusOr<double> {
    if (--left == 0) return absl::InternalError("wrong answer");
    return 1.0;
  };
  EXPECT_THAT(MeasurePairs(9, one, fails),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("wrong answer")));
  const auto nothing = []() -> absl::StatusOr<double> { return 0.0; };
  EXPECT_THAT(MeasurePairs(9, one, nothing),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("above 0")));
}

TEST(BenchTest, FiguresAreATableAndAJsonObject) {
  Figures figures;
  figures.Add("a_ratio", 1.125, "of something", Target{1.12});
  figures.Add("b_ratio", 1.12, "of something", Target{1.12});
  figures.Add("c_ratio", 1.12, "of something", Target{1.12, Bound::kBelow});
  figures.Add("calls", 53'000, "calls/s");
  figures.Add("a_speedup", 4, "of something", Target{4, Bound::kAtLeast});
  figures.Add("b_speedup", 3.9, "of something", Target{4, Bound::kAtLeast});
  EXPECT_EQ(figures.Json(),
            "{\n  \"a_ratio\": 1.125,\n  \"b_ratio\": 1.12,\n  \"c_ratio\": 1.12,\n"
            "  \"calls\": 53000,\n  \"a_speedup\": 4,\n  \"b_speedup\": 3.9\n}\n");
  const std::string table = figures.Table();
  EXPECT_THAT(table, ::testing::ContainsRegex("a_ratio +1.125 +<= 1.12 +MISSED +of something\n"));
  EXPECT_THAT(table, ::testing::ContainsRegex("b_ratio +1.12 +<= 1.12 +kept"));
  EXPECT_THAT(table, ::testing::ContainsRegex("c_ratio +1.12 +< 1.12 +MISSED"));
  EXPECT_THAT(table, ::testing::ContainsRegex("calls +53000 +calls/s"));
  EXPECT_THAT(table, ::testing::ContainsRegex("a_speedup +4 +>= 4 +kept"));
  EXPECT_THAT(table, ::testing::ContainsRegex("b_speedup +3.9 +>= 4 +MISSED"));
}

// The value of a name in the JSON of a suite; -1 if it is not there.
double ValueOf(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\": ");
  return at == std::string::npos ? -1 : std::atof(json.c_str() + at + name.size() + 4);
}

// A quick run takes a minute with sanitizers on a busy machine.
constexpr std::chrono::minutes kSmokePatience{5};

void ExpectFigures(const std::string& suite, const std::vector<std::string>& names) {
  const TempDir dir;
  const std::string path = dir.File("figures.json");
  const Completed done = testing::Run({RINGSHIFT_BENCH_BINARY, suite, "--smoke", "--json", path},
                                      /*input=*/"", kSmokePatience);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::ostringstream json;
  json << std::ifstream(path).rdbuf();
  for (const std::string& name : names) {
    EXPECT_GT(ValueOf(json.str(), name), 0) << name << "\n" << json.str();
    EXPECT_THAT(done.out, HasSubstr(name));
  }
}

TEST(BenchTest, TheRouterSuiteHasEveryFigureThatItPromises) {
  ExpectFigures("router", {"route_cpu_ratio_1m", "route_cpu_ratio_20m", "route_cpu_ratio_204m",
                           "batch_cpu_ratio", "batch_cpu_ratio_wire", "unary_p99_beside_batches",
                           "unary_p99_beside_reloads", "metrics_cpu_ratio", "memory_metric_error",
                           "build_peak_ratio", "route_ns_1m", "batch_key_ns_1m"});
}

TEST(BenchTest, AFileThatCannotBeWrittenIsRefusedBeforeTheSuite) {
  const Completed done = testing::Run(
      {RINGSHIFT_BENCH_BINARY, "ring", "--smoke", "--json", "/no/such/place/figures.json"});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("cannot write /no/such/place/figures.json"));
  EXPECT_THAT(done.out, IsEmpty());
}

TEST(BenchTest, TheRingSuiteHasEveryFigureThatItPromises) {
  ExpectFigures("ring",
                {"dense_bytes_per_point_20m", "dense_bytes_per_point_204m", "lookup_speedup_20m",
                 "lookup_speedup_1m", "batch_lookup_speedup_20m", "build_speedup_20m_one_core",
                 "build_two_core_speedup", "build_peak_ratio_dense", "pool_tenth_lookup_slowdown",
                 "pools_24_memory_ratio"});
}

TEST(BenchTest, TheMigrationSuiteHasEveryFigureThatItPromises) {
  ExpectFigures("migration", {"previous_owner_cpu_ratio", "previous_owner_answers",
                              "previous_owner_cpu_ratio_16m", "previous_owner_answers_16m",
                              "p99_ratio_during_1000_changes", "changes_per_second",
                              "forecast_seconds_225m", "forecast_again_ms"});
}

TEST(BenchTest, AWrongOwnerEndsTheRingSuite) {
  Figures figures;
  RingSuiteSize size = kSmokeRingSize;
  size.hash_mask_of_reference = 0xFFFFFF00;
  EXPECT_THAT(RunRingSuite(size, figures),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("wrong owner")));
}

TEST(BenchTest, AnUnknownSuiteIsRefusedWithTheUsage) {
  const Completed suite = testing::Run({RINGSHIFT_BENCH_BINARY, "rooter"});
  EXPECT_EQ(suite.exit_code, 2);
  EXPECT_THAT(suite.err, AllOf(HasSubstr("unknown suite rooter"), HasSubstr("Usage:")));
}

}  // namespace
}  // namespace ringshift::bench
