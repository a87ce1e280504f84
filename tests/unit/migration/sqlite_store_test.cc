#include "migration/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/sqlite_store_fixture.h"

namespace ringshift {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FullDisk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Percent;
using testing::ReaderInAnotherProcess;
using testing::ReadFile;
using testing::RunInChild;
using testing::SetShare;
using testing::SqliteStoreTest;
using testing::StatusIs;
using testing::Tool;
using testing::WriteFile;

TEST_F(SqliteStoreTest, ANewFileIsCreatedAndEmpty) {
  const auto store = MustOpen();
  EXPECT_TRUE(store->created());
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_THAT(store->Load(), IsOkAndHolds(IsEmpty()));
}

TEST_F(SqliteStoreTest, OnlyTheFirstOpenCreates) {
  MakeStore();
  EXPECT_FALSE(MustOpen()->created());
}

// A first start that fails before anything is served leaves it.
TEST_F(SqliteStoreTest, AStoreIntoWhichNothingWasPutIsANewOne) {
  MustOpen();
  EXPECT_THAT(
      Open(SqliteStore::IfMissing::kFail),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("it is empty, as a first start")));
  EXPECT_TRUE(MustOpen()->created());
}

TEST_F(SqliteStoreTest, AFileWithoutItsLastByteIsRefused) {
  for (const int bytes : {1, 10, 4000}) {
    fs::remove(path_);
    MakeStore();
    fs::resize_file(path_, fs::file_size(path_) - static_cast<std::uintmax_t>(bytes));
    EXPECT_THAT(SqliteStore::ReadContents(path_),
                StatusIs(StatusCode::kDataLoss, HasSubstr("was cut off to ")));
    ExpectRefused(StatusCode::kDataLoss, "cut off to ");
  }
}

// Share 0 everywhere is not what a truncated file means.
TEST_F(SqliteStoreTest, AFileOfNoBytesIsRefused) {
  WriteFile(path_, "");
  ExpectRefused(StatusCode::kFailedPrecondition, "is an empty file");
  fs::remove(path_);
  MakeStore();
  WriteFile(path_, "");
  ExpectRefused(StatusCode::kFailedPrecondition, "delete it to begin with a new store");
}

TEST_F(SqliteStoreTest, TheFileSaysWhoseItIsAndIsInWalMode) {
  MakeStore();
  Tool tool(path_);
  EXPECT_EQ(tool.Query("PRAGMA application_id"), absl::StrCat(0x52534654));
  EXPECT_EQ(tool.Query("PRAGMA user_version"), absl::StrCat(SqliteStore::kSchemaVersion));
  EXPECT_EQ(tool.Query("PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteStoreTest, ANewMigrationIsAtShareZeroWithThePresentAlgorithm) {
  const auto store = MustOpen();
  const WallTime time = now_ + std::chrono::seconds(1);
  const Migration expected{
      "ams", Share::None(), "salt-1",           std::string(kDecisionAlgorithm),
      1,     time,          "router",           "why",
      time,  false,         RetiredRing::kNone, {}};
  ASSERT_OK_AND_ASSIGN(const MigrationStore::Ensured ensured,
                       store->EnsureExists({"ams", Share::None(), "salt-1", "router", "why"}));
  EXPECT_TRUE(ensured.created);
  EXPECT_EQ(ensured.migration, expected);
  EXPECT_THAT(store->Load(), IsOkAndHolds(ElementsAre(expected)));
}

TEST_F(SqliteStoreTest, ANewMigrationIsAtTheShareThatIsWanted) {
  const auto store = MustOpen();
  ASSERT_OK_AND_ASSIGN(const MigrationStore::Ensured ensured,
                       store->EnsureExists({"new", Share::All(), "new", "router", "no v1"}));
  EXPECT_EQ(ensured.migration.share, Share::All());
  ASSERT_OK_AND_ASSIGN(const std::vector<MigrationChange> history,
                       store->History({"new", std::nullopt, 10}));
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].from, std::nullopt);
  EXPECT_EQ(history[0].to, Share::All());
}

TEST_F(SqliteStoreTest, AMigrationThatExistsIsReturnedUnchanged) {
  const auto store = MustOpen();
  ASSERT_OK_AND_ASSIGN(const MigrationStore::Ensured first,
                       store->EnsureExists({"ams", Share::None(), "salt-1", "a", "r"}));
  ASSERT_OK_AND_ASSIGN(const Migration set, SetShare(*store, {"ams", Percent("10"),
                                                              first.migration.revision, "b", "s"}));
  ASSERT_OK_AND_ASSIGN(const MigrationStore::Ensured again,
                       store->EnsureExists({"ams", Share::All(), "salt-2", "c", "t"}));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.migration, set);
  EXPECT_EQ(set.salt, "salt-1");
  EXPECT_THAT(store->History({"ams", std::nullopt, 10}), IsOkAndHolds(::testing::SizeIs(2)));
}

