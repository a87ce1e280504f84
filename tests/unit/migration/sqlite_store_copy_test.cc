// Export, Import and ReadContents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/sqlite_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/sqlite_store_fixture.h"

namespace ringshift {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Percent;
using testing::ReaderInAnotherProcess;
using testing::ReadFile;
using testing::RunInChild;
using testing::SetShare;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::Tool;
using testing::WriteFile;

class SqliteStoreCopyTest : public testing::SqliteStoreTest {
 protected:
  // Something of everything; the last revision is 9.
  void MakeRichStore() {
    MakeStore();
    const auto store = MustOpen();
    ASSERT_THAT(store->EnsureExists({"fra", Share::All(), "salt", "router", "start"}), IsOk());
    ASSERT_THAT(store->SaveTopology({"ams", "nodes: []", {}, "router", "start", "new"}), IsOk());
    ASSERT_THAT(store->Rename({"fra", "fra2", false, "eva", "moved"}), IsOk());
    Migration ams = store->Load()->at(0);
    ams.answers.Change(ams.share, Share::None(), now_, WallTime());
    ams.share = Share::None();
    ams.is_frozen = true;
    ams.retired = RetiredRing::kV2;
    Migration fra = store->Load()->at(1);
    ASSERT_THAT(store->Update({ChangeKind::kRolledBack, {ams, fra}, "eva", "back", ""}), IsOk());
    ASSERT_THAT(store->Forget({"fra2", std::nullopt, "eva", "closed"}), IsOk());
    ASSERT_THAT(store->SetDefaultShare({Percent("5"), std::nullopt, "eva", "new ones"}), IsOk());
    ASSERT_THAT(store->SaveTopology(
                    {"sfo", "nodes: []", {{"n1", now_, ""}, {"n2", now_, "node n2"}}, "r", "", ""}),
                IsOk());
  }

  // A router that starts, makes changes, and stops.
  absl::Status WriteOnce() {
    const auto store = Open();
    absl::Status status = store.status();
    for (std::int32_t ppm = 1; ppm <= 5 && status.ok(); ++ppm) {
      status =
          SetShare(**store, {"ams", Share::FromPpm(ppm).value(), std::nullopt, "eva", ""}).status();
    }
    return status;
  }
};

// Export and Import.

TEST_F(SqliteStoreCopyTest, AnEmptyStoreExportsNothing) {
  EXPECT_THAT(MustOpen()->Export(), IsOkAndHolds(StoreContents()));
}

TEST_F(SqliteStoreCopyTest, WhatIsExportedIsAllThereIs) {
  MakeRichStore();
  const auto store = MustOpen();
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, store->Export());
  EXPECT_THAT(store->Load(), IsOkAndHolds(contents.migrations));
  EXPECT_THAT(store->LoadTopologies(), IsOkAndHolds(contents.topologies));
  EXPECT_THAT(store->LoadDefaultShare(), IsOkAndHolds(contents.default_share));
  EXPECT_EQ(contents.default_share, (DefaultShare{Percent("5"), 8}));
  EXPECT_EQ(contents.last_revision, 9);
  // Two revisions have changed two data centers.
  ASSERT_THAT(contents.history, SizeIs(11));
  EXPECT_EQ(contents.history.front().revision, 1);
  EXPECT_EQ(contents.history.back().revision, 9);
  EXPECT_EQ(contents.topologies.at(1).node_changes.at(1).node, "n2");
  EXPECT_EQ(contents.migrations.at(0).retired, RetiredRing::kV2);
}

TEST_F(SqliteStoreCopyTest, AnImportedStoreIsTheSameAndGoesOn) {
  MakeRichStore();
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, MustOpen()->Export());
  const std::string copy = folder_ + "/copy.db";
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenAt(copy));
    ASSERT_THAT(store->Import(contents), IsOk());
    EXPECT_THAT(store->Export(), IsOkAndHolds(contents));
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenAt(copy, SqliteStore::IfMissing::kFail));
  EXPECT_THAT(store->Export(), IsOkAndHolds(contents));
  EXPECT_EQ(SetShare(*store, {"ams", Percent("1"), 6, "eva", ""})->revision, 10);
}

