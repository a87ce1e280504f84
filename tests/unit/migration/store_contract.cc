#include "tests/unit/migration/store_contract.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {

StoreContractTest::StoreContractTest() {
  std::string pattern = ::testing::TempDir() + "/ringshift-store-XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
  store_ = MakeStore();
}

StoreContractTest::~StoreContractTest() {
  store_.reset();
  std::filesystem::remove_all(folder_);
}

std::unique_ptr<MigrationStore> StoreContractTest::MakeStore() {
  const std::string folder = absl::StrCat(folder_, "/", ++stores_made_);
  std::filesystem::create_directory(folder);
  return GetParam().make(folder, [this] { return now_ += std::chrono::seconds(1); });
}

Migration StoreContractTest::Make(const std::string& name) {
  return store_->EnsureExists({name, Share::None(), name, "router", "first start"})
      .value()
      .migration;
}

std::vector<MigrationChange> StoreContractTest::History() {
  return store_->History({"", std::nullopt, 1000}).value();
}

StoreContents StoreContractTest::Contents() { return store_->Export().value(); }

namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Share Percent(std::string_view text) { return Share::ParsePercent(text).value(); }

TEST_P(StoreContractTest, ANewMigrationHasItsShareSinceNow) {
  const Migration made =
      store_->EnsureExists({"ams", Percent("5"), "salt", "router", "start"}).value().migration;
  EXPECT_EQ(made.share, Percent("5"));
  EXPECT_EQ(made.share_time, now_);
  EXPECT_EQ(made.update_time, now_);
  EXPECT_FALSE(made.is_frozen);
  EXPECT_EQ(made.retired, RetiredRing::kNone);
  EXPECT_EQ(made.answers, AnswerHistory());
  EXPECT_THAT(store_->EnsureExists({"", Share::None(), "s", "a", "r"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("needs a data center")));
}

// Update.

TEST_P(StoreContractTest, AnUpdateIsOneRevisionWithARowForEachDataCenter) {
  Migration ams = Make("ams");
  Migration fra = Make("fra");
  Migration sfo = Make("sfo");
  ASSERT_THAT(SetShare(*store_, {"fra", Percent("10"), std::nullopt, "eva", "first"}), IsOk());
  fra = store_->Load()->at(1);
  const WallTime set = now_;
  for (Migration* const one : {&ams, &fra, &sfo}) {
    one->share = Percent("25");
    one->share_time = set;
  }
  // Not in the order of their names.
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Migration> updated,
      store_->Update({ChangeKind::kShare, {sfo, ams, fra}, "bob", "all of them", "more"}));
  ASSERT_THAT(updated, SizeIs(3));
  EXPECT_EQ(updated[0].data_center, "sfo");
  EXPECT_EQ(updated[1].data_center, "ams");
  EXPECT_EQ(updated[2].data_center, "fra");
  for (const Migration& migration : updated) {
    EXPECT_EQ(migration.revision, 5);
    EXPECT_EQ(migration.share, Percent("25"));
    EXPECT_EQ(migration.share_time, set);
    EXPECT_EQ(migration.update_time, now_);
    EXPECT_EQ(migration.actor, "bob");
    EXPECT_EQ(migration.reason, "all of them");
    EXPECT_EQ(migration.salt, migration.data_center);
  }
  EXPECT_THAT(store_->Load(), IsOkAndHolds(ElementsAre(updated[1], updated[2], updated[0])));

  const auto row = [this](const std::string& name, const char* from) {
    return MigrationChange{5,     now_,          name,          ChangeKind::kShare,
                           "bob", "all of them", Percent(from), Percent("25"),
                           "more"};
  };
  EXPECT_THAT(store_->History({"", std::nullopt, 3}),
              IsOkAndHolds(ElementsAre(row("ams", "0"), row("fra", "10"), row("sfo", "0"))));
}