TEST_F(SqliteStoreTest, AMigrationOfNoNameIsRefused) {
  EXPECT_THAT(MustOpen()->EnsureExists({"", Share::None(), "salt", "a", "r"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("needs a data center")));
}

TEST_F(SqliteStoreTest, AChangeIsReturnedAndLoadedAsItIs) {
  const auto store = MustOpen();
  ASSERT_THAT(store->EnsureExists({"ams", Share::None(), "ams", "router", "first start"}), IsOk());
  const WallTime created = now_;
  const WallTime time = now_ + std::chrono::seconds(1);
  const Migration expected{"ams",
                           Percent("12.5"),
                           "ams",
                           std::string(kDecisionAlgorithm),
                           2,
                           time,
                           "eva",
                           "canary",
                           created,
                           false,
                           RetiredRing::kNone,
                           {}};
  EXPECT_THAT(SetShare(*store, {"ams", Percent("12.5"), 1, "eva", "canary"}),
              IsOkAndHolds(expected));
  EXPECT_THAT(store->Load(), IsOkAndHolds(ElementsAre(expected)));
}

TEST_F(SqliteStoreTest, EverythingSurvivesClosingAndOpening) {
  std::vector<Migration> migrations;
  std::vector<MigrationChange> history;
  {
    const auto store = MustOpen();
    for (const char* name : {"sfo", "ams", "fra"}) {
      ASSERT_THAT(store->EnsureExists({name, Share::None(), name, "router", "first start"}),
                  IsOk());
    }
    ASSERT_THAT(SetShare(*store, {"ams", Percent("37.5"), std::nullopt, "eva", "go"}), IsOk());
    ASSERT_THAT(SetShare(*store, {"fra", Share::All(), std::nullopt, "eva", "go"}), IsOk());
    ASSERT_THAT(SetShare(*store, {"fra", Share::None(), std::nullopt, "eva", "back"}), IsOk());
    ASSERT_OK_AND_ASSIGN(migrations, store->Load());
    ASSERT_OK_AND_ASSIGN(history, store->History({"fra", std::nullopt, 10}));
  }
  const auto store = MustOpen();
  EXPECT_FALSE(store->created());
  EXPECT_THAT(store->Load(), IsOkAndHolds(migrations));
  EXPECT_THAT(store->History({"fra", std::nullopt, 10}), IsOkAndHolds(history));
  ASSERT_EQ(migrations.size(), 3u);
  EXPECT_EQ(migrations[0].data_center, "ams");
  EXPECT_EQ(migrations[0].share, Percent("37.5"));
  EXPECT_EQ(migrations[1].data_center, "fra");
  EXPECT_EQ(migrations[1].share, Share::None());
  EXPECT_EQ(migrations[2].data_center, "sfo");
}

TEST_F(SqliteStoreTest, AnAcknowledgedChangeSurvivesAKillInTheNextInstant) {
  const int status = RunInChild([this] {
    auto store = Open();
    if (!store.ok() || !(*store)->EnsureExists({"ams", Share::None(), "ams", "a", "r"}).ok())
      _exit(1);
    if (!SetShare(**store, {"ams", Percent("37.5"), 1, "eva", "go"}).ok()) _exit(1);
    kill(getpid(), SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const auto store = MustOpen();  // the lock has gone with the process
  EXPECT_FALSE(store->created());
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> migrations, store->Load());
  ASSERT_EQ(migrations.size(), 1u);
  EXPECT_EQ(migrations[0].share, Percent("37.5"));
  EXPECT_EQ(migrations[0].revision, 2);
}

// For an operator who copies the file, or who deletes what looks like litter beside it.
TEST_F(SqliteStoreTest, AChangeIsInTheFileItselfNotOnlyInItsLog) {
  const auto store = MustOpen();
  ASSERT_THAT(store->EnsureExists({"ams", Share::None(), "ams", "a", "r"}), IsOk());
  ASSERT_THAT(SetShare(*store, {"ams", Percent("37.5"), 1, "eva", "go"}), IsOk());
  fs::copy_file(path_, folder_ + "/copy.db");
  EXPECT_EQ(Tool(folder_ + "/copy.db").Query("SELECT v2_ppm FROM migration"), "375000");
}

TEST_F(SqliteStoreTest, AnyTextIsKeptByteForByte) {
  const std::string odd = std::string("'; DROP TABLE migration; --\n\0\x01\"%", 33) + "caf\xc3\xa9";
  {
    const auto store = MustOpen();
    ASSERT_THAT(store->EnsureExists({"ams", Share::None(), odd, odd, odd}), IsOk());
    ASSERT_THAT(SetShare(*store, {"ams", Percent("1"), std::nullopt, odd, ""}), IsOk());
  }
  const auto store = MustOpen();
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> migrations, store->Load());
  EXPECT_EQ(migrations[0].salt, odd);
  EXPECT_EQ(migrations[0].actor, odd);
  EXPECT_EQ(migrations[0].reason, "");
  ASSERT_OK_AND_ASSIGN(const std::vector<MigrationChange> history,
                       store->History({"ams", std::nullopt, 9}));
  EXPECT_EQ(history[1].reason, odd);
}

// Revisions and history.

TEST_F(SqliteStoreTest, AChangeBasedOnAnOldRevisionIsAbortedWithBothRevisions) {
  MakeStore();
  const auto store = MustOpen();
  for (const std::int64_t stale : {std::int64_t{1}, std::int64_t{3}, std::int64_t{0}}) {
    EXPECT_THAT(SetShare(*store, {"ams", Share::All(), stale, "bob", "late"}),
                StatusIs(StatusCode::kAborted,
                         AllOf(HasSubstr("\"ams\" is at revision 2"),
                               HasSubstr(absl::StrCat("based on revision ", stale, ";")),
                               HasSubstr("read it again"))));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Migration> migrations, store->Load());
  EXPECT_EQ(migrations[0].share, Percent("25"));
  EXPECT_THAT(store->History({"ams", std::nullopt, 10}), IsOkAndHolds(::testing::SizeIs(2)));
}

TEST_F(SqliteStoreTest, AChangeOfAnUnknownDataCenterIsNotFound) {
  const auto store = MustOpen();
  EXPECT_THAT(SetShare(*store, {"nowhere", Share::All(), std::nullopt, "bob", ""}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no migration of \"nowhere\"")));
  EXPECT_THAT(store->Load(), IsOkAndHolds(IsEmpty()));
}

TEST_F(SqliteStoreTest, RevisionsCountForTheWholeStoreAndGoOnAfterOpening) {
  {
    const auto store = MustOpen();
    EXPECT_EQ(store->EnsureExists({"ams", Share::None(), "s", "a", "r"})->migration.revision, 1);
    EXPECT_EQ(store->EnsureExists({"fra", Share::None(), "s", "a", "r"})->migration.revision, 2);
    EXPECT_EQ(SetShare(*store, {"ams", Percent("1"), std::nullopt, "a", "r"})->revision, 3);
  }
  // Not even the revision of a change that is no longer in the tables comes again.
  Tool(path_).Run("DELETE FROM migration_change; DELETE FROM migration WHERE data_center = 'ams'");
  EXPECT_EQ(SetShare(*MustOpen(), {"fra", Percent("1"), 2, "a", "r"})->revision, 4);
}

TEST_F(SqliteStoreTest, TheHistoryIsNewestFirstWithWhoWhenFromToAndWhy) {
  const auto store = MustOpen();
  const WallTime start = now_;
  ASSERT_THAT(store->EnsureExists({"ams", Share::None(), "s", "router", "first start"}), IsOk());
  ASSERT_THAT(store->EnsureExists({"fra", Share::None(), "s", "router", "first start"}), IsOk());
  ASSERT_THAT(SetShare(*store, {"ams", Percent("12.5"), 1, "eva", "canary"}), IsOk());
  ASSERT_THAT(SetShare(*store, {"ams", Share::None(), 3, "bob", "misses"}), IsOk());
  const auto at = [start](int seconds) { return start + std::chrono::seconds(seconds); };
  const MigrationChange created{1,        at(1),         "ams",        ChangeKind::kCreated,
                                "router", "first start", std::nullopt, Share::None(),
                                ""};
  const MigrationChange up{
      3, at(3), "ams", ChangeKind::kShare, "eva", "canary", Share::None(), Percent("12.5"), ""};
  const MigrationChange down{
      4, at(4), "ams", ChangeKind::kShare, "bob", "misses", Percent("12.5"), Share::None(), ""};
  EXPECT_THAT(store->History({"ams", std::nullopt, 10}),
              IsOkAndHolds(ElementsAre(down, up, created)));
  EXPECT_THAT(store->History({"ams", std::nullopt, 2}), IsOkAndHolds(ElementsAre(down, up)));
  EXPECT_THAT(store->History({"ams", std::nullopt, 0}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store->History({"ams", std::nullopt, ~std::size_t{0}}),
              IsOkAndHolds(::testing::SizeIs(3)));
  EXPECT_THAT(store->History({"nowhere", std::nullopt, 10}), IsOkAndHolds(IsEmpty()));
}

TEST_F(SqliteStoreTest, TheSystemsClockIsTheDefault) {
  const auto before =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path_, SqliteStore::IfMissing::kCreate));
  ASSERT_OK_AND_ASSIGN(const MigrationStore::Ensured ensured,
                       store->EnsureExists({"ams", Share::None(), "s", "a", "r"}));
  EXPECT_GE(ensured.migration.update_time, before);
  EXPECT_LE(ensured.migration.update_time, std::chrono::system_clock::now());
}

