#include "server/outcome_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "migration/decision.h"
#include "tests/unit/server/small_topology.h"
#include "tests/unit/server/stream_server.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::StreamServer;
using ::ringshift::testing::WaitUntil;
using ::testing::AllOf;
using ::testing::HasSubstr;

void AddOutcome(v1::ReportOutcomesRequest& report, v1::Outcome outcome, std::int64_t count) {
  v1::OutcomeCount& added = *report.add_outcomes();
  added.set_data_center("ams");
  added.set_ring_version(v1::RING_VERSION_V2);
  added.set_node("n0");
  added.set_outcome(outcome);
  added.set_count(count);
}
v1::ReportOutcomesRequest Hits(std::int64_t count) {
  v1::ReportOutcomesRequest report;
  AddOutcome(report, v1::OUTCOME_HIT, count);
  return report;
}

// A stream of reports, as a client has it.
class Report {
 public:
  explicit Report(v1::RoutingService::Stub& stub) {
    testing::SetDeadline(context_);
    writer_ = stub.ReportOutcomes(&context_, &response_);
  }
  bool Send(const v1::ReportOutcomesRequest& report) { return writer_->Write(report); }
  grpc::Status Finish() {
    writer_->WritesDone();
    return writer_->Finish();
  }
  // For a stream that the server ends.
  grpc::Status End() { return writer_->Finish(); }
  std::int64_t count() const { return response_.count(); }

 private:
  grpc::ClientContext context_;
  v1::ReportOutcomesResponse response_;
  std::unique_ptr<grpc::ClientWriter<v1::ReportOutcomesRequest>> writer_;
};

class OutcomeCallsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMaxCalls = 20;

  OutcomeCallsTest() {
    Migration migration;
    migration.data_center = "ams";
    migration.salt = "ams";
    migration.decision_algorithm = std::string(kDecisionAlgorithm);
    directory_.Publish(
        RoutingTable::Create(testing::Built(testing::SmallDataCenter("ams")), migration).value());
  }
  ~OutcomeCallsTest() override {
    if (server_ == nullptr) return;
    calls_->End();
    server_->Shutdown();
  }

  void Start(const std::string& reporters = "loopback") {
    reporters_ = OutcomeReporters::Parse(reporters).value();
    lifecycle_.StartServing();
    Listen();
  }
  void Listen() {
    calls_ = std::make_unique<OutcomeCalls>(service_, lifecycle_, reporters_, counts_, kMaxCalls);
    server_ = std::make_unique<StreamServer>(service_, lifecycle_, directory_,
                                             std::vector<QueueCalls*>{calls_.get()});
    stub_ = server_->NewStub();
  }

  // Of `ams`, answered by v2.
  double Count(const std::string& outcome) const {
    MetricFamilies families;
    counts_.Collect(families);
    for (const prometheus::ClientMetric& metric : families.front().metric) {
      if (metric.label[0].value == "ams" && metric.label[1].value == "v2" &&
          metric.label[2].value == outcome) {
        return metric.counter.value;
      }
    }
    return -1;
  }

  Lifecycle lifecycle_;
  RoutingDirectory directory_;
  RoutingService service_{lifecycle_, directory_};
  OutcomeCounts counts_{directory_};
  OutcomeReporters reporters_;
  std::unique_ptr<OutcomeCalls> calls_;
  std::unique_ptr<StreamServer> server_;
  std::unique_ptr<v1::RoutingService::Stub> stub_;
};

TEST_F(OutcomeCallsTest, EachMessageIsCountedWhenItComes) {
  Start();
  Report report(*stub_);
  ASSERT_TRUE(report.Send(Hits(3)));
  WaitUntil([&] { return Count("hit") == 3; });
  v1::ReportOutcomesRequest more = Hits(4);
  AddOutcome(more, v1::OUTCOME_CONNECT_ERROR, 5);
  ASSERT_TRUE(report.Send(more));
  WaitUntil([&] { return Count("connect_error") == 5; });
  EXPECT_EQ(Count("hit"), 7);
  EXPECT_TRUE(report.Finish().ok());
  EXPECT_EQ(report.count(), 12);
}

TEST_F(OutcomeCallsTest, AnEmptyStreamIsFine) {
  Start();
  Report report(*stub_);
  EXPECT_TRUE(report.Finish().ok());
  EXPECT_EQ(report.count(), 0);
}

TEST_F(OutcomeCallsTest, ABadOutcomeEndsTheStreamAndItsMessageIsNotCounted) {
  Start();
  Report report(*stub_);
  ASSERT_TRUE(report.Send(Hits(3)));
  v1::ReportOutcomesRequest bad = Hits(4);
  AddOutcome(bad, v1::OUTCOME_HIT, 0);
  ASSERT_TRUE(report.Send(bad));
  const grpc::Status status = report.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("outcomes[1]: count is 0"));
  EXPECT_EQ(Count("hit"), 3);
}