TEST_P(StoreContractTest, AnUpdateSetsWhatItIsSaidToSetAndNothingElse) {
  const Migration made = Make("ams");
  Migration wanted = made;
  wanted.share = Percent("10");
  wanted.share_time = now_ - std::chrono::hours(1);
  wanted.is_frozen = true;
  wanted.retired = RetiredRing::kV1;
  wanted.answers.Change(Share::None(), Percent("10"), now_, WallTime());
  wanted.salt = "another";
  wanted.decision_algorithm = "another";
  wanted.update_time = WallTime();
  wanted.actor = wanted.reason = "another";
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> updated,
                       store_->Update({ChangeKind::kRetired, {wanted}, "bob", "why", "v1"}));
  wanted.salt = made.salt;
  wanted.decision_algorithm = made.decision_algorithm;
  wanted.update_time = now_;
  wanted.actor = "bob";
  wanted.reason = "why";
  wanted.revision = 2;
  EXPECT_THAT(updated, ElementsAre(wanted));
  EXPECT_THAT(store_->Load(), IsOkAndHolds(ElementsAre(wanted)));
}

TEST_P(StoreContractTest, EveryKindOfAnUpdateIsInTheHistoryWithBothShares) {
  Migration ams = Make("ams");
  for (const ChangeKind kind : {ChangeKind::kShare, ChangeKind::kRolledBack, ChangeKind::kUnfrozen,
                                ChangeKind::kRetired, ChangeKind::kRestored}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Migration> updated,
                         store_->Update({kind, {ams}, "bob", "why", "what"}));
    ams = updated.front();
    const MigrationChange expected{ams.revision, now_,          "ams",         kind,  "bob",
                                   "why",        Share::None(), Share::None(), "what"};
    EXPECT_EQ(History().front(), expected);
  }
}

TEST_P(StoreContractTest, AnUpdateOfWhichOneIsAtAnotherRevisionChangesNothingAtAll) {
  std::vector<Migration> all = {Make("ams"), Make("fra"), Make("sfo")};
  ASSERT_THAT(SetShare(*store_, {"fra", Percent("10"), std::nullopt, "eva", "faster"}), IsOk());
  for (Migration& migration : all) migration.share = Percent("50");
  const StoreContents before = Contents();
  EXPECT_THAT(store_->Update({ChangeKind::kShare, all, "bob", "slower", ""}),
              StatusIs(StatusCode::kAborted,
                       AllOf(HasSubstr("the migration of \"fra\" is at revision 4"),
                             HasSubstr("changed by \"eva\""),
                             HasSubstr("based on revision 2; read it again and decide again"))));
  EXPECT_EQ(Contents(), before);
  all[1].revision = 4;
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> updated,
                       store_->Update({ChangeKind::kShare, all, "bob", "again", ""}));
  EXPECT_EQ(updated[0].revision, 5);
}

TEST_P(StoreContractTest, AnUpdateOfWhichOneIsNotThereChangesNothingAtAll) {
  Migration ams = Make("ams");
  Migration fra = ams;
  fra.data_center = "fra";
  const StoreContents before = Contents();
  EXPECT_THAT(store_->Update({ChangeKind::kShare, {ams, fra}, "bob", "", ""}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no migration of \"fra\"")));
  EXPECT_EQ(Contents(), before);
}

TEST_P(StoreContractTest, AnUpdateThatIsNoneIsRefused) {
  const Migration ams = Make("ams");
  const StoreContents before = Contents();
  EXPECT_THAT(store_->Update({ChangeKind::kShare, {}, "bob", "", ""}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a change of no migration")));
  EXPECT_THAT(store_->Update({ChangeKind::kShare, {ams, ams}, "bob", "", ""}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a change of \"ams\" twice")));
  for (const ChangeKind kind :
       {ChangeKind::kCreated, ChangeKind::kRenamed, ChangeKind::kForgotten, ChangeKind::kTopology,
        ChangeKind::kDefaultShare, static_cast<ChangeKind>(0), static_cast<ChangeKind>(11)}) {
    EXPECT_THAT(store_->Update({kind, {ams}, "bob", "", ""}),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("cannot be of kind ", static_cast<int>(kind)))));
  }
  EXPECT_EQ(Contents(), before);
}

