// Rings that are retired and called back, with the topology that builds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "routing/topology_writer.h"
#include "server/topology_controller.h"
#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/fake_files.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::OrderFor;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::hours kMinAge{1};

// A router's state without listeners and threads, which can be started again.
struct Router {
  Router(const testing::TempDir& dir, MigrationStore& store, WallClock clock, MemoryBudget memory)
      : migrations(store, directory, {{}, std::chrono::hours(24), clock}),
        topology({dir.File("topology.yaml"), {}, {1, 1}, clock, nullptr, std::move(memory)}, store,
                 migrations, directory, metrics) {
    EXPECT_THAT(migrations.Load(), IsOk());
    started = topology.Start();
  }

  RoutingDirectory directory;
  MigrationController migrations;
  RouteMetrics metrics;
  TopologyController topology;
  absl::Status started;
};

class RetirementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(SmallDataCenter("ams"));
    Start();
  }

  void Write(const DataCenterSpec& spec) { dir_.Write("topology.yaml", WriteTopology({{spec}})); }
  void Start() {
    StartAnyway();
    ASSERT_THAT(router_->started, IsOk());
  }
  void StartAnyway() {
    router_.reset();
    router_.emplace(
        dir_, store_, [this] { return now_; }, MemoryBudget(build_memory_, system_.Reader()));
  }
  // Leaves room to build this and no byte more.
  void LeaveRoomFor(const DataCenterSpec& spec, RetiredRing without) {
    constexpr std::uint64_t kMachineKib = 64 << 10;  // of which 1 MiB stays free
    const std::uint64_t peak = DataCenter::MeasureBuild(spec, nullptr, without)->peak_bytes;
    system_.SetMachine(kMachineKib, (peak + 1023) / 1024 + 1024);
  }
  void LeaveRoomForAll() { system_ = {}; }

  std::shared_ptr<const RoutingTable> Table() { return router_->directory.Find("ams").value(); }
  const DataCenter& DataCenterNow() { return Table()->data_center(); }
  Migration Stored() { return store_.Load().value().front(); }

  absl::Status Set(std::int64_t ppm) {
    return router_->migrations.SetShare(OrderFor("ams"), Share::FromPpm(ppm).value(), {}).status();
  }
  auto Retire(RingVersion version) {
    return router_->migrations.Retire(OrderFor("ams"), version, kMinAge);
  }
  // At 100 % for an hour, and without v1.
  void RetireV1() {
    ASSERT_THAT(Set(1'000'000), IsOk());
    now_ += kMinAge;
    ASSERT_THAT(Retire(RingVersion::kV1), IsOk());
    ASSERT_EQ(DataCenterNow().v1(), nullptr);
  }

  testing::TempDir dir_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
  testing::MemoryStore store_{[this] { return now_; }};
  std::optional<std::uint64_t> build_memory_;
  testing::FakeFiles system_;  // has no limit
  std::optional<Router> router_;
};

TEST_F(RetirementTest, ARingIsRetiredOnceItHasNotBeenReachedForLongEnough) {
  EXPECT_THAT(Retire(RingVersion::kV1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"ams\""), HasSubstr("share of 0%"))));
  ASSERT_THAT(Set(1'000'000), IsOk());
  EXPECT_THAT(Retire(RingVersion::kV1),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("for 0s only")));
  now_ += kMinAge - std::chrono::seconds(1);
  EXPECT_THAT(Retire(RingVersion::kV1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("59m59s"), HasSubstr("at least 1h"))));
  now_ += std::chrono::seconds(1);
  const std::uint64_t bytes = DataCenterNow().v1()->memory_bytes();
  const std::uint64_t checksum = Table()->checksum();
  ASSERT_OK_AND_ASSIGN(const auto retired, Retire(RingVersion::kV1));
  EXPECT_EQ(retired.ring_bytes, bytes);
  EXPECT_EQ(retired.changes[0].view.migration.retired, RetiredRing::kV1);
  EXPECT_EQ(Stored().retired, RetiredRing::kV1);
  EXPECT_EQ(DataCenterNow().v1(), nullptr);
  EXPECT_EQ(Table()->share(), Share::All());
  EXPECT_EQ(Table()->share_reason(), "");
  EXPECT_NE(Table()->checksum(), checksum);
  EXPECT_EQ(store_.Export()->history.back().detail, "ring v1");

  ASSERT_OK_AND_ASSIGN(const auto again, Retire(RingVersion::kV1));
  EXPECT_EQ(again.ring_bytes, 0);
}

