#include "server/migration_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "routing/topology_change.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Allow;
using ::ringshift::testing::Built;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::SetShare;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MigrationControllerTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override { Adopt(); }

  // What Migrations says, as "NAME:PPM", with a "!" behind an orphan.
  std::vector<std::string> Views() const {
    std::vector<std::string> views;
    for (const MigrationController::View& view : controller_.Migrations()) {
      views.push_back(view.migration.data_center + ":" +
                      std::to_string(view.migration.share.ppm()) + (view.table ? "" : "!"));
    }
    return views;
  }

  absl::Status Adopt(const std::string& name) { return Adopt(SmallDataCenter(name)); }
  using SmallRouterTest::Adopt;
};

ForgetRequest Forget(const std::string& name) { return {name, std::nullopt, "me", "because"}; }

RenameRequest Rename(const std::string& from, const std::string& to) {
  return {from, to, /*keep_from=*/false, "me", "because"};
}

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
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("new", /*has_v1=*/true)), {}, Allow), IsOk());
  EXPECT_EQ(after_restart.Find("new").value()->share(), Share::All());
}

TEST_F(MigrationControllerTest, AStoredShareIsInForceFromTheFirstTable) {
  ASSERT_THAT(Set("ams", 375'000), IsOk());
  RoutingDirectory after_restart;
  MigrationController controller(store_, after_restart);
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("ams")), {}, Allow), IsOk());
  EXPECT_EQ(after_restart.Find("ams").value()->share().ppm(), 375'000);
}