TEST_F(SqliteStoreTest, ChangesOfManyThreadsAreSerialised) {
  constexpr int kThreads = 4;
  constexpr int kChanges = 25;
  const auto store = MustOpen();
  for (const char* name : {"ams", "fra"}) {
    ASSERT_THAT(store->EnsureExists({name, Share::None(), name, "a", "r"}), IsOk());
  }
  std::vector<std::vector<std::int64_t>> revisions(kThreads);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (std::vector<std::int64_t>& own : revisions) {
    threads.emplace_back([&] {
      for (int i = 0; i < kChanges; ++i) {
        const char* name = i % 2 == 0 ? "ams" : "fra";
        const auto set = SetShare(*store, {name, Percent("5"), std::nullopt, "a", "r"});
        failures += !set.ok() + !store->Load().ok() + !store->History({name, std::nullopt, 3}).ok();
        if (set.ok()) own.push_back(set->revision);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  std::set<std::int64_t> all;
  for (const std::vector<std::int64_t>& own : revisions) {
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), std::size_t{kThreads} * kChanges);
  EXPECT_EQ(*all.begin(), 3);
  EXPECT_EQ(*all.rbegin(), 2 + kThreads * kChanges);
}

TEST_F(SqliteStoreTest, OfChangesBasedOnOneRevisionExactlyOneWins) {
  const auto store = MustOpen();
  ASSERT_THAT(store->EnsureExists({"ams", Share::None(), "s", "a", "r"}), IsOk());
  std::atomic<int> won = 0;
  std::atomic<int> aborted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto set = SetShare(*store, {"ams", Percent("5"), 1, "a", "r"});
      won += set.ok();
      aborted += absl::IsAborted(set.status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(aborted, 3);
}

// One router a file.

TEST_F(SqliteStoreTest, ASecondStoreOnTheFileIsRefusedUntilTheFirstIsGone) {
  MakeStore();
  auto store = MustOpen();
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr(path_), HasSubstr("held by another router"))));
  ASSERT_THAT(SetShare(*store, {"ams", Percent("50"), std::nullopt, "a", "r"}), IsOk());
  store.reset();
  EXPECT_EQ(MustOpen()->Load()->at(0).share, Percent("50"));
}

TEST_F(SqliteStoreTest, ASecondStoreByAnotherNameOfTheFileIsRefused) {
  const auto store = MustOpen();
  fs::create_symlink(path_, folder_ + "/symbolic.db");
  fs::create_hard_link(path_, folder_ + "/hard.db");
  for (const char* name : {"/symbolic.db", "/hard.db", "/./state.db"}) {
    EXPECT_THAT(OpenAt(folder_ + name),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("held by another router")));
  }
}

