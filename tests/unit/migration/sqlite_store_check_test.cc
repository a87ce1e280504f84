// What Check notices, and what it does not disturb.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/sqlite_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/sqlite_store_fixture.h"

namespace ringshift {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::AllOf;
using testing::FullDisk;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Percent;
using testing::ReadFile;
using testing::SetShare;
using testing::StatusIs;
using testing::Tool;
using testing::WriteFile;

class SqliteStoreCheckTest : public testing::SqliteStoreTest {
 protected:
  void SetUp() override {
    SqliteStoreTest::SetUp();
    MakeStore();
    store_ = MustOpen();
  }

  absl::Status Change() {
    return SetShare(*store_, {"ams", Percent("50"), std::nullopt, "a", "r"}).status();
  }

  // Neither a check nor a change passes, and what is stored is still read.
  void ExpectDown(StatusCode code, const std::string& message) {
    const auto down = StatusIs(code, AllOf(HasSubstr(path_), HasSubstr(message)));
    EXPECT_THAT(store_->Check(), down);
    EXPECT_THAT(Change(), down);
    EXPECT_THAT(store_->Check(), down);
  }

  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreCheckTest, AStoreThatWorksIsOkAndIsNotWrittenTo) {
  const auto before = Files();
  EXPECT_THAT(store_->Check(), IsOk());
  EXPECT_TRUE(Files() == before);
  ASSERT_THAT(Change(), IsOk());
  EXPECT_THAT(store_->Check(), IsOk());
}

TEST_F(SqliteStoreCheckTest, ANewStoreIsOk) {
  ASSERT_OK_AND_ASSIGN(const auto fresh, OpenAt(folder_ + "/new.db"));
  EXPECT_THAT(fresh->Check(), IsOk());
}

TEST_F(SqliteStoreCheckTest, AFileThatWasDeletedMovedOrReplacedIsNoticed) {
  fs::rename(path_, path_ + ".moved");
  ExpectDown(StatusCode::kUnavailable, "was deleted, moved or replaced under the router; put");
  WriteFile(path_, "another file");
  ExpectDown(StatusCode::kUnavailable, "was deleted, moved or replaced under the router; put");
  fs::rename(path_ + ".moved", path_);
  EXPECT_THAT(store_->Check(), IsOk());
  EXPECT_THAT(Change(), IsOk());
}

TEST_F(SqliteStoreCheckTest, AFileThatWasCutOffInPlaceIsNoticed) {
  const auto size = static_cast<off_t>(fs::file_size(path_));
  ASSERT_EQ(truncate(path_.c_str(), size - 4096), 0);
  ExpectDown(StatusCode::kDataLoss, "the file is damaged");
  ASSERT_EQ(truncate(path_.c_str(), 50), 0);
  ExpectDown(StatusCode::kDataLoss, "cut off after 50 bytes");
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  ExpectDown(StatusCode::kDataLoss, "restore a backup");
}

// SQLite then goes by its log, and does not look at the file.
TEST_F(SqliteStoreCheckTest, AFileThatWasCutOffInPlaceAfterAChangeIsNoticed) {
  ASSERT_THAT(Change(), IsOk());
  const auto size = static_cast<off_t>(fs::file_size(path_));
  ASSERT_EQ(truncate(path_.c_str(), size - 4096), 0);
  ExpectDown(StatusCode::kDataLoss,
             absl::StrCat("it was cut off to ", size - 4096, " of ", size, " bytes"));
  // What is left stays as it is, for whoever restores it.
  store_.reset();
  EXPECT_EQ(static_cast<off_t>(fs::file_size(path_)), size - 4096);
  EXPECT_TRUE(fs::exists(path_ + "-wal"));
}

// As `cp` of another file over it does.
TEST_F(SqliteStoreCheckTest, AFileThatWasOverwrittenInPlaceIsNoticed) {
  const std::string whole = ReadFile(path_);
  const int fd = open(path_.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(pwrite(fd, "no database at all", 18, 0), 18);
  ExpectDown(StatusCode::kDataLoss, "is not Ringshift's: it is no SQLite database");
  EXPECT_EQ(pwrite(fd, whole.data(), 18, 0), 18);
  // No descriptor of the file is closed before the store: that would drop SQLite's locks.
  EXPECT_THAT(store_->Check(), IsOk());
  store_.reset();
  close(fd);
}

TEST_F(SqliteStoreCheckTest, ALogThatWasDeletedOrReplacedIsNoticed) {
  for (const char* which : {"-wal", "-shm"}) {
    const std::string log = path_ + which;
    fs::rename(log, log + ".moved");
    ExpectDown(StatusCode::kUnavailable, "its log (-wal, -shm) was deleted");
    WriteFile(log, "another file");
    ExpectDown(StatusCode::kUnavailable, "restart the router, in order");
    fs::rename(log + ".moved", log);
    EXPECT_THAT(store_->Check(), IsOk());
  }
  // What the message says of the file holds.
  ASSERT_THAT(Change(), IsOk());
  fs::remove(path_ + "-wal");
  EXPECT_THAT(store_->Check(), StatusIs(StatusCode::kUnavailable, HasSubstr("its log")));
  store_.reset();
  store_ = MustOpen();
  EXPECT_EQ(store_->Load()->at(0).share, Percent("50"));
  EXPECT_THAT(store_->Check(), IsOk());
}

TEST_F(SqliteStoreCheckTest, AFolderOrFileThatMayNotBeWrittenIsUnavailable) {
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);  // modes do not hold for root
  }
  const absl::Status status = store_->Check();
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
    // The folder is another user's, and so is the file.
    EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable,
                                 AllOf(HasSubstr(path_), HasSubstr("Permission denied"),
                                       HasSubstr("make the file and its folder writable"))));
  } else {
    ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
    EXPECT_THAT(store_->Check(),
                StatusIs(StatusCode::kUnavailable, HasSubstr("make the file and its folder")));
    ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  }
  EXPECT_THAT(store_->Check(), IsOk());
}

