// Forgetting, renaming, updates, saved topologies, and the history of it all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/sqlite_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/sqlite_store_fixture.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using testing::FullDisk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Percent;
using testing::SetShare;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::Tool;

class SqliteStoreChangeTest : public testing::SqliteStoreTest {
 protected:
  // Makes ams, at 25 % and with the salt `salt-ams`, at revision 2.
  std::unique_ptr<SqliteStore> MakeAms() {
    auto store = MustOpen();
    EXPECT_THAT(store->EnsureExists({"ams", Share::None(), "salt-ams", "router", "first start"}),
                IsOk());
    EXPECT_THAT(SetShare(*store, {"ams", Percent("25"), std::nullopt, "eva", "canary"}), IsOk());
    return store;
  }

  static std::vector<MigrationChange> HistoryOf(SqliteStore& store, const std::string& name) {
    return store.History({name, std::nullopt, 100}).value();
  }
  // When the clock was looked at last.
  WallTime LastTime() const { return now_; }
};

// Forget.

TEST_F(SqliteStoreChangeTest, AForgottenMigrationIsReturnedAsItWasAndIsGone) {
  const auto store = MakeAms();
  const Migration before = store->Load()->at(0);
  EXPECT_THAT(store->Forget({"ams", 2, "bob", "closed"}), IsOkAndHolds(before));
  EXPECT_THAT(store->Load(), IsOkAndHolds(IsEmpty()));
  const MigrationChange expected{3,     LastTime(), "ams",         ChangeKind::kForgotten,
                                 "bob", "closed",   Percent("25"), std::nullopt,
                                 ""};
  EXPECT_EQ(HistoryOf(*store, "ams").at(0), expected);
}

