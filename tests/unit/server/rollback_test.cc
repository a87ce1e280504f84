// Rollbacks and overrides: in force before the store knows, or without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/migration_controller.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Allow;
using ::ringshift::testing::Built;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::OrderFor;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Share Ppm(std::int64_t ppm) { return Share::FromPpm(ppm).value(); }

class RollbackTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override { Adopt(); }
  using SmallRouterTest::Adopt;

  Migration Stored() { return store_.Load().value().front(); }  // of ams
  Migration InForce() { return Table("ams")->migration(); }

  absl::Status Override(std::int64_t ppm) {
    return controller_.Override(OrderFor("ams"), Ppm(ppm)).status();
  }
};

TEST_F(RollbackTest, ARollbackIsInForceAtOnceAndDurableOnceItIsSaved) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rolled_back, controller_.Rollback(OrderFor("ams")));
  ASSERT_EQ(rolled_back.changes.size(), 1);
  EXPECT_EQ(rolled_back.changes[0].previous, Ppm(500'000));
  EXPECT_FALSE(rolled_back.changes[0].view.is_durable);
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_TRUE(InForce().is_frozen);
  EXPECT_FALSE(Table("ams")->state().is_durable);
  EXPECT_EQ(Stored().share, Ppm(500'000));
  EXPECT_TRUE(controller_.HasUnsavedRollbacks());

  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_FALSE(controller_.HasUnsavedRollbacks());
  EXPECT_EQ(Stored(), InForce());
  EXPECT_TRUE(Stored().is_frozen);
  EXPECT_EQ(Stored().actor, "me");
  EXPECT_EQ(Stored().share_time, now_);
  EXPECT_TRUE(Table("ams")->state().is_durable);
  EXPECT_EQ(store_.Export()->history.back().kind, ChangeKind::kRolledBack);
}

TEST_F(RollbackTest, ARollbackWaitsForNoChangeThatWaitsForTheStoreAndOvertakesIt) {
  ASSERT_THAT(Set("ams", 100'000), IsOk());
  store_.Block();
  std::thread change([this] { EXPECT_THAT(Set("ams", 500'000), IsOk()); });
  store_.WaitUntilBlocked();
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Share::None());
  store_.Unblock();
  change.join();
  EXPECT_EQ(Stored().share, Ppm(500'000));
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_TRUE(InForce().is_frozen);
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_EQ(Stored().share, Share::None());
  EXPECT_TRUE(Stored().is_frozen);
}

TEST_F(RollbackTest, AStoreThatFailsLeavesTheRollbackInForceUntilItIsTaken) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  store_.FailWritesWith(absl::UnavailableError("the disk is full"));
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_THAT(controller_.SaveRollbacks(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_FALSE(controller_.Find("ams")->is_durable);
  // Also once its topology changed, or it was gone.
  ASSERT_THAT(Adopt(SmallDataCenter("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Share::None());
  controller_.Drop("ams");
  EXPECT_FALSE(controller_.Find("ams")->is_durable);
  EXPECT_TRUE(controller_.Find("ams")->migration.is_frozen);
  store_.FailWritesWith(absl::OkStatus());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_EQ(Stored().share, Share::None());
  ASSERT_THAT(Adopt(SmallDataCenter("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_TRUE(Table("ams")->state().is_durable);
}

TEST_F(RollbackTest, NoOtherChangeIsWrittenBeforeTheRollback) {
  ASSERT_THAT(Adopt(SmallDataCenter("fra")), IsOk());
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  ASSERT_THAT(Set("fra", 10), IsOk());
  const std::vector<MigrationChange> history = store_.Export()->history;
  EXPECT_EQ(history[history.size() - 2].kind, ChangeKind::kRolledBack);
  EXPECT_EQ(history.back().data_center, "fra");
  EXPECT_TRUE(Table("ams")->state().is_durable);
}

TEST_F(RollbackTest, WhatIsFrozenIsNotSetUntilItIsUnfrozen) {
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());  // at share 0 already
  EXPECT_THAT(Set("ams", 10), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("frozen"), HasSubstr("unfreeze"))));
  EXPECT_THAT(Set("ams", 0), IsOk());  // changes nothing
  ASSERT_OK_AND_ASSIGN(const auto unfrozen, controller_.Unfreeze(OrderFor("ams")));
  EXPECT_FALSE(unfrozen[0].view.migration.is_frozen);
  EXPECT_EQ(store_.Export()->history.back().kind, ChangeKind::kUnfrozen);
  EXPECT_THAT(Set("ams", 10), IsOk());
}

TEST_F(RollbackTest, ARollbackOfWhatIsFrozenIsInTheHistoryToo) {
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  const Migration before = Stored();
  now_ += std::chrono::hours(1);
  Order order = OrderFor("ams");
  order.actor = "you";
  ASSERT_OK_AND_ASSIGN(const auto again, controller_.Rollback(order));
  EXPECT_EQ(again.changes.size(), 1);
  EXPECT_TRUE(controller_.HasUnsavedRollbacks());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_EQ(Stored().revision, before.revision + 1);
  EXPECT_EQ(Stored().share_time, before.share_time);
  EXPECT_EQ(store_.Export()->history.back().kind, ChangeKind::kRolledBack);
  EXPECT_EQ(store_.Export()->history.back().actor, "you");
}

TEST_F(RollbackTest, ARollbackOvertakesAnUnfreezeThatWaitsForTheStore) {
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  store_.Block();
  std::thread unfreeze([this] { EXPECT_THAT(controller_.Unfreeze(OrderFor("ams")), IsOk()); });
  store_.WaitUntilBlocked();
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_TRUE(controller_.HasUnsavedRollbacks());
  store_.Unblock();
  unfreeze.join();
  EXPECT_FALSE(Stored().is_frozen);
  EXPECT_TRUE(InForce().is_frozen);
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_TRUE(Stored().is_frozen);
  EXPECT_TRUE(InForce().is_frozen);
  EXPECT_EQ(store_.Export()->history.back().kind, ChangeKind::kRolledBack);
}

TEST_F(RollbackTest, AnUnfreezeDoesNotEndTheFreezeOfARollbackThatCameAfterIt) {
  ASSERT_THAT(Adopt(SmallDataCenter("fra")), IsOk());
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  const std::uint64_t asked = controller_.RollbackCount();
  ASSERT_THAT(controller_.Rollback(OrderFor("fra")), IsOk());
  EXPECT_THAT(controller_.Unfreeze(OrderFor("ams"), asked), IsOk());
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_THAT(controller_.Unfreeze(OrderFor("ams"), asked),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("\"ams\" was rolled back by me")));
  EXPECT_TRUE(InForce().is_frozen);
  EXPECT_TRUE(Stored().is_frozen);
  EXPECT_THAT(controller_.Unfreeze(OrderFor("ams")), IsOk());
  EXPECT_FALSE(Stored().is_frozen);
}

TEST_F(RollbackTest, ARollbackWhileAnotherOneIsBeingSavedIsSavedAfterIt) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  Order first = OrderFor("ams");
  first.actor = "first";
  Order last = OrderFor("ams");
  last.actor = "last";
  ASSERT_THAT(controller_.Rollback(first), IsOk());
  const WallTime begin = now_;
  store_.Block();
  std::thread save([this] { EXPECT_THAT(controller_.SaveRollbacks(), IsOk()); });
  store_.WaitUntilBlocked();
  ASSERT_THAT(controller_.Rollback(last), IsOk());
  EXPECT_EQ(InForce().actor, "last");
  store_.Unblock();
  save.join();
  EXPECT_FALSE(controller_.HasUnsavedRollbacks());
  const std::vector<MigrationChange> history = store_.Export()->history;
  EXPECT_EQ(history[history.size() - 2].actor, "first");
  EXPECT_EQ(history.back().actor, "last");
  EXPECT_EQ(history.back().kind, ChangeKind::kRolledBack);
  EXPECT_EQ(Stored().share_time, begin);
}

TEST_F(RollbackTest, OfManyRollbacksThatWaitForTheStoreTheFirstOnesAndTheLastAreSaved) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  const std::size_t before = store_.Export()->history.size();
  for (int i = 1; i <= 100; ++i) {
    Order order = OrderFor("ams");
    order.actor = std::to_string(i);
    ASSERT_THAT(controller_.Rollback(order), IsOk());
  }
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_FALSE(controller_.HasUnsavedRollbacks());
  const std::vector<MigrationChange> history = store_.Export()->history;
  ASSERT_EQ(history.size(), before + 8);
  EXPECT_EQ(history[before].actor, "1");
  EXPECT_EQ(history[before + 6].actor, "7");
  EXPECT_EQ(history.back().actor, "100");
}

TEST_F(RollbackTest, ARestartFindsItAtZeroAndFrozen) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  RoutingDirectory after_restart;
  MigrationController controller(store_, after_restart);
  ASSERT_THAT(controller.Load(), IsOk());
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("ams")), {}, Allow), IsOk());
  EXPECT_EQ(after_restart.Find("ams").value()->share(), Share::None());
  EXPECT_THAT(controller.SetShare(OrderFor("ams"), Ppm(10), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("frozen")));
}

TEST_F(RollbackTest, ADataCenterWithoutV1IsLeftAloneAndReported) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rolled_back,
                       controller_.Rollback({{{}, "", true}, {}, "me", "because"}));
  EXPECT_THAT(rolled_back.without_v1, ElementsAre("new"));
  EXPECT_EQ(rolled_back.changes.size(), 1);
  EXPECT_EQ(Table("new")->share(), Share::All());
  EXPECT_FALSE(Table("new")->migration().is_frozen);
}

TEST_F(RollbackTest, AnOverrideNeedsNoStoreAndIsShownWithItsReason) {
  store_.FailWith(absl::UnavailableError("the disk is gone"));
  store_.Block();
  ASSERT_THAT(Override(300'000), IsOk());
  EXPECT_EQ(Table("ams")->share(), Ppm(300'000));
  EXPECT_EQ(InForce().share, Share::None());
  EXPECT_THAT(std::string(Table("ams")->share_reason()), HasSubstr("because"));
  ASSERT_TRUE(Table("ams")->state().share_override);
  EXPECT_EQ(Table("ams")->state().share_override->actor, "me");
  EXPECT_EQ(Table("ams")->state().share_override->time, now_);
  ASSERT_THAT(controller_.ClearOverride(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_THAT(controller_.ClearOverride(OrderFor("ams")), IsOk());
}

TEST_F(RollbackTest, AnOverrideOutlastsAChangeOfTheShareAndOfTheTopology) {
  ASSERT_THAT(Override(300'000), IsOk());
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  ASSERT_THAT(Adopt(SmallDataCenter("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Ppm(300'000));
  ASSERT_THAT(controller_.ClearOverride(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Ppm(500'000));
}

TEST_F(RollbackTest, ARollbackEndsAnOverride) {
  ASSERT_THAT(Override(300'000), IsOk());
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_FALSE(Table("ams")->state().share_override);
}

TEST_F(RollbackTest, AnOverrideDoesNotRaiseWhatIsFrozen) {
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_THAT(Override(10), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     AllOf(HasSubstr("\"ams\" is frozen"), HasSubstr("unfreeze"))));
  EXPECT_FALSE(Table("ams")->state().share_override);
  EXPECT_THAT(Override(0), IsOk());
  ASSERT_THAT(controller_.Unfreeze(OrderFor("ams")), IsOk());
  EXPECT_THAT(Override(10), IsOk());
}

TEST_F(RollbackTest, WhatIsNotServedKeepsNothingElseFromBeingRolledBack) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  const auto roll_back = [this](std::vector<std::string> names) {
    return controller_.Rollback({{std::move(names), "", false}, {}, "me", "because"});
  };
  ASSERT_OK_AND_ASSIGN(const auto rolled_back, roll_back({"sin", "ams", "lon", "sin"}));
  EXPECT_THAT(rolled_back.unknown, ElementsAre("lon", "sin"));
  ASSERT_EQ(rolled_back.changes.size(), 1);
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_THAT(roll_back({"sin", "lon"}),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("\"lon\""), HasSubstr("ams"))));
}

TEST_F(RollbackTest, ARollbackGoesBackFromTheShareThatAnswered) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  ASSERT_THAT(Override(300'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rolled_back, controller_.Rollback(OrderFor("ams")));
  EXPECT_EQ(rolled_back.changes[0].previous, Ppm(300'000));
}

TEST_F(RollbackTest, AnOverrideNeedsTheRingThatItNames) {
  EXPECT_THAT(controller_.Override({{{"ams", "new"}, "", false}, {}, "me", "why"}, Ppm(10)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"new\""), HasSubstr("no ring v1"))));
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_THAT(controller_.Override(OrderFor("new"), Share::All()), IsOk());
}

// Which ring answered what.

TEST_F(RollbackTest, WhatAnsweredBeforeAChangeIsWarmUntilTheWindowIsOver) {
  ASSERT_THAT(Set("ams", 500'000), IsOk());
  EXPECT_EQ(Table("ams")->state().warmth.v1_warm_from, Share::None());
  EXPECT_EQ(Table("ams")->state().warmth.first_share, Share::None());
  now_ += std::chrono::hours(1);
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table("ams")->state().warmth.v2_warm_below, Ppm(500'000));
  now_ += std::chrono::hours(23);
  const auto before = Table("ams");
  controller_.Refresh();
  EXPECT_EQ(Table("ams")->state().warmth.first_share, Ppm(500'000));
  EXPECT_EQ(Table("ams")->state().warmth.v2_warm_below, Ppm(500'000));
  EXPECT_NE(Table("ams"), before);
  now_ += std::chrono::hours(1);
  controller_.Refresh();
  EXPECT_EQ(Table("ams")->state().warmth.v2_warm_below, Share::None());
  const auto cold = Table("ams");
  now_ += std::chrono::hours(100);
  controller_.Refresh();
  EXPECT_EQ(Table("ams"), cold);  // nothing to publish
}

TEST_F(RollbackTest, AnOverrideIsAnAnswerTooAndTheNextWriteStoresIt) {
  ASSERT_THAT(Override(400'000), IsOk());
  now_ += std::chrono::minutes(1);
  ASSERT_THAT(controller_.ClearOverride(OrderFor("ams")), IsOk());
  EXPECT_EQ(Table("ams")->state().warmth.v2_warm_below, Ppm(400'000));
  ASSERT_THAT(Set("ams", 100'000), IsOk());
  EXPECT_EQ(Stored().answers.At(Ppm(100'000), now_ - std::chrono::hours(1)).v2_warm_below,
            Ppm(400'000));

  RoutingDirectory after_restart;
  MigrationController controller(store_, after_restart,
                                 {{}, std::chrono::hours(24), [this] { return now_; }});
  ASSERT_THAT(controller.Load(), IsOk());
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("ams")), {}, Allow), IsOk());
  EXPECT_EQ(after_restart.Find("ams").value()->state().warmth.v2_warm_below, Ppm(400'000));
}

TEST_F(RollbackTest, YoungNodesAreUnsettledUntilTheWindowIsOver) {
  const NodeHistory history =
      NodeHistory::Parse({{"10.0.0.1\\000443 10.0.0.1:443", now_, ""}}).value();
  ASSERT_THAT(Adopt(SmallDataCenter("ams"), history), IsOk());
  ASSERT_NE(Table("ams")->state().settled, nullptr);
  EXPECT_EQ(Table("ams")->state().settled->count(), 2);
  EXPECT_EQ(Table("new")->state().settled, nullptr);
  now_ += std::chrono::hours(24);
  controller_.Refresh();
  EXPECT_EQ(Table("ams")->state().settled, nullptr);
}

TEST_F(RollbackTest, AnotherSaltHasNoAnswersOfTheOneBefore) {
  ASSERT_THAT(Adopt(SmallDataCenter("fra")), IsOk());
  ASSERT_THAT(Override(300'000), IsOk());
  ASSERT_THAT(controller_.ClearOverride(OrderFor("ams")), IsOk());
  controller_.Drop("fra");
  ASSERT_THAT(controller_.Rename({"fra", "ams", false, "me", ""}), IsOk());
  EXPECT_EQ(Table("ams")->migration().salt, "fra");
  EXPECT_EQ(Table("ams")->state().warmth.v2_warm_below, Share::None());
}

}  // namespace
}  // namespace ringshift