TEST_P(StoreContractTest, ThreeHundredDataCentersChangeInOneRevision) {
  std::vector<Migration> all;
  for (int i = 0; i < 300; ++i) {
    Migration migration = Make(absl::StrCat("dc-", 100 + i));
    migration.answers.Change(migration.share, Percent("1"), now_, WallTime());
    migration.share = Percent("1");
    all.push_back(std::move(migration));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> updated,
                       store_->Update({ChangeKind::kShare, all, "bob", "everywhere", ""}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(updated[i].data_center, all[i].data_center);
    ASSERT_EQ(updated[i].revision, 301);
  }
  EXPECT_THAT(store_->Load(), IsOkAndHolds(updated));
  const std::vector<MigrationChange> history = History();
  ASSERT_THAT(history, SizeIs(600));
  EXPECT_EQ(history[299].revision, 301);
  EXPECT_EQ(history[300].revision, 300);
}

// History.

TEST_P(StoreContractTest, PagesOfTheHistoryMayBeginAnywhereInARevision) {
  std::vector<Migration> all = {Make("sfo"), Make("ams"), Make("fra")};
  ASSERT_OK_AND_ASSIGN(all, store_->Update({ChangeKind::kShare, all, "bob", "", ""}));
  ASSERT_THAT(store_->SetDefaultShare({Percent("5"), std::nullopt, "bob", ""}), IsOk());
  ASSERT_THAT(store_->Update({ChangeKind::kUnfrozen, all, "bob", "", ""}), IsOk());
  const std::vector<MigrationChange> whole = History();
  ASSERT_THAT(whole, SizeIs(10));
  EXPECT_EQ(whole[0].data_center, "ams");
  EXPECT_EQ(whole[2].data_center, "sfo");
  EXPECT_EQ(whole[3].data_center, "");
  for (std::size_t size = 1; size <= 4; ++size) {
    std::vector<MigrationChange> pages;
    std::optional<HistoryPlace> before;
    for (;;) {
      ASSERT_OK_AND_ASSIGN(const std::vector<MigrationChange> page,
                           store_->History({"", before, size}));
      if (page.empty()) break;
      ASSERT_LE(page.size(), size);
      pages.insert(pages.end(), page.begin(), page.end());
      before = HistoryPlace{page.back().revision, page.back().data_center};
    }
    EXPECT_EQ(pages, whole) << size;
  }
  EXPECT_THAT(store_->History({"fra", HistoryPlace{6, "fra"}, 9}), IsOkAndHolds(SizeIs(2)));
  EXPECT_THAT(store_->History({"fra", HistoryPlace{6, "ams"}, 9}), IsOkAndHolds(SizeIs(3)));
}

// The default share.

TEST_P(StoreContractTest, TheDefaultShareIsNoneUntilItIsSet) {
  EXPECT_THAT(store_->LoadDefaultShare(), IsOkAndHolds(DefaultShare{Share::None(), 0}));
  const DefaultShare set{Percent("5"), 1};
  EXPECT_THAT(store_->SetDefaultShare({Percent("5"), 0, "eva", "new ones"}), IsOkAndHolds(set));
  EXPECT_THAT(store_->LoadDefaultShare(), IsOkAndHolds(set));
  const MigrationChange expected{
      1, now_, "", ChangeKind::kDefaultShare, "eva", "new ones", Share::None(), Percent("5"), ""};
  EXPECT_THAT(History(), ElementsAre(expected));
  EXPECT_THAT(store_->SetDefaultShare({Share::None(), std::nullopt, "eva", "none"}),
              IsOkAndHolds(DefaultShare{Share::None(), 2}));
}

TEST_P(StoreContractTest, ADefaultShareThatSomebodyChangedSinceIsAborted) {
  ASSERT_THAT(store_->SetDefaultShare({Percent("5"), std::nullopt, "eva", ""}), IsOk());
  const StoreContents before = Contents();
  EXPECT_THAT(store_->SetDefaultShare({Percent("7"), 0, "bob", ""}),
              StatusIs(StatusCode::kAborted, AllOf(HasSubstr("the default share is at revision 1"),
                                                   HasSubstr("based on revision 0"))));
  EXPECT_EQ(Contents(), before);
}

TEST_P(StoreContractTest, TheDefaultShareChangesNoMigration) {
  const Migration ams = Make("ams");
  ASSERT_THAT(store_->SetDefaultShare({Percent("5"), std::nullopt, "eva", ""}), IsOk());
  EXPECT_THAT(store_->Load(), IsOkAndHolds(ElementsAre(ams)));
}

// Forget and rename.

TEST_P(StoreContractTest, ForgettingWhatSomebodyChangedSinceIsAborted) {
  Make("ams");
  ASSERT_THAT(SetShare(*store_, {"ams", Percent("5"), std::nullopt, "eva", ""}), IsOk());
  const StoreContents before = Contents();
  EXPECT_THAT(store_->Forget({"ams", 1, "bob", ""}),
              StatusIs(StatusCode::kAborted, AllOf(HasSubstr("\"ams\" is at revision 2, changed by "
                                                             "\"eva\""),
                                                   HasSubstr("based on revision 1"))));
  EXPECT_EQ(Contents(), before);
  EXPECT_THAT(store_->Forget({"ams", 2, "bob", ""}), IsOkAndHolds(before.migrations[0]));
  EXPECT_THAT(store_->Load(), IsOkAndHolds(IsEmpty()));
}

TEST_P(StoreContractTest, ARenameGivesAllOfTheMigrationInOneChangeOfBothNames) {
  Migration ams = Make("ams");
  ams.share = Percent("100");
  ams.share_time = now_ - std::chrono::hours(7);
  ams.is_frozen = true;
  ams.retired = RetiredRing::kV1;
  ams.answers.Change(Share::None(), Percent("100"), now_, WallTime());
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> set,
                       store_->Update({ChangeKind::kShare, {ams}, "eva", "", ""}));
  ASSERT_OK_AND_ASSIGN(const Migration renamed,
                       store_->Rename({"ams", "fra", false, "bob", "moved"}));
  Migration expected = set.front();
  expected.data_center = "fra";
  expected.revision = 3;
  expected.update_time = now_;
  expected.actor = "bob";
  expected.reason = "moved";
  EXPECT_EQ(renamed, expected);
  EXPECT_THAT(store_->Load(), IsOkAndHolds(ElementsAre(expected)));
  const std::vector<MigrationChange> history = History();
  const MigrationChange from{
      3, now_, "ams", ChangeKind::kRenamed, "bob", "moved", Percent("100"), std::nullopt, "to fra"};
  const MigrationChange to{3,       now_,         "fra",          ChangeKind::kCreated, "bob",
                           "moved", std::nullopt, Percent("100"), "renamed from ams"};
  EXPECT_EQ(history.at(0), from);
  EXPECT_EQ(history.at(1), to);
}