TEST_F(OutcomeCallsTest, WhoIsNotNamedMayNotReport) {
  Start("10.0.0.0/8");
  Report report(*stub_);
  const grpc::Status status = report.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("127.0.0.1"), HasSubstr("--outcome-reporters")));
}

TEST_F(OutcomeCallsTest, ARouterThatIsNotReadyTakesNoReports) {
  reporters_ = OutcomeReporters::Parse("any").value();
  Listen();
  EXPECT_EQ(Report(*stub_).End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(OutcomeCallsTest, StreamsBeyondTheLimitAreRefused) {
  Start();
  std::vector<std::unique_ptr<Report>> reports;
  for (std::size_t i = 0; i < kMaxCalls; ++i) {
    reports.push_back(std::make_unique<Report>(*stub_));
    ASSERT_TRUE(reports.back()->Send(Hits(1)));
  }
  WaitUntil([&] { return Count("hit") == kMaxCalls; });
  const grpc::Status status = Report(*stub_).End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("20 clients report"));
  for (const auto& report : reports) EXPECT_TRUE(report->Finish().ok());
}

TEST_F(OutcomeCallsTest, TheEndOfTheRouterEndsIdleStreams) {
  Start();
  std::vector<std::unique_ptr<Report>> reports;
  for (std::size_t i = 0; i < kMaxCalls; ++i) {
    reports.push_back(std::make_unique<Report>(*stub_));
    ASSERT_TRUE(reports.back()->Send(Hits(1)));
  }
  WaitUntil([&] { return Count("hit") == kMaxCalls; });
  calls_->End();
  reports.push_back(std::make_unique<Report>(*stub_));
  for (const auto& report : reports) {
    const grpc::Status status = report->End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("stopping"));
  }
}

TEST_F(OutcomeCallsTest, AClientThatVanishesLeavesNothingBehind) {
  Start();
  for (std::size_t i = 0; i < 3 * kMaxCalls; ++i) {
    grpc::ClientContext context;
    v1::ReportOutcomesResponse response;
    auto writer = stub_->ReportOutcomes(&context, &response);
    writer->Write(Hits(1));
    WaitUntil([&] { return Count("hit") == static_cast<double>(i + 1); });
    context.TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
    // Until the server knows it there is room for others.
  }
}

TEST_F(OutcomeCallsTest, EveryFaultIsRefusedWithItsIndex) {
  const struct {
    const char* message;
    void (*spoil)(v1::OutcomeCount&);
  } kFaults[] = {
      {"data_center is empty", [](v1::OutcomeCount& o) { o.clear_data_center(); }},
      {"ring_version is 0", [](v1::OutcomeCount& o) { o.clear_ring_version(); }},
      {"ring_version is 3",
       [](v1::OutcomeCount& o) { o.set_ring_version(static_cast<v1::RingVersion>(3)); }},
      {"outcome is 0", [](v1::OutcomeCount& o) { o.clear_outcome(); }},
      {"outcome is 6", [](v1::OutcomeCount& o) { o.set_outcome(static_cast<v1::Outcome>(6)); }},
      {"count is 0", [](v1::OutcomeCount& o) { o.clear_count(); }},
      {"count is -1", [](v1::OutcomeCount& o) { o.set_count(-1); }},
      {"1 to 1000000000", [](v1::OutcomeCount& o) { o.set_count(kMaxOutcomeCount + 1); }},
  };
  for (const auto& [message, spoil] : kFaults) {
    v1::ReportOutcomesRequest report;
    for (int i = 0; i < 3; ++i) AddOutcome(report, v1::OUTCOME_HIT, 1);
    spoil(*report.mutable_outcomes(2));
    EXPECT_THAT(CountOutcomes(report, counts_).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("outcomes[2]"), HasSubstr(message))));
  }
  EXPECT_EQ(Count("hit"), 0);
}

TEST_F(OutcomeCallsTest, AMessageHasTenThousandOutcomesAtMost) {
  v1::ReportOutcomesRequest report;
  for (int i = 0; i < kMaxOutcomes; ++i) AddOutcome(report, v1::OUTCOME_HIT, kMaxOutcomeCount);
  const absl::StatusOr<std::int64_t> counted = CountOutcomes(report, counts_);
  ASSERT_THAT(counted.status(), IsOk());
  EXPECT_EQ(*counted, std::int64_t{kMaxOutcomes} * kMaxOutcomeCount);
  AddOutcome(report, v1::OUTCOME_HIT, 1);
  EXPECT_THAT(CountOutcomes(report, counts_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("10001 outcomes")));
}

}  // namespace
}  // namespace ringshift