TEST_F(SqliteStoreChangeTest, ForgettingTakesTheTopologyToo) {
  const auto store = MakeAms();
  ASSERT_THAT(store->SaveTopology({"ams", "nodes: []", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->SaveTopology({"fra", "nodes: []", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->Forget({"ams", std::nullopt, "bob", "closed"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<StoredTopology> topologies, store->LoadTopologies());
  EXPECT_THAT(topologies, ElementsAre(Field(&StoredTopology::data_center, "fra")));
}

TEST_F(SqliteStoreChangeTest, AForgottenDataCenterBeginsAnewWithTheNextRevision) {
  const auto store = MakeAms();
  ASSERT_THAT(store->Forget({"ams", std::nullopt, "bob", "closed"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto again,
                       store->EnsureExists({"ams", Share::None(), "ams", "router", "start"}));
  EXPECT_TRUE(again.created);
  EXPECT_EQ(again.migration.revision, 4);
  EXPECT_THAT(HistoryOf(*store, "ams"), SizeIs(4));
}

TEST_F(SqliteStoreChangeTest, ForgettingWhatIsNotThereIsNotFound) {
  const auto store = MakeAms();
  EXPECT_THAT(store->Forget({"fra", std::nullopt, "bob", ""}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no migration of \"fra\"")));
  EXPECT_THAT(store->Load(), IsOkAndHolds(SizeIs(1)));
}

TEST_F(SqliteStoreChangeTest, ForgettingAtAnOldRevisionIsAborted) {
  const auto store = MakeAms();
  EXPECT_THAT(store->Forget({"ams", 1, "bob", ""}),
              StatusIs(StatusCode::kAborted, AllOf(HasSubstr("\"ams\" is at revision 2"),
                                                   HasSubstr("based on revision 1;"))));
  EXPECT_THAT(store->Load(), IsOkAndHolds(SizeIs(1)));
  EXPECT_THAT(HistoryOf(*store, "ams"), SizeIs(2));
}

// Rename.

TEST_F(SqliteStoreChangeTest, ARenamedMigrationKeepsShareSaltAndAlgorithm) {
  const auto store = MakeAms();
  Tool(path_).Run("UPDATE migration SET decision_algorithm = 'older-rule'");
  const Migration before = store->Load()->at(0);
  ASSERT_OK_AND_ASSIGN(const Migration renamed,
                       store->Rename({"ams", "ams2", false, "bob", "new building"}));
  const Migration expected{
      "ams2",         Percent("25"),     "salt-ams", "older-rule",       3, LastTime(), "bob",
      "new building", before.share_time, false,      RetiredRing::kNone, {}};
  EXPECT_EQ(renamed, expected);
  EXPECT_THAT(store->Load(), IsOkAndHolds(ElementsAre(expected)));
}

TEST_F(SqliteStoreChangeTest, TheHistorySaysOfBothNamesWhatWasRenamed) {
  const auto store = MakeAms();
  ASSERT_THAT(store->Rename({"ams", "ams2", false, "bob", "new"}), IsOk());
  const MigrationChange from{3,        LastTime(), "ams",         ChangeKind::kRenamed,
                             "bob",    "new",      Percent("25"), std::nullopt,
                             "to ams2"};
  const MigrationChange to{3,     LastTime(),   "ams2",        ChangeKind::kCreated, "bob",
                           "new", std::nullopt, Percent("25"), "renamed from ams"};
  EXPECT_EQ(HistoryOf(*store, "ams").at(0), from);
  EXPECT_THAT(HistoryOf(*store, "ams2"), ElementsAre(to));
}

TEST_F(SqliteStoreChangeTest, ANameThatKeepsItsMigrationIsUnchanged) {
  const auto store = MakeAms();
  ASSERT_THAT(store->SaveTopology({"ams", "nodes: []", {}, "router", "", ""}), IsOk());
  const Migration before = store->Load()->at(0);
  ASSERT_THAT(store->Rename({"ams", "ams2", true, "bob", "new"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> migrations, store->Load());
  ASSERT_THAT(migrations, SizeIs(2));
  EXPECT_EQ(migrations[0], before);
  EXPECT_EQ(migrations[1].share, Percent("25"));
  EXPECT_EQ(migrations[1].salt, "salt-ams");
  EXPECT_THAT(store->LoadTopologies(), IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(HistoryOf(*store, "ams2").at(0).detail, "copied from ams");
}

TEST_F(SqliteStoreChangeTest, RenamingTakesTheTopologyOfTheOldNameOnly) {
  const auto store = MakeAms();
  ASSERT_THAT(store->SaveTopology({"ams", "old", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->SaveTopology({"ams2", "new", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->Rename({"ams", "ams2", false, "bob", "new"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<StoredTopology> topologies, store->LoadTopologies());
  EXPECT_THAT(topologies, ElementsAre(Field(&StoredTopology::text, "new")));
}

// What a router makes when a data center comes under its new name, before anybody renames.
TEST_F(SqliteStoreChangeTest, AMigrationThatNobodyTouchedIsOverwritten) {
  const auto store = MakeAms();
  ASSERT_THAT(store->EnsureExists({"ams2", Share::None(), "ams2", "router", "start"}), IsOk());
  ASSERT_THAT(store->SaveTopology({"ams2", "new", {}, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Migration renamed,
                       store->Rename({"ams", "ams2", false, "bob", "new"}));
  EXPECT_EQ(renamed.share, Percent("25"));
  EXPECT_EQ(renamed.salt, "salt-ams");
  EXPECT_THAT(store->Load(), IsOkAndHolds(ElementsAre(renamed)));
  const MigrationChange last = HistoryOf(*store, "ams2").at(0);
  EXPECT_EQ(last.kind, ChangeKind::kShare);
  EXPECT_EQ(last.from, Share::None());
  EXPECT_EQ(last.to, Percent("25"));
  EXPECT_EQ(last.detail, "renamed from ams");
}

TEST_F(SqliteStoreChangeTest, AMigrationThatSomebodySetIsNotOverwritten) {
  const auto store = MakeAms();
  ASSERT_THAT(store->EnsureExists({"ams2", Share::None(), "ams2", "router", "start"}), IsOk());
  // Even if it was set to what it was.
  ASSERT_THAT(SetShare(*store, {"ams2", Share::None(), std::nullopt, "eva", "stay"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const StoreContents before, store->Export());
  for (const bool keep_from : {false, true}) {
    EXPECT_THAT(store->Rename({"ams", "ams2", keep_from, "bob", "new"}),
                StatusIs(StatusCode::kAlreadyExists,
                         AllOf(HasSubstr("\"ams2\" was changed by \"eva\" (revision 4)"),
                               HasSubstr("forget it first"))));
  }
  EXPECT_THAT(store->Export(), IsOkAndHolds(before));
}

TEST_F(SqliteStoreChangeTest, AMigrationThatWasRenamedToTheNameIsNotOverwritten) {
  for (const bool keep_from : {false, true}) {
    const auto store = MakeAms();
    ASSERT_THAT(store->EnsureExists({"fra", Percent("70"), "fra", "router", "start"}), IsOk());
    ASSERT_THAT(store->Rename({"fra", "ams2", keep_from, "eva", "first"}), IsOk());
    EXPECT_THAT(store->Rename({"ams", "ams2", false, "bob", "second"}),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("\"ams2\" was changed by \"eva\"")));
    EXPECT_EQ(HistoryOf(*store, "ams2").at(0).to, Percent("70"));
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + "-wal");
    std::filesystem::remove(path_ + "-shm");
  }
}

TEST_F(SqliteStoreChangeTest, ARenameThatMakesNoSenseIsRefused) {
  const auto store = MakeAms();
  const RenameRequest kSenseless[] = {{"ams", "ams", false, "bob", ""},
                                      {"", "ams2", false, "bob", ""},
                                      {"ams", "", false, "bob", ""}};
  for (const RenameRequest& request : kSenseless) {
    EXPECT_THAT(store->Rename(request), StatusIs(StatusCode::kInvalidArgument,
                                                 HasSubstr("from one data center to another")));
  }
  EXPECT_THAT(store->Rename({"fra", "ams", false, "bob", ""}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no migration of \"fra\"")));
  EXPECT_THAT(HistoryOf(*store, ""), SizeIs(2));
}

TEST_F(SqliteStoreChangeTest, OfARenameThatFailsHalfwayNothingIsKept) {
  const auto store = MakeAms();
  ASSERT_OK_AND_ASSIGN(const StoreContents before, store->Export());
  absl::Status renamed;
  absl::Status forgotten;
  {
    FullDisk full;
    renamed = store->Rename({"ams", "ams2", false, "bob", ""}).status();
    forgotten = store->Forget({"ams", std::nullopt, "bob", ""}).status();
  }
  EXPECT_THAT(renamed, StatusIs(StatusCode::kUnavailable, HasSubstr("try again")));
  EXPECT_THAT(forgotten, StatusIs(StatusCode::kUnavailable, HasSubstr("try again")));
  // The revision that it would get is taken: the old name's rows are deleted already.
  Tool(path_).Run(
      "INSERT INTO migration_change SELECT 3, 'fra', time_us, kind, actor, reason, from_ppm, "
      "to_ppm, detail FROM migration_change WHERE revision = 1");
  EXPECT_THAT(store->Rename({"ams", "ams2", false, "bob", ""}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("counter is behind its history")));
  Tool(path_).Run("DELETE FROM migration_change WHERE revision = 3");
  EXPECT_THAT(store->Export(), IsOkAndHolds(before));
}

// A share of 0 is a share.
TEST_F(SqliteStoreChangeTest, AShareOfZeroStaysZero) {
  {
    const auto store = MakeAms();
    ASSERT_THAT(SetShare(*store, {"ams", Share::None(), std::nullopt, "eva", "abort"}), IsOk());
    ASSERT_THAT(store->Rename({"ams", "ams2", false, "bob", "new"}), IsOk());
  }
  const auto store = MustOpen();
  EXPECT_EQ(store->Load()->at(0).share, Share::None());
  const std::vector<MigrationChange> old = HistoryOf(*store, "ams");
  EXPECT_EQ(old.at(0).from, Share::None());  // of the rename
  EXPECT_EQ(old.at(0).to, std::nullopt);
  EXPECT_EQ(old.at(1).to, Share::None());  // of the abort
  EXPECT_EQ(SetShare(*store, {"ams2", Percent("5"), std::nullopt, "eva", "again"})->share,
            Percent("5"));
}

// Update: store_test.cc has what does not need a file.

// Every write that an update makes is cut short once, and the process with it.
TEST_F(SqliteStoreChangeTest, AKillAtAnyWriteOfAnUpdateLeavesAllOfItOrNothing) {
  constexpr int kDataCenters = 300;
  StoreContents before;
  before.last_revision = 1;
  for (int i = 0; i < kDataCenters; ++i) {
    Migration migration;
    migration.data_center = absl::StrCat("dc-", 100 + i);
    migration.decision_algorithm = kDecisionAlgorithm;
    migration.revision = 1;
    before.migrations.push_back(std::move(migration));
  }
  MigrationUpdate update{ChangeKind::kShare, before.migrations, "eva", std::string(100, 'r'), ""};
  for (Migration& migration : update.migrations) migration.share = Percent("25");
  ASSERT_THAT(MustOpen()->Import(before), IsOk());
  const std::string file = testing::ReadFile(path_);

  // A write beyond this size of a file kills. The log's index has 32 KiB and takes no part.
  int kills_before = 0;
  int kills_after = 0;  // the update was committed
  for (rlim_t size = 32 * 1024;; size += 4096) {
    testing::WriteFile(path_, file);
    const int status = testing::RunInChild([&] {
      const rlimit no_core{0, 0};
      const rlimit limit{size, size};
      if (setrlimit(RLIMIT_CORE, &no_core) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
      const auto store = Open();
      _exit(store.ok() && (*store)->Update(update).ok() ? 0 : 1);
    });
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ;
    ASSERT_TRUE(killed || status == 0) << status << " at " << size;
    ASSERT_OK_AND_ASSIGN(const StoreContents after, MustOpen()->Export());
    const bool made = after.last_revision == 2;
    if (made) {
      EXPECT_THAT(after.history, SizeIs(kDataCenters));
      for (const Migration& migration : after.migrations) {
        ASSERT_EQ(migration.revision, 2) << migration.data_center << " at " << size;
        ASSERT_EQ(migration.share, Percent("25")) << migration.data_center << " at " << size;
      }
    } else {
      ASSERT_EQ(after, before) << size;
    }
    ASSERT_TRUE(killed || made);
    if (!killed) break;
    (made ? kills_after : kills_before)++;
  }
  EXPECT_GE(kills_before, 10);
  EXPECT_GE(kills_after, 1);
}

TEST_F(SqliteStoreChangeTest, OfAnUpdateOnAFullDiskNothingIsKept) {
  const auto store = MakeAms();
  ASSERT_THAT(store->EnsureExists({"fra", Share::None(), "fra", "router", "start"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const StoreContents before, store->Export());
  absl::Status updated;
  absl::Status set;
  {
    FullDisk full;
    updated = store->Update({ChangeKind::kRolledBack, before.migrations, "bob", "", ""}).status();
    set = store->SetDefaultShare({Percent("5"), std::nullopt, "bob", ""}).status();
  }
  EXPECT_THAT(updated, StatusIs(StatusCode::kUnavailable, HasSubstr("try again")));
  EXPECT_THAT(set, StatusIs(StatusCode::kUnavailable, HasSubstr("try again")));
  EXPECT_THAT(store->Export(), IsOkAndHolds(before));
  EXPECT_THAT(store->Update({ChangeKind::kRolledBack, before.migrations, "bob", "", ""}), IsOk());
}

// Topologies.

TEST_F(SqliteStoreChangeTest, AChangeOfANodeOfWhatIsNotThereIsDataLoss) {
  const auto store = MakeAms();
  Tool(path_).Run("INSERT INTO node_change VALUES ('fra', 'n1', 1, '')");
  EXPECT_THAT(store->LoadTopologies(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("a node changed in \"fra\"")));
}

TEST_F(SqliteStoreChangeTest, ASavedTopologyIsLoadedWithWhoWhenAndWhy) {
  const std::string text = std::string("nodes:\n  - {name: a}\n\0 caf\xc3\xa9", 27);
  WallTime time;
  {
    const auto store = MakeAms();
    ASSERT_THAT(store->SaveTopology({"sfo", "", {}, "router", "start", "new"}), IsOk());
    ASSERT_THAT(store->SaveTopology({"ams", text, {}, "eva", "reload", "1 node added"}), IsOk());
    time = LastTime();
  }
  const auto store = MustOpen();
  ASSERT_OK_AND_ASSIGN(const std::vector<StoredTopology> topologies, store->LoadTopologies());
  ASSERT_THAT(topologies, SizeIs(2));
  const StoredTopology expected{"ams", text, {}, 4, time, "eva", "reload"};
  EXPECT_EQ(topologies[0], expected);
  EXPECT_EQ(topologies[1].data_center, "sfo");
  EXPECT_EQ(topologies[1].text, "");
  const MigrationChange change{4,        time,         "ams",        ChangeKind::kTopology, "eva",
                               "reload", std::nullopt, std::nullopt, "1 node added"};
  EXPECT_EQ(HistoryOf(*store, "ams").at(0), change);
}

TEST_F(SqliteStoreChangeTest, ATopologyThatChangesIsReplacedAndTheMigrationIsNot) {
  const auto store = MakeAms();
  ASSERT_THAT(store->SaveTopology({"ams", "one", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->SaveTopology({"ams", "two", {}, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<StoredTopology> topologies, store->LoadTopologies());
  EXPECT_THAT(topologies, ElementsAre(AllOf(Field(&StoredTopology::text, "two"),
                                            Field(&StoredTopology::revision, 4))));
  EXPECT_EQ(store->Load()->at(0).revision, 2);
  EXPECT_THAT(SetShare(*store, {"ams", Percent("30"), 2, "eva", ""}), IsOk());
}

TEST_F(SqliteStoreChangeTest, ATopologyThatIsStoredAlreadyIsNoChange) {
  const auto store = MakeAms();
  ASSERT_THAT(store->SaveTopology({"ams", "one", {}, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(const StoreContents before, store->Export());
  {
    FullDisk full;  // nothing is even tried
    EXPECT_TRUE(store->SaveTopology({"ams", "one", {}, "eva", "again", "again"}).ok());
    EXPECT_TRUE(store->SaveTopology({"fra", std::nullopt, {}, "eva", "again", "again"}).ok());
    EXPECT_EQ(store->SaveTopology({"ams", "two", {}, "eva", "", ""}).code(),
              StatusCode::kUnavailable);
  }
  EXPECT_THAT(store->Export(), IsOkAndHolds(before));
}

TEST_F(SqliteStoreChangeTest, ATopologyThatIsNotServedAnyMoreIsGoneAndItsMigrationStays) {
  const auto store = MakeAms();
  ASSERT_THAT(store->SaveTopology({"ams", "one", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->SaveTopology({"ams", std::nullopt, {}, "eva", "accepted", "not served"}),
              IsOk());
  EXPECT_THAT(store->LoadTopologies(), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(store->Load()->at(0).share, Percent("25"));
  EXPECT_EQ(HistoryOf(*store, "ams").at(0).detail, "not served");
}

TEST_F(SqliteStoreChangeTest, ATopologyOfNoNameIsRefused) {
  EXPECT_THAT(MustOpen()->SaveTopology({"", "one", {}, "router", "", ""}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("needs a data center")));
}

TEST_F(SqliteStoreChangeTest, ATopologyThatMakesNoSenseIsDataLoss) {
  MakeAms()->SaveTopology({"ams", "one", {}, "router", "", ""}).IgnoreError();
  const auto store = MustOpen();
  Tool tool(path_);
  tool.Run("PRAGMA ignore_check_constraints = 1; UPDATE topology SET revision = 0");
  EXPECT_THAT(store->LoadTopologies(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("topology of \"ams\" has revision 0")));
  tool.Run("UPDATE topology SET data_center = ''");
  EXPECT_THAT(store->LoadTopologies(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("a topology names no data center")));
  tool.Run(
      "CREATE TABLE lax AS SELECT * FROM topology; DROP TABLE topology;"
      "ALTER TABLE lax RENAME TO topology; UPDATE topology SET text = NULL");
  EXPECT_THAT(store->LoadTopologies(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("missing or of a wrong type")));
}

// History.

TEST_F(SqliteStoreChangeTest, TheHistoryOfAllIsReadInPages) {
  const auto store = MakeAms();
  ASSERT_THAT(store->EnsureExists({"fra", Share::None(), "fra", "router", "start"}), IsOk());
  ASSERT_THAT(store->SaveTopology({"ams", "one", {}, "router", "", ""}), IsOk());
  const auto revisions = [&store](const HistoryQuery& query) {
    const std::vector<MigrationChange> changes = store->History(query).value();
    std::vector<std::int64_t> found;
    for (const MigrationChange& change : changes) {
      found.push_back(change.revision);
    }
    return found;
  };
  EXPECT_THAT(revisions({"", std::nullopt, 3}), ElementsAre(4, 3, 2));
  const auto behind = [](std::int64_t revision, const char* data_center) {
    return HistoryPlace{revision, data_center};
  };
  EXPECT_THAT(revisions({"", behind(2, "ams"), 3}), ElementsAre(1));
  EXPECT_THAT(revisions({"", behind(2, "aaa"), 3}), ElementsAre(2, 1));
  EXPECT_THAT(revisions({"", behind(1, "ams"), 3}), IsEmpty());
  EXPECT_THAT(revisions({"ams", std::nullopt, 2}), ElementsAre(4, 2));
  EXPECT_THAT(revisions({"ams", behind(2, "ams"), 2}), ElementsAre(1));
  EXPECT_THAT(revisions({"ams", behind(4, "ams"), 9}), ElementsAre(2, 1));
  for (const std::int64_t none :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_THAT(revisions({"", behind(none, ""), 9}), IsEmpty());
  }
  EXPECT_THAT(revisions({"", behind(std::numeric_limits<std::int64_t>::max(), ""), 9}), SizeIs(4));
}

TEST_F(SqliteStoreChangeTest, AChangeThatDoesNotHaveTheSharesOfItsKindIsDataLoss) {
  const auto store = MakeAms();
  Tool tool(path_);
  tool.Run("PRAGMA ignore_check_constraints = 1");
  for (const char* change :
       {"kind = 1", "kind = 3", "kind = 4", "kind = 5", "kind = 0", "kind = 10", "kind = 11",
        "kind = 258", "kind = 2, to_ppm = NULL", "to_ppm = 1, from_ppm = NULL", "from_ppm = -1",
        "from_ppm = 1, data_center = ''"}) {
    tool.Run(std::string("UPDATE migration_change SET ") + change + " WHERE revision = 2");
    EXPECT_THAT(store->History({"", std::nullopt, 9}),
                StatusIs(StatusCode::kDataLoss, HasSubstr("out of range at revision 2")))
        << change;
    EXPECT_THAT(store->Export(), StatusIs(StatusCode::kDataLoss, HasSubstr("out of range")));
  }
}

}  // namespace
}  // namespace ringshift