TEST_F(SqliteStoreCheckTest, AfterAWriteThatFailedOnlyAWriteMakesItOk) {
  ASSERT_OK_AND_ASSIGN(const StoreContents before, store_->Export());
  absl::Status untried;
  absl::Status change;
  absl::Status check;
  {
    FullDisk full;
    untried = store_->Check();
    change = Change();
    check = store_->Check();
  }
  EXPECT_THAT(untried, IsOk());
  EXPECT_THAT(change, StatusIs(StatusCode::kUnavailable, HasSubstr(path_)));
  EXPECT_THAT(check, StatusIs(StatusCode::kUnavailable, HasSubstr("try again")));
  EXPECT_THAT(store_->Check(), IsOk());
  EXPECT_THAT(store_->Export(), IsOkAndHolds(before));
  {
    FullDisk full;
    check = store_->Check();
  }
  EXPECT_THAT(check, IsOk());  // it does not write once it has
}

TEST_F(SqliteStoreCheckTest, AChangeThatIsRefusedIsNoFailure) {
  EXPECT_THAT(SetShare(*store_, {"ams", Percent("50"), 1, "a", "r"}),
              StatusIs(StatusCode::kAborted, HasSubstr("revision")));
  EXPECT_THAT(store_->Forget({"fra", std::nullopt, "a", "r"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("fra")));
  FullDisk full;
  EXPECT_TRUE(store_->Check().ok());
}

TEST_F(SqliteStoreCheckTest, AnotherReaderDoesNotMatter) {
  Tool reader(path_);
  reader.Run("BEGIN");
  EXPECT_EQ(reader.Query("SELECT v2_ppm FROM migration"), "250000");
  // The file grows by this, but only once the reader is gone.
  ASSERT_THAT(store_->SaveTopology({"ams", std::string(100'000, 'x'), {}, "router", "", ""}),
              IsOk());
  EXPECT_THAT(store_->Check(), IsOk());
  EXPECT_THAT(Change(), IsOk());
  reader.Run("COMMIT");
  EXPECT_THAT(store_->Check(), IsOk());
  EXPECT_THAT(SqliteStore::ReadContents(path_)->topologies, ::testing::SizeIs(1));
}

// A file system of 128 KiB, for whom may make one.
class SqliteStoreOnASmallDiskTest : public testing::SqliteStoreTest {
 protected:
  void SetUp() override {
    SqliteStoreTest::SetUp();
    if (mount("none", folder_.c_str(), "tmpfs", 0, "size=128k") != 0) {
      GTEST_SKIP() << "may not mount a file system";
    }
  }
  void TearDown() override {
    while (umount2(folder_.c_str(), MNT_DETACH) == 0) {
    }
    SqliteStoreTest::TearDown();
  }
};

TEST_F(SqliteStoreOnASmallDiskTest, ADiskThatIsFullIsUnavailableUntilThereIsRoom) {
  MakeStore();
  auto store = MustOpen();
  {
    const int fd = open((folder_ + "/filler").c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    const std::string block(4096, 'x');
    while (write(fd, block.data(), block.size()) == 4096) {
    }
    close(fd);
  }
  const auto full =
      StatusIs(StatusCode::kUnavailable,
               AllOf(HasSubstr(path_), HasSubstr("free space on its file system and try again")));
  EXPECT_THAT(store->SaveTopology({"ams", std::string(50'000, 'x'), {}, "router", "", ""}), full);
  EXPECT_EQ(store->Load()->at(0).share, Percent("25"));
  EXPECT_THAT(store->LoadTopologies(), IsOkAndHolds(::testing::IsEmpty()));
  fs::remove(folder_ + "/filler");
  EXPECT_THAT(store->Check(), IsOk());
  EXPECT_THAT(SetShare(*store, {"ams", Percent("50"), 2, "a", "r"}), IsOk());
  store.reset();
}

TEST_F(SqliteStoreOnASmallDiskTest, AFileSystemThatTurnsReadOnlyIsUnavailable) {
  MakeStore();
  auto store = MustOpen();
  // A kernel makes it so after an I/O error; by hand it cannot be done while a file is open for
  // writing, so the folder is mounted over itself.
  ASSERT_EQ(mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount("none", folder_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0);
  EXPECT_THAT(store->Check(),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("Read-only file system"), HasSubstr("writable"))));
  EXPECT_THAT(Open(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("held by another")));
  const auto contents = SqliteStore::ReadContents(path_);
  EXPECT_THAT(contents, IsOk());
  const std::string other = folder_ + "/other.db";
  EXPECT_THAT(OpenAt(other), StatusIs(StatusCode::kPermissionDenied,
                                      HasSubstr("Read-only file system; let the router's user")));
  ASSERT_EQ(umount2(folder_.c_str(), MNT_DETACH), 0);
  EXPECT_THAT(store->Check(), IsOk());
  store.reset();
}

}  // namespace
}  // namespace ringshift