TEST_F(SqliteStoreCopyTest, AStoreThatEverHeldAnythingTakesNoImport) {
  MakeRichStore();
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, MustOpen()->Export());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenAt(folder_ + "/copy.db"));
  ASSERT_THAT(store->SaveTopology({"ams", "x", {}, "router", "", ""}), IsOk());
  ASSERT_THAT(store->SaveTopology({"ams", std::nullopt, {}, "router", "", ""}), IsOk());
  ASSERT_OK_AND_ASSIGN(const StoreContents before, store->Export());
  EXPECT_THAT(store->Import(contents),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("copy.db\" is not empty: its last revision is 2"),
                             HasSubstr("a file that does not exist yet"))));
  EXPECT_THAT(store->Export(), IsOkAndHolds(before));
}

TEST_F(SqliteStoreCopyTest, AnImportThatFailsLeavesTheStoreEmpty) {
  MakeRichStore();
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, MustOpen()->Export());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenAt(folder_ + "/copy.db"));
  absl::Status status;
  {
    testing::FullDisk full;
    status = store->Import(contents);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable, HasSubstr("try again")));
  EXPECT_THAT(store->Export(), IsOkAndHolds(StoreContents()));
  EXPECT_THAT(store->Import(contents), IsOk());
}

TEST_F(SqliteStoreCopyTest, ContentsThatMakeNoSenseAreRefused) {
  MakeRichStore();
  ASSERT_OK_AND_ASSIGN(const StoreContents good, MustOpen()->Export());
  ASSERT_OK_AND_ASSIGN(const auto store, OpenAt(folder_ + "/copy.db"));
  const struct {
    std::function<void(StoreContents&)> spoil;
    const char* message;
  } kCases[] = {
      {[](StoreContents& c) { c.last_revision = -1; }, "the last revision, -1, is below 0"},
      {[](StoreContents& c) { c.last_revision = 5; }, "revision 6 of the migrations"},
      {[](StoreContents& c) { c.last_revision = 8; }, "revision 9 of the topologies"},
      {[](StoreContents& c) { c.history.back().revision = 10; }, "revision 10 of the history"},
      {[](StoreContents& c) { c.default_share.revision = 10; }, "revision 10 of the default"},
      {[](StoreContents& c) { c.default_share.revision = -1; }, "revision -1 of the default"},
      {[](StoreContents& c) { c.migrations[0].data_center = ""; }, "migrations has no name"},
      {[](StoreContents& c) { c.migrations[0].decision_algorithm = ""; }, "no decision algorithm"},
      {[](StoreContents& c) { c.migrations[0].revision = 0; }, "revision 0 of the migrations"},
      {[](StoreContents& c) { c.migrations.push_back(c.migrations[0]); },
       "two migrations of \"ams\""},
      {[](StoreContents& c) { c.migrations[0].retired = static_cast<RetiredRing>(3); },
       "has retired a ring that there is not"},
      {[](StoreContents& c) { c.topologies[0].revision = 9; },
       "revision 9 of the topologies comes twice"},
      {[](StoreContents& c) {
         std::swap(c.topologies[1].node_changes[0], c.topologies[1].node_changes[1]);
       },
       "the changes of nodes of \"sfo\" are not by name"},
      {[](StoreContents& c) { c.topologies.push_back(c.topologies[0]); },
       "two topologies of \"ams\""},
      {[](StoreContents& c) { c.history.push_back(c.history[0]); },
       "the history goes from revision 9 of \"sfo\" to 1 of \"ams\""},
      {[](StoreContents& c) { c.history[1].from = std::nullopt; }, "change of revision 2"},
      {[](StoreContents& c) { c.history[1].data_center = ""; }, "change of revision 2"},
      {[](StoreContents& c) { c.history[1].kind = static_cast<ChangeKind>(11); },
       "change of revision 2"},
  };
  for (const auto& [spoil, message] : kCases) {
    StoreContents contents = good;
    spoil(contents);
    EXPECT_THAT(store->Import(contents),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)));
  }
  EXPECT_THAT(store->Export(), IsOkAndHolds(StoreContents()));
  EXPECT_THAT(store->Import(good), IsOk());
}