// Topologies.

TEST_P(StoreContractTest, ATopologyKeepsHowItsNodesWere) {
  const std::vector<NodeChange> changes = {{"", now_ - std::chrono::hours(2), ""},
                                           {"n1", now_ - std::chrono::hours(1), "node n1"},
                                           {"n1", now_, ""},
                                           {"n2", now_ - std::chrono::hours(1), "node n2"}};
  ASSERT_THAT(store_->SaveTopology({"fra", "x", {{"n9", now_, ""}}, "router", "", ""}), IsOk());
  ASSERT_THAT(store_->SaveTopology({"ams", "one", changes, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<StoredTopology> topologies, store_->LoadTopologies());
  ASSERT_THAT(topologies, SizeIs(2));
  EXPECT_EQ(topologies[0].node_changes, changes);
  EXPECT_THAT(topologies[1].node_changes, SizeIs(1));

  ASSERT_THAT(store_->SaveTopology({"ams", "two", {changes[1]}, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(topologies, store_->LoadTopologies());
  EXPECT_THAT(topologies[0].node_changes, ElementsAre(changes[1]));

  ASSERT_THAT(store_->SaveTopology({"ams", std::nullopt, {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store_->SaveTopology({"ams", "two", {}, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(topologies, store_->LoadTopologies());
  EXPECT_THAT(topologies[0].node_changes, IsEmpty());
}

TEST_P(StoreContractTest, ATopologyOfTheSameTextIsNoChangeWhateverItsNodesWere) {
  ASSERT_THAT(store_->SaveTopology({"ams", "one", {{"n1", now_, ""}}, "router", "", ""}), IsOk());
  const StoreContents before = Contents();
  EXPECT_THAT(store_->SaveTopology({"ams", "one", {}, "router", "", ""}), IsOk());
  EXPECT_EQ(Contents(), before);
}

TEST_P(StoreContractTest, ChangesOfNodesThatAreNotInOrderAreRefused) {
  const WallTime before = now_ - std::chrono::hours(1);
  for (const auto& changes : {std::vector<NodeChange>{{"n2", now_, ""}, {"n1", now_, ""}},
                              std::vector<NodeChange>{{"n1", now_, ""}, {"n1", before, ""}},
                              std::vector<NodeChange>{{"n1", now_, ""}, {"n1", now_, "x"}}}) {
    EXPECT_THAT(
        store_->SaveTopology({"ams", "one", changes, "router", "", ""}),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("the changes of nodes of \"ams\"")));
  }
  EXPECT_THAT(store_->LoadTopologies(), IsOkAndHolds(IsEmpty()));
}

TEST_P(StoreContractTest, WhatIsImportedIsAllThatWasExported) {
  Make("ams");
  ASSERT_THAT(SetShare(*store_, {"ams", Percent("5"), std::nullopt, "eva", ""}), IsOk());
  ASSERT_THAT(store_->SetDefaultShare({Percent("5"), std::nullopt, "eva", ""}), IsOk());
  ASSERT_THAT(store_->SaveTopology({"ams", "one", {{"n1", now_, ""}}, "router", "", ""}), IsOk());
  const StoreContents contents = Contents();
  const auto other = MakeStore();
  ASSERT_THAT(other->Import(contents), IsOk());
  EXPECT_THAT(other->Export(), IsOkAndHolds(contents));
  // Changes go on from there.
  ASSERT_THAT(SetShare(*other, {"ams", Percent("6"), contents.migrations[0].revision, "eva", ""}),
              IsOk());
  EXPECT_EQ(other->Load()->at(0).revision, contents.last_revision + 1);
  EXPECT_THAT(store_->Import(contents),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not empty")));
}

// Nobody else has changed it.
TEST_P(StoreContractTest, AStoreThatIsUpIsNotStale) {
  Make("ams");
  EXPECT_EQ(store_->Stale(), std::nullopt);
  EXPECT_THAT(store_->Check(), IsOk());
}

TEST_P(StoreContractTest, TheListenerHearsNothingOfOnesOwnChanges) {
  int heard = 0;
  store_->SetListener([&heard] { ++heard; });
  Make("ams");
  ASSERT_THAT(SetShare(*store_, {"ams", Percent("5"), std::nullopt, "eva", ""}), IsOk());
  store_->SetListener(nullptr);
  EXPECT_EQ(heard, 0);
}

}  // namespace
}  // namespace ringshift::testing
