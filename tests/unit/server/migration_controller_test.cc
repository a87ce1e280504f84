#include "server/migration_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::ChangeTo;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class MigrationControllerTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override { Adopt(); }
};

TEST_F(MigrationControllerTest, ANewDataCenterHasItsNameAsSaltAndShareZero) {
  EXPECT_EQ(Table("ams")->migration().salt, "ams");
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_EQ(Table("ams")->migration().actor, "ringshiftd");
  EXPECT_EQ(Table("ams")->migration().reason, "first seen in the topology");
}

TEST_F(MigrationControllerTest, ADataCenterThatIsGivenAV1StaysOnV2) {
  EXPECT_EQ(Table("new")->migration().share, Share::All());
  RoutingDirectory after_restart;
  MigrationController controller(store_, after_restart);
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("new", /*has_v1=*/true))), IsOk());
  EXPECT_EQ(after_restart.Find("new").value()->share(), Share::All());
}

TEST_F(MigrationControllerTest, AStoredShareIsInForceFromTheFirstTable) {
  ASSERT_THAT(controller_.SetShare(ChangeTo(375'000)), IsOk());
  RoutingDirectory after_restart;
  MigrationController controller(store_, after_restart);
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("ams"))), IsOk());
  EXPECT_EQ(after_restart.Find("ams").value()->share().ppm(), 375'000);
}

TEST_F(MigrationControllerTest, AChangeIsPublishedWithTheSameRings) {
  const std::shared_ptr<const RoutingTable> before = Table("ams");
  const auto changed = controller_.SetShare(ChangeTo(250'000, before->migration().revision));
  ASSERT_THAT(changed, IsOk());
  EXPECT_EQ(changed->previous, Share::None());
  EXPECT_EQ(changed->table, Table("ams"));
  EXPECT_EQ(Table("ams")->share().ppm(), 250'000);
  EXPECT_EQ(&Table("ams")->data_center(), &before->data_center());
  EXPECT_EQ(before->share(), Share::None());  // a request that has it goes on with it
}

TEST_F(MigrationControllerTest, WhatTheStoreRefusesIsNotPublished) {
  const std::shared_ptr<const RoutingTable> before = Table("ams");
  EXPECT_THAT(controller_.SetShare(ChangeTo(1, before->migration().revision + 7)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("stale revision")));
  store_.FailWith(absl::UnavailableError("the disk is full"));
  EXPECT_THAT(controller_.SetShare(ChangeTo(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_EQ(Table("ams"), before);
}

TEST_F(MigrationControllerTest, ADataCenterWithoutV1HasNoShareToSet) {
  ShareChange change = ChangeTo(0);
  change.data_center = "new";
  EXPECT_THAT(controller_.SetShare(change),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"new\""), HasSubstr("no ring v1"))));
  EXPECT_EQ(Table("new")->share(), Share::All());
}

TEST_F(MigrationControllerTest, AnUnknownDataCenterIsNamedWithTheKnownOnes) {
  ShareChange change = ChangeTo(0);
  change.data_center = "asm";
  EXPECT_THAT(controller_.SetShare(change),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
}

TEST_F(MigrationControllerTest, AStoreThatCannotBeReadPublishesNothing) {
  store_.FailWith(absl::UnavailableError("the disk is gone"));
  EXPECT_THAT(controller_.Adopt(Built(SmallDataCenter("fra"))),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("\"fra\""), HasSubstr("the disk is gone"))));
  EXPECT_THAT(directory_.Find("fra"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("fra")));
}

// A table published out of order would be wrong until the next change.
TEST_F(MigrationControllerTest, ConcurrentChangesArePublishedInTheOrderOfTheStore) {
  std::atomic<bool> done{false};
  std::thread watcher([this, &done] {
    for (std::int64_t last = 0; !done;) {
      const std::int64_t now = Table("ams")->migration().revision;
      EXPECT_GE(now, last);
      last = now;
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 200; ++i)
        EXPECT_THAT(controller_.SetShare(ChangeTo(1000 * t + i)), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  EXPECT_EQ(Table("ams")->migration(), store_.Load().value().front());
}

}  // namespace
}  // namespace ringshift