// ReadContents.

TEST_F(SqliteStoreCopyTest, AClosedStoreIsReadAndNothingIsLeftBeside) {
  MakeRichStore();
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, MustOpen()->Export());
  const auto before = Files();
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_THAT(SqliteStore::ReadContents(path_), IsOkAndHolds(contents));
  EXPECT_TRUE(Files() == before);
}

TEST_F(SqliteStoreCopyTest, AStoreWithoutALogIsRead) {
  MakeRichStore();
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, MustOpen()->Export());
  Tool(path_).Run("PRAGMA journal_mode = DELETE");
  const auto before = Files();
  EXPECT_THAT(SqliteStore::ReadContents(path_), IsOkAndHolds(contents));
  EXPECT_TRUE(Files() == before);
}

TEST_F(SqliteStoreCopyTest, APathOfAnyCharactersIsRead) {
  for (const char* name : {"/a?b.db", "/a#b.db", "/a%20b.db", "/a b&c=d.db", "/caf\xc3\xa9.db"}) {
    path_ = folder_ + name;
    MakeStore();
    EXPECT_EQ(SqliteStore::ReadContents(path_)->last_revision, 2) << name;
  }
  fs::create_symlink(path_, folder_ + "/link.db");
  EXPECT_EQ(SqliteStore::ReadContents(folder_ + "/link.db")->last_revision, 2);
}

