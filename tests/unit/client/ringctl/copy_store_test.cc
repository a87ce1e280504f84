#include "client/ringctl/copy_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "migration/sqlite_store.h"
#include "tests/integration/process.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::SetShare;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The names in a folder.
std::vector<std::string> Names(const TempDir& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<SqliteStore> MakeStore(const std::string& path) {
  auto store = SqliteStore::Open(path, SqliteStore::IfMissing::kCreate).value();
  for (const char* name : {"ams", "fra"}) {
    EXPECT_THAT(store->EnsureExists({name, Share::None(), "salt", "test", "new"}), IsOk());
  }
  EXPECT_THAT(SetShare(*store, {"ams", Share::All(), std::nullopt, "me", "because"}), IsOk());
  EXPECT_THAT(store->SaveTopology({"ams", "some text", {}, "me", "why", "what"}), IsOk());
  return store;
}

TEST(CopyStoreTest, TheCopyHasAllThatTheStoreHas) {
  const TempDir from;
  const TempDir to;
  const auto store = MakeStore(from.File("state.db"));  // stays open
  ASSERT_OK_AND_ASSIGN(const StoreContents expected, store->Export());
  ASSERT_EQ(expected.history.size(), 4U);

  EXPECT_THAT(CopySqliteStore(from.File("state.db"), to.File("copy.db")),
              ::ringshift::testing::IsOkAndHolds(::testing::Eq(expected)));
  EXPECT_THAT(Names(to), ElementsAre("copy.db"));
  ASSERT_OK_AND_ASSIGN(const auto copy,
                       SqliteStore::Open(to.File("copy.db"), SqliteStore::IfMissing::kFail));
  EXPECT_THAT(copy->Export(), ::ringshift::testing::IsOkAndHolds(::testing::Eq(expected)));
  // The next change goes on where the other store is.
  ASSERT_OK_AND_ASSIGN(const Migration next,
                       SetShare(*copy, {"fra", Share::All(), std::nullopt, "me", "further"}));
  EXPECT_EQ(next.revision, expected.last_revision + 1);
}

TEST(CopyStoreTest, NothingThatIsThereIsReplaced) {
  const TempDir from;
  MakeStore(from.File("state.db"));
  const TempDir to;
  MakeStore(to.File("store"));
  to.Write("empty", "");
  std::filesystem::create_directory(to.File("folder"));
  std::filesystem::create_symlink("nowhere", to.File("link"));
  const std::vector<std::string> before = Names(to);
  for (const char* name : {"store", "empty", "folder", "link"}) {
    EXPECT_THAT(CopySqliteStore(from.File("state.db"), to.File(name)),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         HasSubstr("there is a file at " + to.File(name) + " already")));
  }
  EXPECT_EQ(Names(to), before);
  EXPECT_EQ(std::filesystem::file_size(to.File("empty")), 0U);
}

// SQLite would replay it over the copy.
TEST(CopyStoreTest, ALogOfAnotherStoreIsNotGivenACopy) {
  const TempDir from;
  MakeStore(from.File("state.db"));
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    const TempDir to;
    const std::string log = to.Write("copy.db" + std::string(suffix), "what was before");
    EXPECT_THAT(CopySqliteStore(from.File("state.db"), to.File("copy.db")),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         HasSubstr("a log of another store is at " + log + ": move it away")));
    EXPECT_THAT(Names(to), ElementsAre("copy.db" + std::string(suffix)));
    std::filesystem::remove(log);
    EXPECT_THAT(CopySqliteStore(from.File("state.db"), to.File("copy.db")), IsOk());
  }
}

TEST(CopyStoreTest, TheShareThatACrashLeftInALogDoesNotComeBack) {
  const TempDir dir;
  const std::string lost = dir.File("state.db");
  {
    const auto store = MakeStore(lost);  // `ams` at 100 %
    std::filesystem::copy_file(lost + "-wal", dir.File("kept"));
  }
  std::filesystem::remove(lost);
  std::filesystem::rename(dir.File("kept"), lost + "-wal");
  const TempDir backup;
  {
    auto store = SqliteStore::Open(backup.File("b.db"), SqliteStore::IfMissing::kCreate).value();
    ASSERT_THAT(store->EnsureExists({"ams", Share::None(), "salt", "test", "new"}), IsOk());
  }
  const auto copied = CopySqliteStore(backup.File("b.db"), lost);
  EXPECT_THAT(copied, StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(lost + "-wal")));
  if (!copied.ok()) {
    std::filesystem::rename(lost + "-wal", dir.File("aside"));
    ASSERT_THAT(CopySqliteStore(backup.File("b.db"), lost), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(lost, SqliteStore::IfMissing::kFail));
  EXPECT_EQ(store->Load().value().at(0).share, Share::None());
}

TEST(CopyStoreTest, AStoreThatCannotBeReadLeavesNoCopy) {
  const TempDir dir;
  const TempDir to;
  EXPECT_THAT(CopySqliteStore(dir.File("missing"), to.File("copy.db")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir.File("missing"))));
  const std::string foreign = dir.Write("foreign", "this is no database, but some text");
  EXPECT_THAT(CopySqliteStore(foreign, to.File("copy.db")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(foreign)));
  EXPECT_THAT(Names(to), ElementsAre());
}

TEST(CopyStoreTest, AFolderThatDoesNotExistIsNotFound) {
  const TempDir dir;
  MakeStore(dir.File("state.db"));
  EXPECT_THAT(CopySqliteStore(dir.File("state.db"), dir.File("no/copy.db")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir.File("no"))));
}

}  // namespace
}  // namespace ringshift