TEST_F(SqliteStoreTest, ASecondProcessIsRefused) {
  int opened[2];
  int done[2];
  ASSERT_EQ(pipe(opened) | pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = Open();
    char byte = store.ok() ? 'y' : 'n';
    if (write(opened[1], &byte, 1) != 1) _exit(1);
    close(done[1]);
    _exit(read(done[0], &byte, 1) == 0 ? 0 : 1);  // until the parent closes its end
  }
  char byte = 0;
  ASSERT_EQ(read(opened[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("held by another")));
  close(done[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Open(), IsOk());
}

// A process that closes a descriptor of a file loses all of its fcntl locks on it. Without them
// SQLite in another process believes itself alone, and takes the log away when it closes.
TEST_F(SqliteStoreTest, ARefusedSecondStoreDoesNotCostTheFirstItsLog) {
  MakeStore();
  ReaderInAnotherProcess reader(path_, "250000");
  const auto store = MustOpen();
  ASSERT_THAT(store->EnsureExists({"fra", Share::None(), "fra", "a", "r"}), IsOk());
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("held by another")));
  EXPECT_EQ(reader.Read(), 0);
  EXPECT_TRUE(fs::exists(path_ + "-wal"));
}

TEST_F(SqliteStoreTest, AnotherToolMayReadMeanwhile) {
  MakeStore();
  const auto store = MustOpen();
  Tool reader(path_);
  reader.Run("BEGIN");
  EXPECT_EQ(reader.Query("SELECT v2_ppm FROM migration"), "250000");
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), std::nullopt, "a", "r"}), IsOk());
  EXPECT_EQ(reader.Query("SELECT v2_ppm FROM migration"), "250000");
  reader.Run("COMMIT");
  EXPECT_EQ(reader.Query("SELECT v2_ppm FROM migration"), "500000");
}

// Files that are refused.

TEST_F(SqliteStoreTest, AMissingFolderIsNotFound) {
  path_ = folder_ + "/missing/state.db";
  ExpectRefused(StatusCode::kNotFound, "its folder does not exist");
  path_ = "";
  EXPECT_THAT(Open(), StatusIs(StatusCode::kNotFound, HasSubstr("folder does not exist")));
}