TEST_F(RetirementTest, V2IsRetiredAtZero) {
  now_ += kMinAge;
  ASSERT_THAT(Retire(RingVersion::kV2), IsOk());
  EXPECT_EQ(DataCenterNow().v2(), nullptr);
  EXPECT_EQ(Table()->share(), Share::None());
  ASSERT_THAT(Set(100'000), IsOk());
  EXPECT_EQ(Table()->share(), Share::None());
  EXPECT_THAT(std::string(Table()->share_reason()), HasSubstr("waits for ring v2"));
  router_->topology.RestoreRings();
  EXPECT_EQ(Table()->share().ppm(), 100'000);
}

TEST_F(RetirementTest, TheAgeCountsFromTheEndOfAnOverrideThatReachedTheRing) {
  ASSERT_THAT(Set(1'000'000), IsOk());
  now_ += kMinAge;
  ASSERT_THAT(router_->migrations.Override(OrderFor("ams"), Share::None()), IsOk());
  now_ += std::chrono::minutes(10);
  ASSERT_THAT(router_->migrations.ClearOverride(OrderFor("ams")), IsOk());
  now_ += kMinAge - std::chrono::seconds(1);
  EXPECT_THAT(Retire(RingVersion::kV1),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("59m59s")));
  // One at which the ring answers nothing does not count.
  ASSERT_THAT(router_->migrations.Override(OrderFor("ams"), Share::All()), IsOk());
  ASSERT_THAT(router_->migrations.ClearOverride(OrderFor("ams")), IsOk());
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(Retire(RingVersion::kV1), IsOk());
}

TEST_F(RetirementTest, TheAgeOfV2CountsFromTheEndOfAnOverrideToo) {
  now_ += kMinAge;
  ASSERT_THAT(router_->migrations.Override(OrderFor("ams"), Share::All()), IsOk());
  ASSERT_THAT(router_->migrations.ClearOverride(OrderFor("ams")), IsOk());
  EXPECT_THAT(Retire(RingVersion::kV2),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("for 0s only")));
  now_ += kMinAge;
  EXPECT_THAT(Retire(RingVersion::kV2), IsOk());
}

TEST_F(RetirementTest, AnOverrideKeepsARing) {
  ASSERT_THAT(Set(1'000'000), IsOk());
  now_ += kMinAge;
  ASSERT_THAT(router_->migrations.Override(OrderFor("ams"), Share::All()), IsOk());
  EXPECT_THAT(Retire(RingVersion::kV1),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("override")));
}

