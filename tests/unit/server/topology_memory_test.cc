// What a router does with rings that do not fit, without a router around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "routing/topology_writer.h"
#include "server/topology_controller.h"
#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/fake_files.h"
#include "tests/unit/server/memory_store.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::DataCenterOfSparsePools;
using ::ringshift::testing::FakeFiles;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::MemoryStore;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Change = TopologyController::Change;
using Outcome = Change::Outcome;

std::uint64_t PeakOf(const DataCenterSpec& spec) {
  return DataCenter::MeasureBuild(spec).value().peak_bytes;
}

DataCenterSpec WithPoints(DataCenterSpec spec, std::uint32_t points_per_weight) {
  spec.v2.points_per_weight = points_per_weight;
  return spec;
}

struct Router {
  Router(TopologyController::Options options, MigrationStore& store)
      : migrations(store, directory),
        topology(std::move(options), store, migrations, directory, metrics) {
    EXPECT_THAT(migrations.Load(), IsOk());
  }

  std::shared_ptr<const DataCenter> Served(std::string_view name) const {
    const auto table = directory.Find(name);
    return table.ok() ? (*table)->shared_data_center() : nullptr;
  }

  RoutingDirectory directory;
  MigrationController migrations;
  RouteMetrics metrics;
  TopologyController topology;
};

class TopologyMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::vector<DataCenterSpec>& specs) {
    dir_.Write("topology.yaml", WriteTopology({specs}));
  }
  TopologyController::Options Options(std::optional<std::uint64_t> build_memory = std::nullopt) {
    TopologyController::Options options;
    options.path = dir_.File("topology.yaml");
    options.limits = {1, 1};
    options.memory = MemoryBudget(build_memory, system_.Reader());
    return options;
  }

  TempDir dir_;
  FakeFiles system_;
  MemoryStore store_;
  const DataCenterSpec ams_ = SmallDataCenter("ams");
  const DataCenterSpec large_ams_ = WithPoints(ams_, 10'000);
  const DataCenterSpec fra_ = SmallDataCenter("fra");
};