TEST_F(SqliteStoreCopyTest, AnotherProcessReadsWhatARouterHoldsAndWritesNothing) {
  MakeRichStore();
  int opened[2];
  int done[2];
  ASSERT_EQ(pipe(opened) | pipe(done), 0);
  const pid_t router = fork();
  if (router == 0) {
    const auto store = Open();
    // What the reader must not miss is in the log alone.
    Tool reader(path_);
    reader.Run("BEGIN");
    reader.Query("SELECT * FROM migration");
    const bool set =
        store.ok() && SetShare(**store, {"ams", Percent("37.5"), std::nullopt, "eva", ""}).ok() &&
        (*store)->SaveTopology({"fra", std::string(50'000, 'x'), {}, "eva", "", ""}).ok();
    char byte = set ? 'y' : 'n';
    if (write(opened[1], &byte, 1) != 1) _exit(1);
    close(done[1]);
    if (read(done[0], &byte, 1) != 0) _exit(1);  // until the parent closes its end
    const bool again = SetShare(**store, {"ams", Percent("38"), std::nullopt, "eva", ""}).ok() &&
                       (*store)->Check().ok();
    _exit(again ? 0 : 2);
  }
  char byte = 0;
  ASSERT_EQ(read(opened[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const std::string file = ReadFile(path_);
  const std::string log = ReadFile(path_ + "-wal");
  ASSERT_EQ(file.find(std::string(1000, 'x')), std::string::npos);
  // Nor may it write there: as a user who only may read.
  const uid_t user = geteuid();
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const absl::StatusOr<StoreContents> contents = SqliteStore::ReadContents(path_);
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  ASSERT_THAT(contents, IsOk());
  EXPECT_EQ(contents->migrations.at(0).share, Percent("37.5"));
  EXPECT_THAT(contents->topologies, SizeIs(3));
  EXPECT_EQ(contents->last_revision, 11);
  EXPECT_EQ(ReadFile(path_), file);
  EXPECT_EQ(ReadFile(path_ + "-wal"), log);
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("held by another")));
  close(done[1]);
  int status = 0;
  waitpid(router, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SqliteStore::ReadContents(path_)->migrations.at(0).share, Percent("38"));
}

// A router that was killed leaves a log, which nobody has open.
TEST_F(SqliteStoreCopyTest, ALogThatACrashLeftIsReadAndStays) {
  MakeRichStore();
  const int status = RunInChild([this] {
    const auto store = Open();
    Tool reader(path_);
    reader.Run("BEGIN");
    reader.Query("SELECT * FROM migration");
    if (!store.ok() || !SetShare(**store, {"ams", Percent("37.5"), std::nullopt, "eva", ""}).ok())
      _exit(1);
    kill(getpid(), SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const auto before = Files();
  ASSERT_TRUE(before.contains("state.db-wal") && before.contains("state.db-shm"));
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, SqliteStore::ReadContents(path_));
  EXPECT_EQ(contents.migrations.at(0).share, Percent("37.5"));
  EXPECT_THAT(Files(), SizeIs(before.size()));
  // Without its index, too.
  fs::remove(path_ + "-shm");
  EXPECT_THAT(SqliteStore::ReadContents(path_), IsOkAndHolds(contents));
  EXPECT_EQ(ReadFile(path_), before.at("state.db"));
  EXPECT_EQ(ReadFile(path_ + "-wal"), before.at("state.db-wal"));
  EXPECT_THAT(MustOpen()->Export(), IsOkAndHolds(contents));
}

// A process that closes a descriptor of a file loses all of its fcntl locks on it. Without them
// SQLite in another process believes itself alone, and takes the log away when it closes.
TEST_F(SqliteStoreCopyTest, ReadingInTheProcessOfTheRouterDoesNotCostItItsLocks) {
  MakeRichStore();
  ReaderInAnotherProcess reader(path_, "70000");
  const auto store = MustOpen();
  EXPECT_THAT(SqliteStore::ReadContents(path_), IsOk());
  ASSERT_THAT(SetShare(*store, {"ams", Percent("7"), std::nullopt, "eva", ""}), IsOk());
  EXPECT_EQ(SqliteStore::ReadContents(path_)->migrations.at(0).share, Percent("7"));
  EXPECT_EQ(reader.Read(), 0);
  EXPECT_TRUE(fs::exists(path_ + "-wal"));
  EXPECT_THAT(store->Check(), IsOk());
}

// Of one moment: the change of the share and its row of the history come together.
void ExpectOfOneMoment(const absl::StatusOr<StoreContents>& contents) {
  ASSERT_THAT(contents, IsOk());
  ASSERT_FALSE(contents->history.empty());
  const MigrationChange& last = contents->history.back();
  EXPECT_EQ(last.revision, contents->last_revision);
  EXPECT_EQ(contents->history.size(), static_cast<std::size_t>(contents->last_revision));
  EXPECT_EQ(contents->migrations.at(0).revision, last.revision);
  EXPECT_EQ(contents->migrations.at(0).share, last.to);
}

TEST_F(SqliteStoreCopyTest, ContentsAreOfOneMomentWhileThisProcessWrites) {
  MakeStore();
  std::atomic<bool> stop = false;
  std::atomic<int> rounds = 0;
  absl::Status written;
  std::thread writer([&] {
    while (!stop) {
      written = WriteOnce();
      ++rounds;
      if (!written.ok()) stop = true;
    }
  });
  for (int reads = 0; !stop && (reads < 50 || rounds < 5); ++reads) {
    ExpectOfOneMoment(SqliteStore::ReadContents(path_));
    if (HasFatalFailure()) break;
  }
  stop = true;
  writer.join();
  EXPECT_THAT(written, IsOk());
}

TEST_F(SqliteStoreCopyTest, ContentsAreOfOneMomentWhileAnotherProcessWrites) {
  MakeStore();
  const pid_t writer = fork();
  if (writer == 0) {
    for (int round = 0; round < 20; ++round) {
      if (const absl::Status written = WriteOnce(); !written.ok()) {
        std::cerr << written << std::endl;
        _exit(1);
      }
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(writer, &status, WNOHANG) == 0) {
    ExpectOfOneMoment(SqliteStore::ReadContents(path_));
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SqliteStore::ReadContents(path_)->last_revision, 2 + 20 * 5);
}

TEST_F(SqliteStoreCopyTest, AFileThatMayNotBeReadIsPermissionDenied) {
  MakeStore();
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0000), 0);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);  // modes do not hold for root
  }
  const absl::Status status = SqliteStore::ReadContents(path_).status();
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kPermissionDenied,
                               AllOf(HasSubstr(path_), HasSubstr("let this user read the file"))));
}

}  // namespace
}  // namespace ringshift
