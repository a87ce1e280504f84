// One change of many data centers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/migration_controller.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::OrderFor;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Changed = MigrationController::Changed;

Order OrderForTier(const std::string& tier) { return {{{}, tier, false}, {}, "me", "because"}; }
Order OrderForAll() { return {{{}, "", true}, {}, "me", "because"}; }

Share Ppm(std::int64_t ppm) { return Share::FromPpm(ppm).value(); }

std::vector<std::string> Names(const std::vector<Changed>& changes) {
  std::vector<std::string> names;
  for (const Changed& changed : changes) names.push_back(changed.view.migration.data_center);
  return names;
}

// Serves `ams` and `fra` of tier canary, `lon` of tier large.
class MigrationSelectorTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override {
    ASSERT_THAT(controller_.Load(), IsOk());
    DataCenterSpec lon = SmallDataCenter("lon");
    lon.tier = "large";
    for (const DataCenterSpec& spec : {SmallDataCenter("ams"), SmallDataCenter("fra"), lon}) {
      ASSERT_THAT(Adopt(spec), IsOk());
    }
  }

  std::int64_t Revision(const std::string& name) { return Table(name)->migration().revision; }
  std::int64_t LastRevision() { return store_.Export().value().last_revision; }
};

TEST_F(MigrationSelectorTest, NamesATierAndAllAreEachOneChange) {
  ASSERT_OK_AND_ASSIGN(
      const auto named,
      controller_.SetShare({{{"lon", "ams", "lon"}, "", false}, {}, "me", "because"}, Ppm(10), {}));
  EXPECT_THAT(Names(named), ElementsAre("ams", "lon"));
  EXPECT_EQ(Revision("ams"), Revision("lon"));
  EXPECT_LT(Revision("fra"), Revision("lon"));
  EXPECT_EQ(Table("fra")->share(), Share::None());

  ASSERT_OK_AND_ASSIGN(const auto tier, controller_.SetShare(OrderForTier("canary"), Ppm(20), {}));
  EXPECT_THAT(Names(tier), ElementsAre("ams", "fra"));
  EXPECT_EQ(tier[0].previous, Ppm(10));
  EXPECT_EQ(tier[1].previous, Share::None());
  EXPECT_EQ(Revision("ams"), Revision("fra"));
  EXPECT_EQ(Table("lon")->share(), Ppm(10));

  ASSERT_OK_AND_ASSIGN(const auto all, controller_.SetShare(OrderForAll(), Ppm(30), {}));
  EXPECT_THAT(Names(all), ElementsAre("ams", "fra", "lon"));
  EXPECT_EQ(Revision("ams"), Revision("lon"));
}

TEST_F(MigrationSelectorTest, WhatIsNotServedIsNamedWithWhatIs) {
  const std::int64_t last = LastRevision();
  EXPECT_THAT(controller_.SetShare({{{"ams", "nowhere"}, "", false}, {}, "me", ""}, Ppm(10), {}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("\"nowhere\""), HasSubstr("ams, fra, lon"))));
  EXPECT_THAT(controller_.SetShare(OrderForTier("small"), Ppm(10), {}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("tier \"small\""), HasSubstr("canary, large"))));
  EXPECT_EQ(Table("ams")->share(), Share::None());
  EXPECT_EQ(LastRevision(), last);
}

TEST_F(MigrationSelectorTest, OnlyThoseThatChangeAreWritten) {
  ASSERT_THAT(Set("ams", 10), IsOk());
  const std::int64_t ams = Revision("ams");
  ASSERT_OK_AND_ASSIGN(const auto changes, controller_.SetShare(OrderForAll(), Ppm(10), {}));
  EXPECT_THAT(Names(changes), ElementsAre("ams", "fra", "lon"));
  EXPECT_EQ(Revision("ams"), ams);
  EXPECT_GT(Revision("fra"), ams);
  const std::int64_t last = LastRevision();
  ASSERT_THAT(controller_.SetShare(OrderForAll(), Ppm(10), {}), IsOk());
  EXPECT_EQ(LastRevision(), last);
}

TEST_F(MigrationSelectorTest, AChangeSinceTheBaseIsNamedWithWhoAndWhenAndNothingChanges) {
  Order order = OrderForAll();
  order.base_revision = LastRevision();
  ASSERT_THAT(Set("fra", 10), IsOk());
  const std::int64_t fra = Revision("fra");
  EXPECT_THAT(controller_.SetShare(order, Ppm(50), {}),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("\"fra\""), HasSubstr(std::to_string(fra)),
                             HasSubstr("by me at 2027-01-15"))));
  EXPECT_EQ(Table("ams")->share(), Share::None());
  order.base_revision = fra;
  EXPECT_THAT(controller_.SetShare(order, Ppm(50), {}), IsOk());
}