TEST_F(SqliteStoreTest, AFileThatMustExistIsNotMade) {
  for (const char* log : {"", "-wal"}) {
    if (*log != 0) WriteFile(path_ + log, "committed changes");
    const auto before = Files();
    EXPECT_THAT(Open(SqliteStore::IfMissing::kFail),
                RefusedWith(StatusCode::kNotFound,
                            "does not exist; mend the path or restore a backup, or, if there never "
                            "was one, start once without --store-must-exist"));
    EXPECT_THAT(SqliteStore::ReadContents(path_),
                RefusedWith(StatusCode::kNotFound, "does not exist; mend the path or restore"));
    EXPECT_TRUE(Files() == before);
  }
  EXPECT_THAT(OpenAt(folder_ + "/missing/state.db", SqliteStore::IfMissing::kFail),
              StatusIs(StatusCode::kNotFound, HasSubstr("its folder does not exist")));
  fs::remove(path_ + "-wal");
  MakeStore();
  ASSERT_OK_AND_ASSIGN(const auto store, Open(SqliteStore::IfMissing::kFail));
  EXPECT_FALSE(store->created());
  EXPECT_EQ(store->Load()->at(0).share, Percent("25"));
}

TEST_F(SqliteStoreTest, ASymbolicLinkToNothingIsNotFound) {
  fs::create_symlink(folder_ + "/missing.db", path_);
  ExpectRefused(StatusCode::kNotFound, "a symbolic link to nothing");
}

TEST_F(SqliteStoreTest, ADirectoryIsRefused) {
  fs::create_directory(path_);
  ExpectRefused(StatusCode::kFailedPrecondition, "not a regular file");
}

TEST_F(SqliteStoreTest, APipeIsRefused) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused(StatusCode::kFailedPrecondition, "not a regular file");
}

TEST_F(SqliteStoreTest, AFileThatTheUserMayNotUseIsPermissionDenied) {
  MakeStore();
  const uid_t user = geteuid();
  const auto as_nobody = [user](const auto& body) {
    // Modes do not hold for root.
    if (user == 0) {
      ASSERT_EQ(seteuid(65534), 0);
    }
    body();
    if (user == 0) {
      ASSERT_EQ(seteuid(user), 0);
    }
  };
  const auto denied = StatusIs(StatusCode::kPermissionDenied,
                               AllOf(HasSubstr(path_), HasSubstr("Permission denied"),
                                     HasSubstr("let the router's user read and write")));
  const auto set_mode = [](const std::string& path, unsigned mode) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  };
  set_mode(folder_, 0777);
  for (const unsigned mode : {0000u, 0444u}) {
    set_mode(path_, mode);
    as_nobody([&] { EXPECT_THAT(Open(), denied) << mode; });
  }
  set_mode(path_, 0666);
  as_nobody([&] { EXPECT_THAT(Open(), IsOk()); });
  // The log needs a place.
  set_mode(folder_, 0555);
  as_nobody([&] {
    EXPECT_THAT(Open(), denied);
    EXPECT_THAT(OpenAt(folder_ + "/new.db"),
                StatusIs(StatusCode::kPermissionDenied, HasSubstr("Permission denied")));
  });
  set_mode(folder_, 0700);
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  for (const std::string& bytes :
       {std::string("x"), std::string("data_centers:\n  - name: ams\n"), std::string(8192, '\0')}) {
    WriteFile(path_, bytes);
    ExpectRefused(StatusCode::kFailedPrecondition, "is not Ringshift's: it is no SQLite database");
  }
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherProgramIsRefused) {
  Tool(path_).Run("CREATE TABLE t (x)");
  ExpectRefused(StatusCode::kFailedPrecondition,
                "is not Ringshift's: its SQLite application id is 0");
  Tool(path_).Run("PRAGMA application_id = 77");
  ExpectRefused(StatusCode::kFailedPrecondition, "its SQLite application id is 77");
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherProgramKeepsItsLog) {
  {
    Tool tool(path_);
    tool.Run("PRAGMA journal_mode = WAL");
    tool.KeepLog();
    tool.Run("CREATE TABLE t (x)");
  }
  ASSERT_TRUE(fs::exists(path_ + "-wal"));
  ExpectRefused(StatusCode::kFailedPrecondition, "is not Ringshift's");
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  MakeStore();
  Tool(path_).Run("PRAGMA user_version = 5");
  ExpectRefused(StatusCode::kFailedPrecondition,
                "has schema version 5, this program knows up to 4; run the newer program");
}

