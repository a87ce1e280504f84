// A SqliteStore in a folder of its own, and what befalls its file.
#ifndef RINGSHIFT_TESTS_UNIT_MIGRATION_SQLITE_STORE_FIXTURE_H_
#define RINGSHIFT_TESTS_UNIT_MIGRATION_SQLITE_STORE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "migration/sqlite_store.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {

inline Share Percent(std::string_view text) { return Share::ParsePercent(text).value(); }

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Another tool with the file open.
class Tool {
 public:
  explicit Tool(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK); }
  ~Tool() { sqlite3_close(db_); }

  void Run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db_);
  }
  // The first column of the first row.
  std::string Query(const std::string& sql) {
    std::string answer = "(no row)";
    sqlite3_exec(
        db_, sql.c_str(),
        [](void* out, int, char** values, char**) {
          *static_cast<std::string*>(out) = values[0] == nullptr ? "(null)" : values[0];
          return 1;
        },
        &answer, nullptr);
    return answer;
  }
  // Leaves the log as it is.
  void KeepLog() {
    Run("PRAGMA wal_autocheckpoint = 0");
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }

 private:
  sqlite3* db_ = nullptr;
};

// While it lives no file of this process can be written beyond `size` bytes: what a full disk looks
// like.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size = 0) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{size, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

// Runs `body` in a child process and returns how that ended, for waitpid's macros.
template <typename Body>
int RunInChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Another process that reads the share of the store's one migration when it is told to. It is there
// before this process opens the store.
class ReaderInAnotherProcess {
 public:
  ReaderInAnotherProcess(const std::string& path, const std::string& expected_ppm) {
    EXPECT_EQ(pipe(go_), 0);
    child_ = fork();
    if (child_ == 0) {
      char byte = 0;
      if (read(go_[0], &byte, 1) != 1) _exit(1);
      const std::string share = Tool(path).Query("SELECT v2_ppm FROM migration");
      _exit(share == expected_ppm ? 0 : 2);  // after the tool has closed the file
    }
  }
  // How it ended; 0 if it read what it expected.
  int Read() {
    EXPECT_EQ(write(go_[1], "g", 1), 1);
    int status = 0;
    waitpid(child_, &status, 0);
    return status;
  }

 private:
  int go_[2] = {};
  pid_t child_ = 0;
};

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/ringshift-store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/state.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<SqliteStore>> Open(
      SqliteStore::IfMissing if_missing = SqliteStore::IfMissing::kCreate) {
    return OpenAt(path_, if_missing);
  }
  absl::StatusOr<std::unique_ptr<SqliteStore>> OpenAt(
      const std::string& path,
      SqliteStore::IfMissing if_missing = SqliteStore::IfMissing::kCreate) {
    // One second later at each look.
    return SqliteStore::Open(path, if_missing, [this] { return now_ += std::chrono::seconds(1); });
  }

  std::unique_ptr<SqliteStore> MustOpen() {
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = Open();
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }

  // A closed store in which ams is at 25 %, at revision 2.
  void MakeStore() {
    const auto store = MustOpen();
    ASSERT_THAT(store->EnsureExists({"ams", Share::None(), "ams", "router", "first start"}),
                IsOk());
    ASSERT_THAT(SetShare(*store, {"ams", Percent("25"), std::nullopt, "eva", "canary"}), IsOk());
  }

  // Every file of the folder with its content.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const std::filesystem::directory_entry& entry :
         std::filesystem::directory_iterator(folder_)) {
      files[entry.path().filename()] = entry.is_regular_file() ? ReadFile(entry.path()) : "";
    }
    return files;
  }

  auto RefusedWith(absl::StatusCode code, const std::string& message) const {
    return StatusIs(code,
                    ::testing::AllOf(::testing::HasSubstr(absl::StrCat("store \"", path_, "\"")),
                                     ::testing::HasSubstr(message)));
  }

  // Opening is refused, and nothing in the folder changes by it.
  void ExpectOpenRefused(absl::StatusCode code, const std::string& message) {
    const auto before = Files();
    EXPECT_THAT(Open(), RefusedWith(code, message));
    EXPECT_TRUE(Files() == before);
  }
  // So is reading.
  void ExpectRefused(absl::StatusCode code, const std::string& message) {
    ExpectOpenRefused(code, message);
    const auto before = Files();
    EXPECT_THAT(SqliteStore::ReadContents(path_), RefusedWith(code, message));
    EXPECT_TRUE(Files() == before);
  }

  std::string folder_;
  std::string path_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_MIGRATION_SQLITE_STORE_FIXTURE_H_