TEST_F(TopologyMemoryTest, ADataCenterThatDoesNotFitFailsAndServesOnTheOthersAreTakenUp) {
  Write({ams_, fra_});
  Router router(Options(PeakOf(ams_)), store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const auto served = router.Served("ams");
  const std::uint64_t builds = router.topology.ring_builds();
  Write({large_ams_, WithPoints(fra_, 15)});
  const auto changes = router.topology.Reload(ReloadTrigger::kCall, "me");
  ASSERT_THAT(changes, IsOk());
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ((*changes)[0].outcome, Outcome::kFailed);
  EXPECT_EQ((*changes)[0].code, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT((*changes)[0].reason,
              AllOf(HasSubstr("data center ams"), HasSubstr("--build-memory")));
  EXPECT_EQ((*changes)[1].outcome, Outcome::kApplied);
  EXPECT_EQ(router.Served("ams"), served);
  EXPECT_EQ(router.Served("fra")->spec().v2.points_per_weight, 15u);
  EXPECT_EQ(router.topology.ring_builds(), builds + 1);
  EXPECT_THAT(router.topology.status().last_error,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("data center ams")));

  Write({ams_, fra_});
  ASSERT_THAT(router.topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  EXPECT_THAT(router.topology.status().last_error, IsOk());
}

TEST_F(TopologyMemoryTest, ANewDataCenterThatDoesNotFitIsNotSaidToServe) {
  Write({fra_});
  Router router(Options(PeakOf(fra_)), store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  Write({large_ams_, fra_});
  ::testing::internal::CaptureStderr();
  const auto changes = router.topology.Reload(ReloadTrigger::kCall, "me");
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_THAT(changes, IsOk());
  EXPECT_EQ((*changes)[0].outcome, Outcome::kFailed);
  EXPECT_EQ(router.Served("ams"), nullptr);
  EXPECT_EQ((*changes)[0].nodes.before, 0u);
  EXPECT_EQ((*changes)[0].nodes.after, large_ams_.nodes.size());
  EXPECT_EQ((*changes)[0].nodes.added, large_ams_.nodes.size());
  EXPECT_THAT(log, HasSubstr("msg=\"new data center not served\" data_center=ams"));
  EXPECT_THAT(log, Not(HasSubstr("serves as before")));
}

TEST_F(TopologyMemoryTest, PoolsThatNoMemoryIsLeftForAreWarnedOfInALineForEachRing) {
  const auto log_of_start = [&](int pools) {
    Write({DataCenterOfSparsePools("ams", pools)});
    Router router(Options(), store_);
    ::testing::internal::CaptureStderr();
    EXPECT_THAT(router.topology.Start(), IsOk());
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of_start(1), Not(HasSubstr("sparse pools are slow")));
  const std::string log = log_of_start(60);
  EXPECT_THAT(log,
              ::testing::ContainsRegex("level=warn msg=\"sparse pools are slow: no memory is left "
                                       "for rings of their own\" data_center=ams "
                                       "ring_version=v2 pools=[1-5][0-9]? slowest=p[0-9]+ "
                                       "mean_walk_points=[0-9]+\n"));
}

TEST_F(TopologyMemoryTest, OfOneThatDoesNotFitTheNodesAreThoseOfTheFile) {
  Write({ams_});
  Router router(Options(PeakOf(ams_)), store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  DataCenterSpec smaller = large_ams_;
  smaller.nodes.pop_back();
  Write({smaller});
  const auto changes = router.topology.Reload(ReloadTrigger::kCall, "me");
  ASSERT_THAT(changes, IsOk());
  EXPECT_EQ((*changes)[0].outcome, Outcome::kFailed);
  EXPECT_EQ((*changes)[0].nodes.before, ams_.nodes.size());
  EXPECT_EQ((*changes)[0].nodes.after, smaller.nodes.size());
}

TEST_F(TopologyMemoryTest, WhatTheSystemLeavesIsAskedAtEveryReload) {
  Write({ams_});
  Router router(Options(), store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  Write({large_ams_});
  const std::uint64_t peak =
      DataCenter::MeasureBuild(large_ams_, router.Served("ams").get()).value().peak_bytes;
  // 1 MiB of 64 MiB stays free.
  constexpr std::uint64_t kMachineKib = 64 << 10;
  system_.SetMachine(kMachineKib, peak / 1024 + 1024);
  ASSERT_THAT(router.topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  EXPECT_THAT(router.topology.status().last_error,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/proc/meminfo")));
  system_.SetMachine(kMachineKib, peak / 1024 + 1025);
  ASSERT_THAT(router.topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  EXPECT_EQ(router.Served("ams")->spec(), large_ams_);
}

TEST_F(TopologyMemoryTest, ARestartServesWhatItServedWhereTheFileDoesNotFit) {
  Write({large_ams_, fra_});
  ASSERT_THAT(Router(Options(), store_).topology.Start(), IsOk());
  // Neither is what the store has bound by --build-memory, which is smaller now.
  Write({WithPoints(ams_, 20'000), fra_});
  Router router(Options(PeakOf(ams_)), store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  EXPECT_EQ(router.Served("ams")->spec(), large_ams_);
  EXPECT_NE(router.Served("fra"), nullptr);
  EXPECT_THAT(router.topology.status().last_error,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("data center ams")));
}

// Else the next start would find a part in the store, and serve that alone.
TEST_F(TopologyMemoryTest, AStartWithNothingStoredServesAndStoresNothingUnlessAllOfItFits) {
  Write({fra_, WithPoints(SmallDataCenter("lon"), 10'000)});
  Router router(Options(PeakOf(fra_)), store_);
  EXPECT_THAT(router.topology.Start(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("data center lon")));
  EXPECT_EQ(router.Served("fra"), nullptr);
  const auto stored = store_.LoadTopologies();
  ASSERT_THAT(stored, IsOk());
  EXPECT_TRUE(stored->empty());
}

TEST_F(TopologyMemoryTest, ARestartWithLessMemoryThanItServedWithIsRefused) {
  Write({large_ams_});
  ASSERT_THAT(Router(Options(), store_).topology.Start(), IsOk());
  system_.SetMachine(1 << 20, PeakOf(large_ams_) / 1024);
  Router router(Options(), store_);
  EXPECT_THAT(router.topology.Start(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("data center ams"), HasSubstr("/proc/meminfo"))));
  EXPECT_EQ(router.topology.ring_builds(), 0u);
}

TEST_F(TopologyMemoryTest, TheFirstFileMustFitWholeButOnlyWhatIsSelectedOfIt) {
  Write({ams_, WithPoints(fra_, 10'000)});
  EXPECT_THAT(TopologyController::CheckFirstFile(Options()), IsOk());
  TopologyController::Options options = Options(PeakOf(ams_));
  EXPECT_THAT(
      TopologyController::CheckFirstFile(options),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("data center fra: to build")));
  options.data_centers = {"ams"};
  EXPECT_THAT(TopologyController::CheckFirstFile(options), IsOk());
}

}  // namespace
}  // namespace ringshift