TEST_F(MigrationControllerTest, AChangeIsPublishedWithTheSameRings) {
  const std::shared_ptr<const RoutingTable> before = Table("ams");
  const auto changed = Set("ams", 250'000, before->migration().revision);
  ASSERT_THAT(changed, IsOk());
  EXPECT_EQ(changed->previous, Share::None());
  EXPECT_EQ(changed->view.table, Table("ams"));
  EXPECT_EQ(Table("ams")->share().ppm(), 250'000);
  EXPECT_EQ(&Table("ams")->data_center(), &before->data_center());
  EXPECT_EQ(before->share(), Share::None());  // a request that has it goes on with it
}

TEST_F(MigrationControllerTest, EveryChangeOfWhatAnswersIsToldUntilNobodyIsToBe) {
  int told = 0;
  controller_.SetOnPublish([&told] { ++told; });
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  EXPECT_EQ(told, 1);
  ASSERT_THAT(controller_.Override(testing::OrderFor("ams"), Share::None()), IsOk());
  ASSERT_THAT(controller_.ClearOverride(testing::OrderFor("ams")), IsOk());
  EXPECT_EQ(told, 3);
  ASSERT_THAT(controller_.Rollback(testing::OrderFor("ams")), IsOk());
  EXPECT_EQ(told, 4);
  controller_.SetOnPublish(nullptr);
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_EQ(told, 4);
}

TEST_F(MigrationControllerTest, WhatTheStoreRefusesIsNotPublished) {
  const std::shared_ptr<const RoutingTable> before = Table("ams");
  EXPECT_THAT(Set("ams", 1, before->migration().revision - 1),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("changed since revision")));
  store_.FailWith(absl::UnavailableError("the disk is full"));
  EXPECT_THAT(Set("ams", 1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_EQ(Table("ams"), before);
}

TEST_F(MigrationControllerTest, ADataCenterWithoutV1TakesNoShareButAll) {
  for (const std::int64_t ppm : {0, 999'999}) {
    EXPECT_THAT(Set("new", ppm), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          AllOf(HasSubstr("\"new\""), HasSubstr("no ring v1"),
                                                HasSubstr("the only share to set is 100%"))));
  }
  EXPECT_EQ(Table("new")->share(), Share::All());
}

TEST_F(MigrationControllerTest, AMigrationThatWasRenamedToNoV1IsSetToAllSoThatAV1MayCome) {
  ASSERT_THAT(Set("ams", 300'000), IsOk());
  controller_.Drop("ams");
  ASSERT_THAT(controller_.Rename(Rename("ams", "new")), IsOk());
  EXPECT_EQ(Table("new")->migration().share.ppm(), 300'000);
  EXPECT_EQ(Table("new")->share(), Share::All());
  ASSERT_THAT(Set("new", 1'000'000), IsOk());
  EXPECT_EQ(Table("new")->migration().share, Share::All());
  EXPECT_EQ(Table("new")->migration().salt, "ams");
  EXPECT_THAT(
      CheckAnsweringRings(Table("new")->data_center().spec(), SmallDataCenter("new"), Share::All()),
      IsOk());
}

TEST_F(MigrationControllerTest, WhatIsNotSelectedIsKeptAndIsNoOrphan) {
  RoutingDirectory directory;
  MigrationController controller(store_, directory, {{"ams", "gone"}});
  ASSERT_THAT(controller.Load(), IsOk());
  EXPECT_EQ(controller.OrphanCount(), 1);  // `ams`
  EXPECT_TRUE(controller.Find("ams")->is_orphan);
  EXPECT_FALSE(controller.Find("new")->is_orphan);
  EXPECT_EQ(controller.Find("new")->table, nullptr);
  const std::vector<MigrationController::View> views = controller.Migrations();
  ASSERT_EQ(views.size(), 2);
  EXPECT_TRUE(views[0].is_orphan);
  EXPECT_FALSE(views[1].is_orphan);

  EXPECT_THAT(controller.Forget(Forget("new")), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                         HasSubstr("--data-centers leaves data")));
  ASSERT_THAT(controller.Rename(Rename("new", "newer")), IsOk());
  EXPECT_THAT(controller.Find("new"), IsOk());  // still there

  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("ams")), {}, Allow), IsOk());
  EXPECT_EQ(controller.OrphanCount(), 0);
  EXPECT_FALSE(controller.Find("ams")->is_orphan);
  controller.Drop("ams");
  EXPECT_EQ(controller.OrphanCount(), 1);
}

// What another router makes of the store that both have.

TEST_F(MigrationControllerTest, WhatAnotherRouterSetIsInForceOnceCaughtUp) {
  const std::shared_ptr<const RoutingTable> other = Table("new");
  const auto set =
      SetShare(store_, {"ams", Share::FromPpm(250'000).value(), std::nullopt, "eva", ""});
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ(Table("ams")->share(), Share::None());
  controller_.CatchUp();
  EXPECT_EQ(Table("ams")->share().ppm(), 250'000);
  EXPECT_EQ(Table("ams")->migration(), *set);
  EXPECT_EQ(Table("new"), other);  // what did not change is not made anew
  ASSERT_THAT(Set("ams", 300'000, set->revision), IsOk());
}

TEST_F(MigrationControllerTest, AlsoAnEarlierRevisionIsTaken) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  const Migration before = Table("ams")->migration();
  ASSERT_THAT(Set("ams", 900'000), IsOk());
  // A backup of the store was restored.
  StoreContents contents = store_.Export().value();
  for (Migration& migration : contents.migrations) {
    if (migration.data_center == "ams") migration = before;
  }
  testing::MemoryStore restored;
  ASSERT_THAT(restored.Import(contents), IsOk());
  store_.ReplaceWith(restored);
  controller_.CatchUp();
  EXPECT_EQ(Table("ams")->migration(), before);
}

TEST_F(MigrationControllerTest, AnotherHistoryOfTheSameLengthIsTaken) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  StoreContents contents = store_.Export().value();
  for (Migration& migration : contents.migrations) {
    if (migration.data_center == "ams") migration.share = Share::FromPpm(300'000).value();
  }
  testing::MemoryStore restored;
  ASSERT_THAT(restored.Import(contents), IsOk());
  store_.ReplaceWith(restored);
  controller_.CatchUp();
  EXPECT_EQ(Table("ams")->share().ppm(), 300'000);
}

TEST_F(MigrationControllerTest, ARollbackThatTheStoreHasNotOutlastsWhatAnotherRouterSet) {
  ASSERT_THAT(controller_.Rollback(testing::OrderFor("ams")), IsOk());
  ASSERT_THAT(SetShare(store_, {"ams", Share::All(), std::nullopt, "eva", ""}), IsOk());
  controller_.CatchUp();
  EXPECT_EQ(Table("ams")->share(), Share::None());
  ASSERT_THAT(controller_.SaveRollbacks(), IsOk());
  EXPECT_EQ(store_.Load()->front().share, Share::None());
  EXPECT_TRUE(store_.Load()->front().is_frozen);
}

TEST_F(MigrationControllerTest, OrphansComeAndGoWithTheStore) {
  ASSERT_THAT(store_.EnsureExists({"fra", Share::All(), "fra", "eva", ""}), IsOk());
  controller_.CatchUp();
  EXPECT_THAT(Views(), ElementsAre("ams:0", "fra:1000000!", "new:1000000"));
  ASSERT_THAT(store_.Forget({"fra", std::nullopt, "eva", ""}), IsOk());
  controller_.CatchUp();
  EXPECT_THAT(Views(), ElementsAre("ams:0", "new:1000000"));
}

TEST_F(MigrationControllerTest, WhatIsServedAndGoneFromTheStoreKeepsItsShare) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  ASSERT_THAT(store_.Forget({"ams", std::nullopt, "eva", ""}), IsOk());
  controller_.CatchUp();
  EXPECT_EQ(Table("ams")->share().ppm(), 250'000);
  EXPECT_EQ(store_.Load()->front().share.ppm(), 250'000);
  EXPECT_THAT(Set("ams", 300'000), IsOk());
}

TEST_F(MigrationControllerTest, AStoreThatCannotBeReadChangesNothingThatIsServed) {
  const std::shared_ptr<const RoutingTable> before = Table("ams");
  store_.FailWith(absl::UnavailableError("the disk is gone"));
  controller_.CatchUp();
  EXPECT_EQ(Table("ams"), before);
}

TEST_F(MigrationControllerTest, AnUnknownDataCenterIsNamedWithTheKnownOnes) {
  EXPECT_THAT(Set("asm", 0),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
}

TEST_F(MigrationControllerTest, AStoreThatCannotBeReadPublishesNothing) {
  store_.FailWith(absl::UnavailableError("the disk is gone"));
  EXPECT_THAT(controller_.Adopt(Built(SmallDataCenter("fra")), {}, Allow),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("\"fra\""), HasSubstr("the disk is gone"))));
  EXPECT_THAT(directory_.Find("fra"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("fra")));
}

TEST_F(MigrationControllerTest, WhatTheStoreHasAndNobodyServesIsAnOrphan) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  RoutingDirectory after_restart;
  MigrationController controller(store_, after_restart);
  ASSERT_THAT(controller.Load(), IsOk());
  EXPECT_EQ(controller.OrphanCount(), 2);
  const auto orphan = controller.Find("ams");
  ASSERT_THAT(orphan, IsOk());
  EXPECT_EQ(orphan->table, nullptr);
  EXPECT_EQ(orphan->migration.share.ppm(), 250'000);
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("ams")), {}, Allow), IsOk());
  EXPECT_EQ(controller.OrphanCount(), 1);
  const auto served = controller.Find("ams");
  ASSERT_THAT(served, IsOk());
  EXPECT_EQ(served->table, after_restart.Find("ams").value());
  EXPECT_EQ(served->migration, orphan->migration);
}

TEST_F(MigrationControllerTest, ADroppedDataCenterKeepsItsMigrationForItsReturn) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  controller_.Drop("ams");
  controller_.Drop("ams");
  EXPECT_THAT(directory_.Find("ams"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("ams")));
  EXPECT_THAT(Views(), ElementsAre("ams:250000!", "new:1000000"));
  EXPECT_THAT(Set("ams", 0), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"ams\"")));
  ASSERT_THAT(Adopt("ams"), IsOk());
  EXPECT_THAT(Views(), ElementsAre("ams:250000", "new:1000000"));
}

TEST_F(MigrationControllerTest, AnUnknownMigrationIsNamedWithTheKnownOnes) {
  controller_.Drop("ams");
  EXPECT_THAT(
      controller_.Find("asm"),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("\"asm\""), HasSubstr("ams, new"))));
}

TEST_F(MigrationControllerTest, AServedDataCenterIsAdoptedAnewWithoutTheStore) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  const Migration before = Table("ams")->migration();
  store_.FailWith(absl::UnavailableError("the disk is gone"));
  const std::shared_ptr<const DataCenter> changed = Built(SmallDataCenter("ams"));
  ASSERT_THAT(controller_.Adopt(changed, {}, Allow), IsOk());
  EXPECT_EQ(Table("ams")->shared_data_center(), changed);
  EXPECT_EQ(Table("ams")->migration(), before);
}

TEST_F(MigrationControllerTest, TheCheckOfAnAdoptionSeesThePresentShareAndMayRefuse) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  const std::shared_ptr<const RoutingTable> before = Table("ams");
  std::optional<Share> seen;
  EXPECT_THAT(controller_.Adopt(Built(SmallDataCenter("ams")), {},
                                [&seen](const Migration& migration, Share) -> absl::Status {
                                  seen = migration.share;
                                  return absl::FailedPreconditionError("not now");
                                }),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not now")));
  EXPECT_EQ(seen, before->share());
  EXPECT_EQ(Table("ams"), before);
}

TEST_F(MigrationControllerTest, AnOrphanIsForgottenAndComesBackAtZero) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  EXPECT_THAT(controller_.Forget(Forget("ams")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("serves"), HasSubstr("\"ams\""))));
  controller_.Drop("ams");
  const auto forgotten = controller_.Forget(Forget("ams"));
  ASSERT_THAT(forgotten, IsOk());
  EXPECT_EQ(forgotten->share.ppm(), 250'000);
  EXPECT_THAT(Views(), ElementsAre("new:1000000"));
  EXPECT_THAT(controller_.Forget(Forget("ams")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("ams")));
  ASSERT_THAT(Adopt("ams"), IsOk());
  EXPECT_THAT(Views(), ElementsAre("ams:0", "new:1000000"));
}

TEST_F(MigrationControllerTest, WhatTheStoreDoesNotForgetStaysAnOrphan) {
  controller_.Drop("ams");
  store_.FailWritesWith(absl::UnavailableError("the disk is full"));
  EXPECT_THAT(controller_.Forget(Forget("ams")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_THAT(controller_.Rename(Rename("ams", "fra")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_THAT(Views(), ElementsAre("ams:0!", "new:1000000"));
}

TEST_F(MigrationControllerTest, ARenamedMigrationIsInForceAtOnceWhereItsNewNameIsServed) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  ASSERT_THAT(Adopt("fra"), IsOk());
  controller_.Drop("ams");
  const std::shared_ptr<const RoutingTable> before = Table("fra");
  const auto renamed = controller_.Rename(Rename("ams", "fra"));
  ASSERT_THAT(renamed, IsOk());
  EXPECT_EQ(*renamed, Table("fra")->migration());
  EXPECT_EQ(Table("fra")->share().ppm(), 250'000);
  EXPECT_EQ(Table("fra")->migration().salt, "ams");
  EXPECT_EQ(Table("fra")->shared_data_center(), before->shared_data_center());
  EXPECT_THAT(Views(), ElementsAre("fra:250000", "new:1000000"));
}

TEST_F(MigrationControllerTest, ARenamedDataCenterThatIsServedKeepsItsMigrationToo) {
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  ASSERT_THAT(controller_.Rename(Rename("ams", "fra")), IsOk());
  EXPECT_THAT(Views(), ElementsAre("ams:250000", "fra:250000!", "new:1000000"));
  ASSERT_THAT(Set("ams", 300'000), IsOk());
  ASSERT_THAT(Adopt("fra"), IsOk());
  EXPECT_EQ(Table("fra")->migration().salt, "ams");
  EXPECT_THAT(Views(), ElementsAre("ams:300000", "fra:250000", "new:1000000"));
}

TEST_F(MigrationControllerTest, ANameWhoseShareSomebodySetIsNotOverwritten) {
  ASSERT_THAT(Adopt("fra"), IsOk());
  ASSERT_THAT(Set("ams", 250'000), IsOk());
  EXPECT_THAT(controller_.Rename(Rename("fra", "ams")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("ams")));
  EXPECT_THAT(controller_.Rename(Rename("nowhere", "ams")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_THAT(Views(), ElementsAre("ams:250000", "fra:0", "new:1000000"));
}

// A table that cannot be made must be found before the store has changed.
TEST_F(MigrationControllerTest, ADecisionThatThisProgramDoesNotKnowIsNotRenamedToWhatIsServed) {
  StoreContents contents = store_.Export().value();
  contents.migrations[0].decision_algorithm = "from-the-future";  // of ams
  testing::MemoryStore store;
  ASSERT_THAT(store.Import(contents), IsOk());
  RoutingDirectory directory;
  MigrationController controller(store, directory);
  ASSERT_THAT(controller.Load(), IsOk());
  ASSERT_THAT(controller.Adopt(Built(SmallDataCenter("fra")), {}, Allow), IsOk());
  EXPECT_THAT(controller.Rename(Rename("ams", "fra")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("from-the-future")));
  EXPECT_EQ(directory.Find("fra").value()->migration().salt, "fra");
  EXPECT_EQ(store.Load().value()[1].salt, "fra");
}

// Each data center is in a list once, whatever happens meanwhile.
TEST_F(MigrationControllerTest, AListIsWholeWhileDataCentersComeAndGo) {
  std::atomic<bool> done{false};
  std::thread reader([this, &done] {
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
      const std::vector<MigrationController::View> views = controller_.Migrations();
      EXPECT_EQ(views.size(), 2);
      EXPECT_THAT(controller_.Find("ams"), IsOk());
    }
    done = true;
  });
  const std::shared_ptr<const DataCenter> ams = Built(SmallDataCenter("ams"));
  while (!done) {
    controller_.Drop("ams");
    EXPECT_THAT(controller_.Adopt(ams, {}, Allow), IsOk());
  }
  reader.join();
  EXPECT_THAT(Views(), ElementsAre("ams:0", "new:1000000"));
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
      for (int i = 0; i < 200; ++i) EXPECT_THAT(Set("ams", 1000 * t + i), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  EXPECT_EQ(Table("ams")->migration(), store_.Load().value().front());
}

}  // namespace
}  // namespace ringshift