TEST_F(SqliteStoreTest, ANewerSchemaThatIsStillInTheLogIsRefused) {
  MakeStore();
  {
    Tool tool(path_);
    tool.KeepLog();
    tool.Run("PRAGMA user_version = 5");
  }
  const std::string file = ReadFile(path_);
  const std::string log = ReadFile(path_ + "-wal");
  ASSERT_NE(log, "");
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("schema version 5")));
  EXPECT_EQ(ReadFile(path_), file);
  EXPECT_EQ(ReadFile(path_ + "-wal"), log);
}

TEST_F(SqliteStoreTest, AnImpossibleSchemaVersionIsDataLoss) {
  MakeStore();
  Tool(path_).Run("PRAGMA user_version = 0");
  ExpectRefused(StatusCode::kDataLoss, "its schema version is 0");
}

TEST_F(SqliteStoreTest, AFileCutOffAnywhereIsDataLoss) {
  MakeStore();
  const std::string whole = ReadFile(path_);
  ASSERT_GT(whole.size(), 3 * 4096u);
  for (std::size_t size = 4096; size < whole.size(); size += 4096) {
    WriteFile(path_, whole.substr(0, size));
    ExpectRefused(StatusCode::kDataLoss, "restore a backup");
  }
  for (const std::size_t size : {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{99},
                                 std::size_t{100}, std::size_t{5000}, whole.size() - 1}) {
    WriteFile(path_, whole.substr(0, size));
    ExpectRefused(StatusCode::kDataLoss, "restore a backup");
  }
  WriteFile(path_, whole);
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(SqliteStoreTest, ADamagedPageIsDataLoss) {
  MakeStore();
  const std::string whole = ReadFile(path_);
  for (std::size_t page = 1; page < whole.size() / 4096; ++page) {
    std::string damaged = whole;
    damaged.replace(page * 4096, 64, 64, '\xA5');
    WriteFile(path_, damaged);
    ExpectRefused(StatusCode::kDataLoss, "restore a backup");
  }
}

// SQLite would take the log for a stale one and delete it, and the state with it.
TEST_F(SqliteStoreTest, ALogWithoutItsFileIsDataLoss) {
  WriteFile(path_ + "-wal", "committed changes");
  ExpectOpenRefused(StatusCode::kDataLoss,
                    "the file is empty or missing, but its log (-wal) is there");
  WriteFile(path_, "");
  ExpectRefused(StatusCode::kDataLoss, "the file is empty or missing, but its log (-wal) is there");
}

TEST_F(SqliteStoreTest, TheLogOfAStoreThatWasDeletedAfterACrashIsNotTakenForANewStores) {
  EXPECT_TRUE(WIFSIGNALED(RunInChild([this] {
    const auto store = MustOpen();
    store->EnsureExists({"ams", Share::All(), "ams", "router", "first start"}).IgnoreError();
    kill(getpid(), SIGKILL);
  })));
  ASSERT_GT(fs::file_size(path_ + "-wal"), 0U);
  fs::remove(path_);
  ExpectOpenRefused(StatusCode::kDataLoss,
                    "the file is empty or missing, but its log (-wal) is there");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SqliteStoreTest, AJournalThatWasLeftIsNotTakenForANewStores) {
  const std::string other = folder_ + "/other.db";
  {
    Tool tool(other);
    tool.Run("CREATE TABLE old (x); INSERT INTO old VALUES (1)");
    tool.Run("PRAGMA cache_spill = 1; PRAGMA cache_size = 1; BEGIN");
    tool.Run("UPDATE old SET x = 2; CREATE TABLE more (x)");
    tool.Run(
        "INSERT INTO more WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "LIMIT 1000) SELECT randomblob(500) FROM n");
    fs::copy_file(other + "-journal", path_ + "-journal");
  }
  ASSERT_GT(fs::file_size(path_ + "-journal"), 0U);
  const auto store = MustOpen();
  EXPECT_TRUE(store->created());
  EXPECT_THAT(store->Load(), IsOkAndHolds(IsEmpty()));
}

TEST_F(SqliteStoreTest, AMissingTableIsDataLoss) {
  for (const char* table : {"migration", "migration_change", "topology", "node_change",
                            "revision_counter", "default_share"}) {
    MakeStore();
    Tool(path_).Run(absl::StrCat("DROP TABLE ", table));
    ExpectRefused(StatusCode::kDataLoss, absl::StrCat("no such table: ", table));
    fs::remove(path_);
  }
}

TEST_F(SqliteStoreTest, ACounterThatWouldGiveARevisionTwiceIsDataLoss) {
  MakeStore();
  Tool(path_).Run("UPDATE revision_counter SET last_revision = 1");
  ExpectRefused(StatusCode::kDataLoss, "revision counter is behind its history");
  Tool(path_).Run("DELETE FROM revision_counter");
  ExpectRefused(StatusCode::kDataLoss, "a row that must be there is missing");
}

TEST_F(SqliteStoreTest, ValuesOutOfRangeInTheFileAreDataLoss) {
  MakeStore();
  const std::string whole = ReadFile(path_);
  for (const char* change :
       {"migration SET v2_ppm = 1000001", "migration SET v2_ppm = -1", "migration SET revision = 0",
        "migration SET data_center = ''", "migration SET decision_algorithm = ''",
        "migration SET is_frozen = 2", "migration SET retired_ring = 3",
        "migration_change SET kind = 11", "migration_change SET to_ppm = -1",
        "migration_change SET data_center = '' WHERE revision = 1",
        "default_share SET v2_ppm = 1000001", "default_share SET revision = -1"}) {
    WriteFile(path_, whole);
    Tool(path_).Run(absl::StrCat("PRAGMA ignore_check_constraints = 1; UPDATE ", change));
    ExpectOpenRefused(StatusCode::kDataLoss, "CHECK constraint failed in ");
    // SQLite does not look at constraints where it only reads.
    EXPECT_THAT(SqliteStore::ReadContents(path_),
                RefusedWith(StatusCode::kDataLoss, "the file is damaged"));
  }
}

// What another tool does to the file while the router has it.

TEST_F(SqliteStoreTest, ValuesThatGoOutOfRangeAreNotRead) {
  MakeStore();
  const auto store = MustOpen();
  Tool tool(path_);
  tool.Run("PRAGMA ignore_check_constraints = 1");
  const struct {
    const char* change;
    const char* message;
  } kCases[] = {
      {"v2_ppm = 1000001", "\"ams\": share of 1000001 ppm is outside 0 to 1000000"},
      {"v2_ppm = -1", "\"ams\": share of -1 ppm"},
      {"v2_ppm = 250000, revision = 0", "\"ams\" has revision 0, below 1"},
      {"revision = 2, decision_algorithm = ''", "\"ams\" has no decision algorithm"},
      {"decision_algorithm = 'x', is_frozen = 2", "\"ams\" is frozen to 2, not 0 or 1"},
      {"is_frozen = 1, retired_ring = 3", "\"ams\" has retired ring 3, not 0 to 2"},
      {"retired_ring = 2, answers = 'v2=1'", "\"ams\": the answers of rings make no sense"},
  };
  for (const auto& [change, message] : kCases) {
    tool.Run(absl::StrCat("UPDATE migration SET ", change));
    EXPECT_THAT(store->Load(), StatusIs(StatusCode::kDataLoss, HasSubstr(message)));
    EXPECT_THAT(SetShare(*store, {"ams", Percent("1"), std::nullopt, "a", "r"}),
                StatusIs(StatusCode::kDataLoss, HasSubstr(message)));
    EXPECT_THAT(store->EnsureExists({"ams", Share::None(), "s", "a", "r"}),
                StatusIs(StatusCode::kDataLoss, HasSubstr(message)));
  }
  tool.Run("UPDATE migration SET answers = 'v2=;v1=;changes=', data_center = ''");
  EXPECT_THAT(store->Load(), StatusIs(StatusCode::kDataLoss, HasSubstr("names no data center")));
  tool.Run("UPDATE migration_change SET to_ppm = 2000000 WHERE revision = 2");
  EXPECT_THAT(store->History({"ams", std::nullopt, 1}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("out of range at revision 2")));
  EXPECT_EQ(tool.Query("SELECT last_revision FROM revision_counter"), "2");
}

TEST_F(SqliteStoreTest, AMissingShareIsNotReadAsZero) {
  MakeStore();
  const auto store = MustOpen();
  Tool tool(path_);
  tool.Run(
      "CREATE TABLE lax AS SELECT * FROM migration; DROP TABLE migration;"
      "ALTER TABLE lax RENAME TO migration");
  ASSERT_THAT(store->Load(), IsOk());
  for (const char* column : {"v2_ppm", "share_time_us", "is_frozen", "retired_ring"}) {
    for (const char* value : {"NULL", "'abc'", "0.5", "x'00'"}) {
      tool.Run(absl::StrCat("UPDATE migration SET ", column, " = ", value));
      EXPECT_THAT(store->Load(),
                  StatusIs(StatusCode::kDataLoss,
                           HasSubstr("\"ams\" has a value that is missing or of a wrong type")))
          << column << " = " << value;
    }
    tool.Run(absl::StrCat("UPDATE migration SET ", column, " = 0"));
  }
  tool.Run("UPDATE migration SET answers = NULL");
  EXPECT_THAT(store->Load(), StatusIs(StatusCode::kDataLoss, HasSubstr("missing or of a wrong")));
}

TEST_F(SqliteStoreTest, AMissingDefaultShareIsNotReadAsZero) {
  MakeStore();
  const auto store = MustOpen();
  Tool tool(path_);
  tool.Run(
      "CREATE TABLE lax AS SELECT * FROM default_share; DROP TABLE default_share;"
      "ALTER TABLE lax RENAME TO default_share");
  ASSERT_THAT(store->LoadDefaultShare(), IsOk());
  const struct {
    const char* change;
    const char* message;
  } kCases[] = {
      {"UPDATE default_share SET v2_ppm = NULL", "missing or of a wrong type"},
      {"UPDATE default_share SET v2_ppm = -1", "the default share, -1 at revision 0, is out of"},
      {"UPDATE default_share SET v2_ppm = 0, revision = -1", "is out of range"},
      {"DELETE FROM default_share", "a row that must be there is missing"},
  };
  for (const auto& [change, message] : kCases) {
    tool.Run(change);
    const auto lost = StatusIs(StatusCode::kDataLoss, HasSubstr(message));
    EXPECT_THAT(store->LoadDefaultShare(), lost);
    EXPECT_THAT(store->SetDefaultShare({Percent("1"), std::nullopt, "a", "r"}), lost);
    EXPECT_THAT(store->Export(), lost);
  }
}

TEST_F(SqliteStoreTest, ARevisionThatIsTakenIsDataLossAndChangesNothing) {
  MakeStore();
  const auto store = MustOpen();
  Tool tool(path_);
  tool.Run("UPDATE revision_counter SET last_revision = 1");
  EXPECT_THAT(SetShare(*store, {"ams", Percent("1"), std::nullopt, "a", "r"}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("revision counter is behind its history")));
  EXPECT_EQ(store->Load()->at(0).share, Percent("25"));
  EXPECT_EQ(tool.Query("SELECT last_revision FROM revision_counter"), "1");
}

TEST_F(SqliteStoreTest, AWriteThatAnotherWriterHoldsUpIsUnavailable) {
  MakeStore();
  const auto store = MustOpen();
  Tool writer(path_);
  writer.Run("BEGIN IMMEDIATE");
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), std::nullopt, "a", "r"}),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr(path_), HasSubstr("another program is writing to it"))));
  EXPECT_EQ(store->Load()->at(0).share, Percent("25"));
  writer.Run("ROLLBACK");
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), 2, "a", "r"}), IsOk());
}

