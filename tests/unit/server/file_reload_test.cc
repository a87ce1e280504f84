#include "server/file_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "absl/synchronization/notification.h"
#include "routing/topology_writer.h"
#include "server/topology_file.h"
#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/memory_store.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

// A file with the data center `ams` in a tier.
std::string InTier(const std::string& tier) {
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.tier = tier;
  return WriteTopology({{spec}});
}

class FileReloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.Write("topology.yaml", InTier("start"));
    ASSERT_THAT(topology_.Start(), IsOk());
  }

  // The watcher sees it.
  void Write(const std::string& text) {
    dir_.Write("topology.yaml", text);
    reload_.TakeUp(TopologyChecksum(text));
  }
  // Keeps the queue busy until `go_on_`.
  void HoldQueue() {
    queue_.Add({[] { return true; },
                [this]() -> WorkQueue::Deliver {
                  is_busy_.Notify();
                  go_on_.WaitForNotification();
                  return [] {};
                },
                [](const absl::Status&) {}});
    is_busy_.WaitForNotification();
  }
  void Finish() {
    go_on_.Notify();
    EXPECT_TRUE(queue_.Stop(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  }
  std::string Tier() { return directory_.Find("ams").value()->data_center().tier(); }

  testing::TempDir dir_;
  testing::MemoryStore store_;
  RoutingDirectory directory_;
  MigrationController migrations_{store_, directory_};
  RouteMetrics metrics_;
  TopologyController topology_{{dir_.File("topology.yaml"), {}, {}, SystemWallTime},
                               store_,
                               migrations_,
                               directory_,
                               metrics_};
  absl::Notification is_busy_;
  absl::Notification go_on_;
  WorkQueue queue_;
  FileReload reload_{topology_, queue_};
};

TEST_F(FileReloadTest, AContentIsTakenUpAndKnownFromItsFirstMoment) {
  EXPECT_EQ(reload_.Known(), TopologyChecksum(InTier("start")));
  HoldQueue();
  Write(InTier("new"));
  EXPECT_EQ(reload_.Known(), TopologyChecksum(InTier("new")));
  Finish();
  EXPECT_EQ(reload_.Known(), TopologyChecksum(InTier("new")));
  EXPECT_EQ(Tier(), "new");
  EXPECT_EQ(topology_.status().last_trigger, ReloadTrigger::kFile);
}

TEST_F(FileReloadTest, OfManyOnlyTheLastIsTakenUp) {
  HoldQueue();
  for (int i = 0; i < 1000; ++i) Write(InTier("t" + std::to_string(i)));
  Finish();
  EXPECT_EQ(Tier(), "t999");
  EXPECT_EQ(topology_.status().generation, 2);
}

TEST_F(FileReloadTest, WhatACallHasTakenUpMeanwhileIsNotTakenUpAgain) {
  HoldQueue();
  Write(InTier("new"));
  ASSERT_THAT(topology_.Reload(ReloadTrigger::kCall, "me"), IsOk());
  Finish();
  EXPECT_EQ(topology_.status().last_trigger, ReloadTrigger::kCall);
  EXPECT_EQ(topology_.counts()[static_cast<std::size_t>(TopologyController::Result::kUnchanged)],
            0u);
}

// A reload that came between has taken up what is newer.
TEST_F(FileReloadTest, AContentThatTheFileHasNoMoreIsNotTakenUp) {
  HoldQueue();
  Write(InTier("old"));
  dir_.Write("topology.yaml", InTier("new"));
  ASSERT_THAT(topology_.Reload(ReloadTrigger::kSignal, "SIGHUP"), IsOk());
  Finish();
  EXPECT_EQ(Tier(), "new");
  EXPECT_EQ(topology_.status().generation, 2);
  EXPECT_EQ(topology_.status().last_trigger, ReloadTrigger::kSignal);
  EXPECT_EQ(reload_.Known(), TopologyChecksum(InTier("new")));
}

TEST_F(FileReloadTest, ABadContentIsKnownTooSoThatItIsTriedOnce) {
  Write("no topology");
  Finish();
  EXPECT_EQ(reload_.Known(), TopologyChecksum("no topology"));
  EXPECT_EQ(Tier(), "start");
}

TEST_F(FileReloadTest, AFileThatCannotBeReadIsShownAndKnownToBeGone) {
  ASSERT_TRUE(std::filesystem::remove(dir_.File("topology.yaml")));
  reload_.TakeUp("");
  Finish();
  EXPECT_EQ(reload_.Known(), "");
  EXPECT_THAT(topology_.status().last_error,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("topology.yaml")));
  EXPECT_EQ(topology_.counts()[static_cast<std::size_t>(TopologyController::Result::kFailed)], 1u);
  EXPECT_EQ(Tier(), "start");
}

TEST_F(FileReloadTest, WhatAFullQueueDoesNotTakeIsNotKnown) {
  HoldQueue();
  for (std::size_t i = 0; i < WorkQueue::kMaxWaiting; ++i) {
    queue_.Add({[] { return true; }, []() -> WorkQueue::Deliver { return [] {}; },
                [](const absl::Status&) {}});
  }
  Write(InTier("new"));
  EXPECT_EQ(reload_.Known(), TopologyChecksum(InTier("start")));
  Finish();
}

}  // namespace
}  // namespace ringshift