TEST_F(MigrationSelectorTest, WhoRefusesIsNamedAndTheOthersStayToo) {
  for (int i = 0; i < 12; ++i) {
    ASSERT_THAT(Adopt(SmallDataCenter("new-" + std::to_string(i), /*has_v1=*/false)), IsOk());
  }
  ASSERT_THAT(controller_.Rollback(OrderFor("ams")), IsOk());
  Order order = OrderFor("ams");
  for (const MigrationController::View& view : controller_.Migrations()) {
    order.selector.data_centers.push_back(view.migration.data_center);
  }
  const auto refused = controller_.SetShare(order, Ppm(10), {});
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("\"ams\" is frozen"), HasSubstr("\"new-0\" has no"),
                                      HasSubstr("; and 3 more"), Not(HasSubstr("\"fra\"")))));
  EXPECT_EQ(Table("fra")->share(), Share::None());
}

TEST_F(MigrationSelectorTest, ATierAndAllLeaveThoseWithoutV1Alone) {
  ASSERT_THAT(Adopt(SmallDataCenter("new", /*has_v1=*/false)), IsOk());
  const std::int64_t revision = Revision("new");
  MigrationController::ShareRules rules;
  rules.max_churn_ppm = Share::kMaxPpm;
  controller_.SetChurnOf([](const RoutingTable& table, Share, Share) -> absl::StatusOr<double> {
    if (table.data_center().v1() == nullptr) return absl::InternalError("there is no v1");
    return 0.1;
  });
  for (const Order& order : {OrderForTier("canary"), OrderForAll()}) {
    ASSERT_OK_AND_ASSIGN(
        const auto changes,
        controller_.SetShare(order, Table("ams")->share() == Ppm(10) ? Ppm(20) : Ppm(10), rules));
    EXPECT_THAT(Names(changes), Contains("new"));
    ASSERT_OK_AND_ASSIGN(const auto overridden, controller_.Override(order, Share::None()));
    EXPECT_EQ(overridden.size(), changes.size());
    EXPECT_FALSE(Table("new")->state().share_override);
    EXPECT_TRUE(Table("ams")->state().share_override);
    ASSERT_THAT(controller_.ClearOverride(order), IsOk());
  }
  EXPECT_EQ(Table("lon")->share(), Ppm(20));
  ASSERT_THAT(controller_.SetShare(OrderForAll(), Share::None(), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto retired, controller_.Retire(OrderForAll(), RingVersion::kV2, {}));
  EXPECT_THAT(Names(retired.changes), ElementsAre("ams", "fra", "lon", "new"));
  EXPECT_EQ(Table("ams")->data_center().v2(), nullptr);
  EXPECT_EQ(Revision("new"), revision);
  EXPECT_THAT(Set("new", 10),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has no ring v1")));
}

TEST_F(MigrationSelectorTest, ABaseThatTheStoreHasNotReachedIsOfAnotherStore) {
  const std::int64_t last = LastRevision();
  Order order = OrderForAll();
  order.base_revision = last + 1;
  const auto is_refused =
      StatusIs(absl::StatusCode::kAborted, AllOf(HasSubstr("revision " + std::to_string(last + 1)),
                                                 HasSubstr("not this store's"),
                                                 HasSubstr("newest is " + std::to_string(last))));
  EXPECT_THAT(controller_.SetShare(order, Ppm(50), {}), is_refused);
  EXPECT_THAT(controller_.Retire(order, RingVersion::kV2, {}), is_refused);
  EXPECT_THAT(controller_.Restore(order), is_refused);
  EXPECT_THAT(controller_.SetDefaultShare({Ppm(50), last + 1, "me", ""}), is_refused);
  EXPECT_EQ(LastRevision(), last);
  const std::int64_t fra = Revision("fra");
  controller_.Drop("fra");
  EXPECT_THAT(controller_.Forget({"fra", last + 1, "me", ""}), is_refused);
  EXPECT_THAT(controller_.Forget({"fra", fra, "me", ""}), IsOk());
  EXPECT_THAT(controller_.SetDefaultShare({Ppm(50), 0, "me", ""}), IsOk());
}

TEST_F(MigrationSelectorTest, AnUnevenV2StartsAtZeroWhateverTheDefault) {
  ASSERT_THAT(controller_.SetDefaultShare({Ppm(250'000), {}, "me", ""}), IsOk());
  DataCenterSpec uneven = SmallDataCenter("bad");
  uneven.nodes[0].weight = 1;  // 16 points
  ::testing::internal::CaptureStderr();
  ASSERT_THAT(Adopt(uneven), IsOk());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("uneven"), HasSubstr("data_center=bad"), HasSubstr("default=25"),
                    HasSubstr("16 points")));
  EXPECT_EQ(Table("bad")->share(), Share::None());
  uneven.name = "bad-new";
  uneven.v1.reset();
  ASSERT_THAT(Adopt(uneven), IsOk());
  EXPECT_EQ(Table("bad-new")->share(), Share::All());
}

TEST_F(MigrationSelectorTest, AnUnevenV2IsRaisedOnlyWhereThatIsAccepted) {
  DataCenterSpec uneven = SmallDataCenter("bad");
  uneven.nodes[0].weight = 1;  // 16 points
  ASSERT_THAT(Adopt(uneven), IsOk());
  ASSERT_OK_AND_ASSIGN(const MigrationController::View view, controller_.Find("bad"));
  EXPECT_THAT(view.balance_warning, HasSubstr("the lightest node, n0, has 16 points"));
  EXPECT_EQ(controller_.Find("ams")->balance_warning, "");
  EXPECT_THAT(Set("bad", 10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"bad\""), HasSubstr(view.balance_warning))));
  MigrationController::ShareRules rules;
  rules.accept_imbalance = true;
  ASSERT_THAT(controller_.SetShare(OrderFor("bad"), Ppm(10), rules), IsOk());
  EXPECT_THAT(Set("bad", 5), IsOk());  // down is always well
}

TEST_F(MigrationSelectorTest, MoreChurnThanTheLimitIsRefused) {
  MigrationController::ShareRules rules;
  rules.max_churn_ppm = 20'000;
  EXPECT_THAT(controller_.SetShare(OrderForAll(), Ppm(100'000), rules),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("churn")));
  controller_.SetChurnOf([](const RoutingTable& table, Share from, Share to) {
    const double moved = 0.9 * (to.ppm() - from.ppm()) / Share::kMaxPpm;
    return table.data_center().name() == "lon" ? moved : 0.1 * moved;
  });
  EXPECT_THAT(controller_.SetShare(OrderForAll(), Ppm(100'000), rules),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"lon\""), HasSubstr("9.0"), HasSubstr("above 2%"),
                             Not(HasSubstr("\"ams\"")))));
  EXPECT_EQ(Table("ams")->share(), Share::None());
  rules.max_churn_ppm = 90'000;
  EXPECT_THAT(controller_.SetShare(OrderForAll(), Ppm(100'000), rules), IsOk());
}

TEST_F(MigrationSelectorTest, ChurnIsThatOfTheShareThatAnOverrideHides) {
  controller_.SetChurnOf([](const RoutingTable&, Share from, Share to) {
    return static_cast<double>(to.ppm() - from.ppm()) / Share::kMaxPpm;
  });
  ASSERT_THAT(Set("ams", 200'000), IsOk());
  ASSERT_THAT(controller_.Override(OrderFor("ams"), Ppm(600'000)), IsOk());
  MigrationController::ShareRules rules;
  rules.max_churn_ppm = 20'000;
  EXPECT_THAT(controller_.SetShare(OrderFor("ams"), Ppm(600'000), rules),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("40.000000% of its key")));
  EXPECT_THAT(controller_.SetShare(OrderFor("ams"), Ppm(210'000), rules), IsOk());
}

TEST_F(MigrationSelectorTest, NewDataCentersStartAtTheDefaultShareAndTheOthersKeepTheirs) {
  DefaultShareUpdate update;
  update.share = Ppm(250'000);
  update.actor = "me";
  ASSERT_OK_AND_ASSIGN(const auto changed, controller_.SetDefaultShare(update));
  EXPECT_EQ(changed.previous, Share::None());
  EXPECT_EQ(changed.now.share, Ppm(250'000));
  ASSERT_THAT(Adopt(SmallDataCenter("par")), IsOk());
  ASSERT_THAT(Adopt(SmallDataCenter("new", /*has_v1=*/false)), IsOk());
  EXPECT_EQ(Table("par")->share(), Ppm(250'000));
  EXPECT_EQ(Table("new")->migration().share, Share::All());
  EXPECT_EQ(Table("ams")->share(), Share::None());
}

TEST_F(MigrationSelectorTest, AWriteThatTheStoreDidNotOwnUpToDoesNotStopTheNextOnes) {
  // The store has another revision than the controller knows of.
  MigrationUpdate behind;
  behind.migrations = {store_.Load().value()[0]};
  behind.migrations[0].share = Ppm(10);
  ASSERT_THAT(store_.Update(behind), IsOk());
  EXPECT_THAT(Set("ams", 20), StatusIs(absl::StatusCode::kAborted, HasSubstr("ams")));
  EXPECT_EQ(Table("ams")->share(), Ppm(10));  // what the store has
  EXPECT_THAT(Set("ams", 20), IsOk());
}

}  // namespace
}  // namespace ringshift