TEST_F(SqliteStoreTest, AFileThatWasMovedAwayTakesNoWrite) {
  MakeStore();
  const auto store = MustOpen();
  fs::rename(path_, path_ + ".moved");
  const auto refused = StatusIs(StatusCode::kUnavailable,
                                AllOf(HasSubstr(path_), HasSubstr("deleted, moved or replaced")));
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), std::nullopt, "a", "r"}), refused);
  EXPECT_THAT(store->EnsureExists({"fra", Share::None(), "fra", "a", "r"}), refused);
  WriteFile(path_, "another file");
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), std::nullopt, "a", "r"}), refused);
  EXPECT_EQ(store->Load()->at(0).share, Percent("25"));
  fs::rename(path_ + ".moved", path_);
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), 2, "a", "r"}), IsOk());
}

// A disk that takes nothing.

TEST_F(SqliteStoreTest, AWriteThatTheDiskRefusesIsUnavailableAndChangesNothing) {
  MakeStore();
  std::vector<Migration> before;
  {
    const auto store = MustOpen();
    ASSERT_OK_AND_ASSIGN(before, store->Load());
    absl::Status set;
    absl::Status created;
    absl::StatusOr<std::vector<Migration>> during;
    {
      FullDisk full;
      set = SetShare(*store, {"ams", Percent("50"), std::nullopt, "a", "r"}).status();
      created = store->EnsureExists({"fra", Share::None(), "fra", "a", "r"}).status();
      during = store->Load();
    }
    const auto refused =
        StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr(path_), HasSubstr("try again")));
    EXPECT_THAT(set, refused);
    EXPECT_THAT(created, refused);
    EXPECT_THAT(during, IsOkAndHolds(before));
  }
  const auto store = MustOpen();
  EXPECT_THAT(store->Load(), IsOkAndHolds(before));
  EXPECT_THAT(store->History({"ams", std::nullopt, 10}), IsOkAndHolds(::testing::SizeIs(2)));
  const auto set = SetShare(*store, {"ams", Percent("50"), 2, "a", "r"});
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ(set->revision, 3);
}

TEST_F(SqliteStoreTest, AnOpenThatFailsLeavesNoNewFileBehind) {
  absl::Status status;
  {
    FullDisk full;
    status = Open().status();
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable, HasSubstr(path_)));
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_TRUE(MustOpen()->created());
}

// A first start that ended between making the schema and turning on the log.
TEST_F(SqliteStoreTest, AStoreWithoutALogGetsOne) {
  MakeStore();
  Tool(path_).Run("PRAGMA journal_mode = DELETE");
  EXPECT_EQ(MustOpen()->Load()->at(0).share, Percent("25"));
  EXPECT_EQ(Tool(path_).Query("PRAGMA journal_mode"), "wal");
}

}  // namespace
}  // namespace ringshift