TEST_F(RetirementTest, WhatTheStoreRefusesKeepsItsRing) {
  ASSERT_THAT(Set(1'000'000), IsOk());
  now_ += kMinAge;
  store_.FailWritesWith(absl::UnavailableError("the disk is full"));
  EXPECT_THAT(Retire(RingVersion::kV1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_NE(DataCenterNow().v1(), nullptr);
  EXPECT_THAT(router_->migrations.Override(OrderFor("ams"), Share::None()), IsOk());
}

TEST_F(RetirementTest, AnOverrideDoesNotReachForARingThatIsBeingRetired) {
  ASSERT_THAT(Set(1'000'000), IsOk());
  now_ += kMinAge;
  store_.Block();
  std::thread retire([this] { EXPECT_THAT(Retire(RingVersion::kV1), IsOk()); });
  store_.WaitUntilBlocked();
  EXPECT_THAT(router_->migrations.Override(OrderFor("ams"), Share::None()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no ring v1")));
  store_.Unblock();
  retire.join();
  EXPECT_EQ(DataCenterNow().v1(), nullptr);
}

TEST_F(RetirementTest, ARollbackDuringARetirementKeepsTheRing) {
  ASSERT_THAT(Set(1'000'000), IsOk());
  now_ += kMinAge;
  store_.Block();
  std::thread retire([this] {
    const auto retired = Retire(RingVersion::kV1);
    EXPECT_THAT(retired, IsOk());
    EXPECT_EQ(retired.value().ring_bytes, 0);
  });
  store_.WaitUntilBlocked();
  ASSERT_THAT(router_->migrations.Rollback(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table()->share(), Share::None());
  store_.Unblock();
  retire.join();
  EXPECT_NE(DataCenterNow().v1(), nullptr);
  EXPECT_EQ(Table()->share(), Share::None());
  ASSERT_THAT(router_->migrations.SaveRollbacks(), IsOk());
  EXPECT_EQ(Stored().retired, RetiredRing::kNone);
  EXPECT_EQ(Stored().share, Share::None());
}

TEST_F(RetirementTest, ARetiredRingIsNotBuiltByAStartNorByAReload) {
  RetireV1();
  Start();
  EXPECT_EQ(DataCenterNow().v1(), nullptr);
  EXPECT_EQ(router_->topology.ring_builds(), 1);
  DataCenterSpec more = SmallDataCenter("ams");
  more.nodes[0].weight = 11;
  Write(more);
  ASSERT_THAT(router_->topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  EXPECT_EQ(DataCenterNow().spec(), more);
  EXPECT_EQ(DataCenterNow().v1(), nullptr);
  router_->topology.RestoreRings();
  EXPECT_EQ(DataCenterNow().v1(), nullptr);
}

TEST_F(RetirementTest, ARestoredRingIsBuiltInTheBackgroundThenUsed) {
  RetireV1();
  ASSERT_OK_AND_ASSIGN(const auto restored, router_->migrations.Restore(OrderFor("ams")));
  EXPECT_EQ(restored[0].view.migration.retired, RetiredRing::kNone);
  EXPECT_EQ(Stored().retired, RetiredRing::kNone);
  EXPECT_EQ(DataCenterNow().v1(), nullptr);
  EXPECT_EQ(Table()->share_reason(), "ring v1 is being built");
  ASSERT_THAT(Set(600'000), IsOk());
  EXPECT_EQ(Table()->share(), Share::All());
  EXPECT_THAT(std::string(Table()->share_reason()), HasSubstr("waits for ring v1"));
  router_->topology.RestoreRings();
  EXPECT_NE(DataCenterNow().v1(), nullptr);
  EXPECT_EQ(Table()->share().ppm(), 600'000);
  EXPECT_EQ(Table()->share_reason(), "");
  // v2 answered all of it until now.
  EXPECT_EQ(Table()->state().warmth.v2_warm_below, Share::All());
}

TEST_F(RetirementTest, ARollbackGoesBackFromTheShareThatAnsweredAndEndsAnOverrideThatKeepsV2) {
  RetireV1();
  ASSERT_THAT(Set(600'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rolled_back, router_->migrations.Rollback(OrderFor("ams")));
  EXPECT_EQ(rolled_back.changes[0].previous, Share::All());
  ASSERT_THAT(router_->migrations.SaveRollbacks(), IsOk());
  // What answers anyway may be kept, though it is frozen.
  ASSERT_THAT(router_->migrations.Override(OrderFor("ams"), Share::All()), IsOk());
  router_->topology.RestoreRings();
  EXPECT_EQ(Table()->share(), Share::All());
  ASSERT_THAT(router_->migrations.Rollback(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table()->share(), Share::None());
}

TEST_F(RetirementTest, ARollbackRestoresThenSwitchesAlsoWhereTheStoreIsDown) {
  RetireV1();
  store_.FailWritesWith(absl::UnavailableError("the disk is full"));
  ASSERT_THAT(router_->migrations.Rollback(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table()->share(), Share::All());
  EXPECT_THAT(std::string(Table()->share_reason()), HasSubstr("waits for ring v1"));
  router_->topology.RestoreRings();
  EXPECT_EQ(Table()->share(), Share::None());
  EXPECT_TRUE(Table()->migration().is_frozen);
  store_.FailWritesWith(absl::OkStatus());
  ASSERT_THAT(router_->migrations.SaveRollbacks(), IsOk());
  EXPECT_EQ(Stored().retired, RetiredRing::kNone);
}

TEST_F(RetirementTest, ARestartInTheMiddleBuildsTheRingAtTheStart) {
  RetireV1();
  ASSERT_THAT(router_->migrations.Rollback(OrderFor("ams")), IsOk());
  ASSERT_THAT(router_->migrations.SaveRollbacks(), IsOk());
  Start();
  EXPECT_EQ(Table()->share(), Share::None());
  EXPECT_EQ(Table()->share_reason(), "");
  EXPECT_EQ(Table()->state().warmth.v2_warm_below, Share::All());
}

TEST_F(RetirementTest, ARingThatDoesNotFitIsSaidSoAndTriedAgainLater) {
  RetireV1();
  build_memory_ = 1000;
  Start();
  ASSERT_THAT(Set(500'000), IsOk());
  router_->topology.RestoreRings();
  EXPECT_EQ(Table()->share(), Share::All());
  EXPECT_THAT(std::string(Table()->share_reason()),
              AllOf(HasSubstr("waits for ring v1"), HasSubstr("--build-memory is 1000 bytes")));
  const auto before = Table();
  now_ += std::chrono::seconds(1);
  router_->topology.RestoreRings();
  EXPECT_EQ(Table(), before);
  EXPECT_EQ(Stored().share.ppm(), 500'000);
}

DataCenterSpec WithLargeV2() {
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.v2.points_per_weight = 10'000;
  return spec;
}

TEST_F(RetirementTest, ARestartWithoutRoomForARingThatDidNotAnswerServesWithTheOneThatDid) {
  const std::vector<std::function<absl::Status()>> wants = {
      [this] { return router_->migrations.Restore(OrderFor("ams")).status(); },
      [this] {
        const absl::Status done = router_->migrations.Rollback(OrderFor("ams")).status();
        return done.ok() ? router_->migrations.SaveRollbacks() : done;
      },
      [this] {
        const absl::Status done = router_->migrations.Unfreeze(OrderFor("ams")).status();
        return done.ok() ? Set(600'000) : done;
      }};
  RetireV1();
  for (const auto& want : wants) {
    ASSERT_THAT(want(), IsOk());
    const Share wanted = Stored().share;
    LeaveRoomFor(SmallDataCenter("ams"), RetiredRing::kV1);
    StartAnyway();
    ASSERT_THAT(router_->started, IsOk());
    EXPECT_EQ(DataCenterNow().v1(), nullptr);
    EXPECT_EQ(Table()->share(), Share::All());
    EXPECT_EQ(Table()->migration().share, wanted);
    EXPECT_THAT(Table()->state().restore_error,
                AllOf(HasSubstr("data center ams"), HasSubstr("/proc/meminfo")));
    // As in a router that runs.
    now_ += TopologyController::kRestorePause;
    router_->topology.RestoreRings();
    EXPECT_EQ(DataCenterNow().v1(), nullptr);
  }
  LeaveRoomForAll();
  now_ += TopologyController::kRestorePause;
  router_->topology.RestoreRings();
  EXPECT_NE(DataCenterNow().v1(), nullptr);
  EXPECT_EQ(Table()->share().ppm(), 600'000);
  EXPECT_EQ(Table()->state().restore_error, "");
}

TEST_F(RetirementTest, ARestartWithoutRoomForAV2ThatDidNotAnswerServesWithV1) {
  Write(WithLargeV2());
  ASSERT_THAT(router_->topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  now_ += kMinAge;
  ASSERT_THAT(Retire(RingVersion::kV2), IsOk());
  ASSERT_THAT(Set(1'000'000), IsOk());
  LeaveRoomFor(WithLargeV2(), RetiredRing::kV2);
  StartAnyway();
  ASSERT_THAT(router_->started, IsOk());
  EXPECT_EQ(DataCenterNow().v2(), nullptr);
  EXPECT_EQ(Table()->share(), Share::None());
}

TEST_F(RetirementTest, AStartFailsWithoutRoomForRingsThatDidAnswer) {
  ASSERT_THAT(Set(300'000), IsOk());
  ASSERT_THAT(Set(600'000), IsOk());
  LeaveRoomFor(SmallDataCenter("ams"), RetiredRing::kV1);
  StartAnyway();
  EXPECT_THAT(router_->started,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("data center ams")));
  // Nor does one without room for any ring succeed.
  LeaveRoomForAll();
  Start();
  ASSERT_THAT(Set(1'000'000), IsOk());
  system_.SetMachine(64 << 10, 1024);
  StartAnyway();
  EXPECT_THAT(router_->started,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("data center ams")));
}

TEST_F(RetirementTest, AMigrationWithARetiredRingThatGetsAServedNameTakesTheRingAway) {
  RetireV1();
  Write(SmallDataCenter("fra"));
  ASSERT_THAT(router_->topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  ASSERT_THAT(router_->migrations.Rename({"ams", "fra", false, "me", ""}), IsOk());
  const auto fra = router_->directory.Find("fra").value();
  EXPECT_EQ(fra->data_center().v1(), nullptr);
  EXPECT_EQ(fra->share(), Share::All());
  EXPECT_EQ(fra->migration().retired, RetiredRing::kV1);
}

TEST_F(RetirementTest, ARetiredV2IsNotTakenFromADataCenterThatHasNoOther) {
  now_ += kMinAge;
  ASSERT_THAT(Retire(RingVersion::kV2), IsOk());
  Write(SmallDataCenter("new", /*has_v1=*/false));
  ASSERT_THAT(router_->topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  ASSERT_THAT(router_->migrations.Rename({"ams", "new", false, "me", ""}), IsOk());
  EXPECT_NE(router_->directory.Find("new").value()->data_center().v2(), nullptr);
  Start();
  EXPECT_NE(router_->directory.Find("new").value()->data_center().v2(), nullptr);
}

TEST_F(RetirementTest, NodesThatJoinAreYoungAlsoAfterARestart) {
  DataCenterSpec more = SmallDataCenter("ams");
  more.nodes.push_back(more.nodes[0]);
  more.nodes.back().name = "n3";
  more.nodes.back().address = "10.0.0.3:443";
  Write(more);
  EXPECT_EQ(Table()->state().settled, nullptr);  // the first topology
  ASSERT_THAT(router_->topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(Table()->state().settled, nullptr);
    const auto n3 = DataCenterNow().node_set().Find("n3");
    EXPECT_EQ(Table()->state().settled->count(), 3);
    EXPECT_FALSE(Table()->state().settled->Contains(n3.value()));
    Start();
  }
  now_ += std::chrono::hours(24);
  Start();
  EXPECT_EQ(Table()->state().settled, nullptr);
}

TEST_F(RetirementTest, WhatNodesWereIsKnownAlsoAfterARestart) {
  DataCenterSpec less = SmallDataCenter("ams");
  less.nodes[1].weight = 5;
  less.nodes.erase(less.nodes.begin() + 2);
  Write(less);
  EXPECT_EQ(Table()->state().past_nodes, nullptr);
  ASSERT_THAT(router_->topology.Reload(ReloadTrigger::kCall, "me"), IsOk());
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(Table()->state().past_nodes, nullptr);
    EXPECT_EQ(Table()->state().settled, nullptr);
    for (const PastNode& node : Table()->state().past_nodes->nodes()) {
      const std::uint32_t least = node.node ? 5 : 0;
      EXPECT_EQ(node.pools[0], (PastWeights{.first = 10, .least = least, .most = 10}));
      EXPECT_EQ(node.pools[1], PastWeights());
    }
    EXPECT_EQ(Table()->state().past_nodes->nodes().size(), 2u);
    Start();
  }
  now_ += std::chrono::hours(24);
  Start();
  EXPECT_EQ(Table()->state().past_nodes, nullptr);
}

}  // namespace
}  // namespace ringshift
