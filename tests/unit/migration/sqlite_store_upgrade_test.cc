// Files of older schemas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/sqlite_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/sqlite_store_fixture.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FullDisk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Percent;
using testing::ReadFile;
using testing::RunInChild;
using testing::SetShare;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::Tool;

// As a router of schema 1 made it.
constexpr char kSchema1[] = R"sql(
PRAGMA application_id = 0x52534654;
PRAGMA user_version = 1;
CREATE TABLE migration (
  data_center        TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  v2_ppm             INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  salt               TEXT    NOT NULL,
  decision_algorithm TEXT    NOT NULL CHECK (decision_algorithm <> ''),
  revision           INTEGER NOT NULL UNIQUE CHECK (revision >= 1),
  update_time_us     INTEGER NOT NULL,
  actor              TEXT    NOT NULL,
  reason             TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE migration_change (
  revision    INTEGER NOT NULL PRIMARY KEY CHECK (revision >= 1),
  time_us     INTEGER NOT NULL,
  data_center TEXT    NOT NULL CHECK (data_center <> ''),
  actor       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  from_ppm    INTEGER CHECK (from_ppm BETWEEN 0 AND 1000000),
  to_ppm      INTEGER NOT NULL CHECK (to_ppm BETWEEN 0 AND 1000000)
) STRICT;
CREATE INDEX migration_change_of ON migration_change (data_center, revision);
CREATE TABLE revision_counter (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  last_revision INTEGER NOT NULL CHECK (last_revision >= 0)
) STRICT;
PRAGMA journal_mode = WAL;
INSERT INTO revision_counter VALUES (1, 3);
INSERT INTO migration_change VALUES
  (1, 1700000001000001, 'ams', 'router', 'first start', NULL, 0),
  (2, 1700000002000002, 'ams', 'eva', 'canary', 0, 250000),
  (3, 1700000003000003, 'ams', 'bob', 'misses', 250000, 0);
INSERT INTO migration VALUES ('ams', 0, 'salt-ams', 'xxh3-ppm-1', 3, 1700000003000003, 'bob', 'misses');
)sql";

// As a router of schema 2 made it.
constexpr char kSchema2[] = R"sql(
PRAGMA application_id = 0x52534654;
PRAGMA user_version = 2;
CREATE TABLE migration (
  data_center        TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  v2_ppm             INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  salt               TEXT    NOT NULL,
  decision_algorithm TEXT    NOT NULL CHECK (decision_algorithm <> ''),
  revision           INTEGER NOT NULL UNIQUE CHECK (revision >= 1),
  update_time_us     INTEGER NOT NULL,
  actor              TEXT    NOT NULL,
  reason             TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE migration_change (
  revision    INTEGER NOT NULL PRIMARY KEY CHECK (revision >= 1),
  time_us     INTEGER NOT NULL,
  data_center TEXT    NOT NULL CHECK (data_center <> ''),
  kind        INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 5),
  actor       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  from_ppm    INTEGER CHECK (from_ppm BETWEEN 0 AND 1000000),
  to_ppm      INTEGER CHECK (to_ppm BETWEEN 0 AND 1000000),
  detail      TEXT    NOT NULL
) STRICT;
CREATE INDEX migration_change_of ON migration_change (data_center, revision);
CREATE TABLE topology (
  data_center    TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  text           TEXT    NOT NULL,
  revision       INTEGER NOT NULL UNIQUE CHECK (revision >= 1),
  update_time_us INTEGER NOT NULL,
  actor          TEXT    NOT NULL,
  reason         TEXT    NOT NULL
) STRICT;
CREATE TABLE revision_counter (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  last_revision INTEGER NOT NULL CHECK (last_revision >= 0)
) STRICT;
PRAGMA journal_mode = WAL;
INSERT INTO revision_counter VALUES (1, 6);
INSERT INTO migration_change VALUES
  (1, 1700000001000001, 'ams', 1, 'router', 'first start', NULL, 0, ''),
  (2, 1700000002000002, 'ams', 2, 'eva', 'canary', 0, 250000, ''),
  (3, 1700000003000003, 'ams', 5, 'router', 'reload', NULL, NULL, '1 node added'),
  (4, 1700000004000004, 'ams', 3, 'bob', 'new building', 250000, NULL, 'to sfo'),
  (5, 1700000004000004, 'sfo', 1, 'bob', 'new building', NULL, 250000, 'renamed from ams'),
  (6, 1700000006000006, 'sfo', 5, 'router', 'start', NULL, NULL, 'new');
INSERT INTO migration VALUES
  ('sfo', 250000, 'salt-ams', 'xxh3-ppm-1', 5, 1700000004000004, 'bob', 'new building');
INSERT INTO topology VALUES ('sfo', 'nodes: []', 6, 1700000006000006, 'router', 'start');
)sql";

// As a router of schema 3 made it.
constexpr char kSchema3[] = R"sql(
PRAGMA application_id = 0x52534654;
PRAGMA user_version = 3;
CREATE TABLE migration (
  data_center        TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  v2_ppm             INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  salt               TEXT    NOT NULL,
  decision_algorithm TEXT    NOT NULL CHECK (decision_algorithm <> ''),
  revision           INTEGER NOT NULL CHECK (revision >= 1),
  update_time_us     INTEGER NOT NULL,
  actor              TEXT    NOT NULL,
  reason             TEXT    NOT NULL,
  share_time_us      INTEGER NOT NULL,
  is_frozen          INTEGER NOT NULL CHECK (is_frozen BETWEEN 0 AND 1),
  retired_ring       INTEGER NOT NULL CHECK (retired_ring BETWEEN 0 AND 2),
  answers            TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE migration_change (
  revision    INTEGER NOT NULL CHECK (revision >= 1),
  data_center TEXT    NOT NULL CHECK ((data_center = '') = (kind = 10)),
  time_us     INTEGER NOT NULL,
  kind        INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 10),
  actor       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  from_ppm    INTEGER CHECK (from_ppm BETWEEN 0 AND 1000000),
  to_ppm      INTEGER CHECK (to_ppm BETWEEN 0 AND 1000000),
  detail      TEXT    NOT NULL,
  PRIMARY KEY (revision, data_center)
) STRICT, WITHOUT ROWID;
CREATE INDEX migration_change_of ON migration_change (data_center, revision);
CREATE TABLE topology (
  data_center    TEXT    NOT NULL PRIMARY KEY CHECK (data_center <> ''),
  text           TEXT    NOT NULL,
  revision       INTEGER NOT NULL UNIQUE CHECK (revision >= 1),
  update_time_us INTEGER NOT NULL,
  actor          TEXT    NOT NULL,
  reason         TEXT    NOT NULL
) STRICT;
CREATE TABLE node_change (
  data_center TEXT    NOT NULL,
  node        TEXT    NOT NULL,
  time_us     INTEGER NOT NULL,
  before      TEXT    NOT NULL,
  PRIMARY KEY (data_center, node, time_us)
) STRICT, WITHOUT ROWID;
CREATE TABLE revision_counter (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  last_revision INTEGER NOT NULL CHECK (last_revision >= 0)
) STRICT;
CREATE TABLE default_share (
  only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  v2_ppm   INTEGER NOT NULL CHECK (v2_ppm BETWEEN 0 AND 1000000),
  revision INTEGER NOT NULL CHECK (revision >= 0)
) STRICT;
PRAGMA journal_mode = WAL;
INSERT INTO revision_counter VALUES (1, 4);
INSERT INTO default_share VALUES (1, 50000, 2);
INSERT INTO migration_change VALUES
  (1, 'ams', 1700000001000001, 1, 'router', 'first start', NULL, 0, ''),
  (2, '', 1700000002000002, 10, 'eva', 'new ones', 0, 50000, ''),
  (3, 'ams', 1700000003000003, 5, 'router', 'start', NULL, NULL, 'new'),
  (4, 'ams', 1700000004000004, 6, 'bob', 'misses', 0, 0, '');
INSERT INTO migration VALUES
  ('ams', 0, 'salt-ams', 'xxh3-ppm-1', 4, 1700000004000004, 'bob', 'misses', 1700000001000001, 1, 2,
   'v2=;v1=;changes=');
INSERT INTO topology VALUES ('ams', 'nodes: []', 3, 1700000003000003, 'router', 'start');
INSERT INTO node_change VALUES ('ams', 'n1', 1700000003000003, '');
)sql";

WallTime At(std::int64_t micros) { return WallTime(std::chrono::microseconds(micros)); }

struct OldFile {
  std::string schema;  // its version
  const char* sql;
  StoreContents contents;
};

OldFile Schema1() {
  StoreContents contents;
  const WallTime time = At(1'700'000'003'000'003);
  contents.migrations = {{"ams",
                          Share::None(),
                          "salt-ams",
                          "xxh3-ppm-1",
                          3,
                          time,
                          "bob",
                          "misses",
                          time,
                          false,
                          RetiredRing::kNone,
                          {}}};
  contents.history = {
      {1, At(1'700'000'001'000'001), "ams", ChangeKind::kCreated, "router", "first start",
       std::nullopt, Share::None(), ""},
      {2, At(1'700'000'002'000'002), "ams", ChangeKind::kShare, "eva", "canary", Share::None(),
       Percent("25"), ""},
      {3, time, "ams", ChangeKind::kShare, "bob", "misses", Percent("25"), Share::None(), ""}};
  contents.last_revision = 3;
  return {"1", kSchema1, contents};
}

OldFile Schema2() {
  StoreContents contents;
  const WallTime time = At(1'700'000'004'000'004);
  contents.migrations = {{"sfo",
                          Percent("25"),
                          "salt-ams",
                          "xxh3-ppm-1",
                          5,
                          time,
                          "bob",
                          "new building",
                          time,
                          false,
                          RetiredRing::kNone,
                          {}}};
  contents.topologies = {{"sfo", "nodes: []", {}, 6, At(1'700'000'006'000'006), "router", "start"}};
  contents.history = {{1, At(1'700'000'001'000'001), "ams", ChangeKind::kCreated, "router",
                       "first start", std::nullopt, Share::None(), ""},
                      {2, At(1'700'000'002'000'002), "ams", ChangeKind::kShare, "eva", "canary",
                       Share::None(), Percent("25"), ""},
                      {3, At(1'700'000'003'000'003), "ams", ChangeKind::kTopology, "router",
                       "reload", std::nullopt, std::nullopt, "1 node added"},
                      {4, time, "ams", ChangeKind::kRenamed, "bob", "new building", Percent("25"),
                       std::nullopt, "to sfo"},
                      {5, time, "sfo", ChangeKind::kCreated, "bob", "new building", std::nullopt,
                       Percent("25"), "renamed from ams"},
                      {6, At(1'700'000'006'000'006), "sfo", ChangeKind::kTopology, "router",
                       "start", std::nullopt, std::nullopt, "new"}};
  contents.last_revision = 6;
  return {"2", kSchema2, contents};
}

OldFile Schema3() {
  StoreContents contents;
  const WallTime time = At(1'700'000'004'000'004);
  contents.migrations = {{"ams",
                          Share::None(),
                          "salt-ams",
                          "xxh3-ppm-1",
                          4,
                          time,
                          "bob",
                          "misses",
                          At(1'700'000'001'000'001),
                          true,
                          RetiredRing::kV2,
                          {}}};
  contents.topologies = {{"ams",
                          "nodes: []",
                          {{"n1", At(1'700'000'003'000'003), ""}},
                          3,
                          At(1'700'000'003'000'003),
                          "router",
                          "start"}};
  contents.history = {
      {1, At(1'700'000'001'000'001), "ams", ChangeKind::kCreated, "router", "first start",
       std::nullopt, Share::None(), ""},
      {2, At(1'700'000'002'000'002), "", ChangeKind::kDefaultShare, "eva", "new ones",
       Share::None(), Percent("5"), ""},
      {3, At(1'700'000'003'000'003), "ams", ChangeKind::kTopology, "router", "start", std::nullopt,
       std::nullopt, "new"},
      {4, time, "ams", ChangeKind::kRolledBack, "bob", "misses", Share::None(), Share::None(), ""}};
  contents.default_share = {Percent("5"), 2};
  contents.last_revision = 4;
  return {"3", kSchema3, contents};
}

// Of each older schema.
class SqliteStoreOldFileTest : public testing::SqliteStoreTest,
                               public ::testing::WithParamInterface<OldFile (*)()> {
 protected:
  void SetUp() override {
    SqliteStoreTest::SetUp();
    Tool(path_).Run(old_.sql);
  }

  // A history of some 100 KB: changes of `fra` from revision 10 on.
  void AddHistory() {
    const std::string more = old_.schema == "1"
                                 ? "SELECT i, i, 'fra', 'eva', 'a reason of some thirty bytes or "
                                   "so', CASE i WHEN 10 THEN NULL ELSE i END, i + 1 FROM n; "
                                 : "SELECT i, i, 'fra', CASE i WHEN 10 THEN 1 ELSE 2 END, 'eva', "
                                   "'a reason of some thirty bytes or so', "
                                   "CASE i WHEN 10 THEN NULL ELSE i END, i + 1, '' FROM n; ";
    Tool(path_).Run(
        "INSERT INTO migration_change WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 "
        "FROM n WHERE i < 1000) " +
        more +
        "UPDATE revision_counter SET last_revision = 1000;"
        // What no upgrade touches, so that the file becomes larger than the log.
        "CREATE TABLE padding AS SELECT zeroblob(100000)");
  }

  const OldFile old_ = GetParam()();
};

class SqliteStoreUpgradeTest : public testing::SqliteStoreTest {
 protected:
  void MakeSchema1() { Tool(path_).Run(kSchema1); }
};

INSTANTIATE_TEST_SUITE_P(, SqliteStoreOldFileTest, ::testing::Values(&Schema1, &Schema2, &Schema3),
                         [](const auto& param) { return "Schema" + param.param().schema; });

// Of those whose upgrade writes all that is in the file anew.
class SqliteStoreRewrittenFileTest : public SqliteStoreOldFileTest {};
INSTANTIATE_TEST_SUITE_P(, SqliteStoreRewrittenFileTest, ::testing::Values(&Schema1, &Schema2),
                         [](const auto& param) { return "Schema" + param.param().schema; });

TEST_P(SqliteStoreOldFileTest, AllThatWasInTheFileIsThereAfterwards) {
  {
    const auto store = MustOpen();
    EXPECT_FALSE(store->created());
    EXPECT_THAT(store->Export(), IsOkAndHolds(old_.contents));
  }
  EXPECT_EQ(Tool(path_).Query("PRAGMA user_version"), "4");
  EXPECT_THAT(MustOpen()->Export(), IsOkAndHolds(old_.contents));
}

TEST_P(SqliteStoreOldFileTest, TheFileIsThenOneLikeANewOne) {
  { const auto store = MustOpen(); }
  {
    const auto fresh = OpenAt(folder_ + "/new.db");
    ASSERT_THAT(fresh, IsOk());
  }
  // Whatever the order, and how SQLite quotes the names of tables.
  const std::string schema =
      "SELECT group_concat(sql, ';') FROM (SELECT replace(sql, '\"', '') AS sql FROM sqlite_schema "
      "ORDER BY name)";
  EXPECT_EQ(Tool(path_).Query(schema), Tool(folder_ + "/new.db").Query(schema));
}

TEST_F(SqliteStoreUpgradeTest, AnUpgradedStoreTakesEveryChange) {
  MakeSchema1();
  const auto store = MustOpen();
  EXPECT_EQ(SetShare(*store, {"ams", Percent("5"), 3, "eva", ""})->revision, 4);
  EXPECT_THAT(store->SaveTopology({"ams", "nodes: []", {}, "router", "", ""}), IsOk());
  EXPECT_THAT(store->Rename({"ams", "ams2", false, "eva", ""}), IsOk());
  EXPECT_THAT(store->Forget({"ams2", std::nullopt, "eva", ""}), IsOk());
  EXPECT_THAT(store->History({"", std::nullopt, 100}), IsOkAndHolds(SizeIs(8)));
}

// Whether a migration is as it was created is known of those, too.
TEST_F(SqliteStoreUpgradeTest, AMigrationFromSchema1ThatNobodyTouchedIsOverwrittenByARename) {
  MakeSchema1();
  Tool(path_).Run(
      "INSERT INTO migration VALUES ('fra', 0, 'fra', 'xxh3-ppm-1', 4, 4, 'router', 'start');"
      "INSERT INTO migration_change VALUES (4, 4, 'fra', 'router', 'start', NULL, 0);"
      "UPDATE revision_counter SET last_revision = 4");
  const auto store = MustOpen();
  EXPECT_THAT(store->Rename({"fra", "ams", false, "eva", ""}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("\"ams\" was changed by \"bob\"")));
  EXPECT_THAT(store->Rename({"ams", "fra", false, "eva", ""}), IsOk());
}

TEST_P(SqliteStoreOldFileTest, ReadingContentsLeavesTheFileAtItsSchema) {
  const auto before = Files();
  EXPECT_THAT(SqliteStore::ReadContents(path_), IsOkAndHolds(old_.contents));
  EXPECT_TRUE(Files() == before);
}

// Every write that an upgrade makes is cut short once, and the process with it.
TEST_P(SqliteStoreRewrittenFileTest, AKillAtAnyWriteLeavesTheOldSchemaOrTheWholeUpgrade) {
  AddHistory();
  const std::string before = ReadFile(path_);
  StoreContents expected;
  {
    ASSERT_OK_AND_ASSIGN(expected, SqliteStore::ReadContents(path_));
    ASSERT_THAT(expected.history, SizeIs(991 + old_.contents.history.size()));
  }
  // A write beyond this size of a file kills. The log's index has 32 KiB and takes no part; the log
  // has 4 KiB pages.
  constexpr rlim_t kIndexBytes = 32 * 1024;
  int kills_before = 0;  // the upgrade was committed
  int kills_after = 0;
  for (rlim_t size = kIndexBytes;; size += 4096) {
    testing::WriteFile(path_, before);
    const int status = RunInChild([this, size] {
      const rlimit no_core{0, 0};
      const rlimit limit{size, size};
      if (setrlimit(RLIMIT_CORE, &no_core) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
      _exit(Open().ok() ? 0 : 1);
    });
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ;
    ASSERT_TRUE(killed || status == 0) << status << " at " << size;
    const std::string version = Tool(path_).Query("PRAGMA user_version");
    EXPECT_THAT(SqliteStore::ReadContents(path_), IsOkAndHolds(expected)) << size;
    EXPECT_THAT(MustOpen()->Export(), IsOkAndHolds(expected)) << size;
    if (!killed) {
      EXPECT_EQ(version, "4");
      break;
    }
    (version == old_.schema ? kills_before : kills_after)++;
  }
  EXPECT_GE(kills_before, 10);
  EXPECT_GE(kills_after, 1);
}

TEST_P(SqliteStoreRewrittenFileTest, AFullDiskRefusesTheUpgradeAndChangesNothing) {
  AddHistory();
  const std::string before = ReadFile(path_);
  absl::Status status;
  {
    FullDisk full(60'000);
    status = Open().status();
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable,
                               AllOf(HasSubstr(path_), HasSubstr("try again"),
                                     HasSubstr("could not be brought from schema version " +
                                               old_.schema + " to 4 and is as it was"))));
  EXPECT_EQ(ReadFile(path_), before);
  EXPECT_EQ(Tool(path_).Query("PRAGMA user_version"), old_.schema);
  EXPECT_EQ(MustOpen()->Export()->history.size(), 991 + old_.contents.history.size());
}

TEST_P(SqliteStoreOldFileTest, AFileThatMayNotBeWrittenIsRefusedAsItIs) {
  const auto before = Files();
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);  // modes do not hold for root
  }
  const absl::Status status = Open().status();
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_THAT(status, StatusIs(StatusCode::kPermissionDenied, HasSubstr("let the router's user")));
  EXPECT_TRUE(Files() == before);
}

// The place of a new table is taken, which shows when much of the upgrade is made already.
TEST_F(SqliteStoreUpgradeTest, AnUpgradeThatCannotBeMadeIsDataLossAndChangesNothing) {
  MakeSchema1();
  Tool(path_).Run("CREATE TABLE topology (x)");
  ExpectOpenRefused(StatusCode::kDataLoss, "is as it was");
  EXPECT_EQ(Tool(path_).Query("SELECT count(*) FROM migration_change WHERE to_ppm = 250000"), "1");
  EXPECT_EQ(Tool(path_).Query("SELECT name FROM sqlite_schema WHERE name LIKE 'old%'"), "(no row)");
}

TEST_F(SqliteStoreUpgradeTest, AnUpgradeOfSchema3ThatCannotBeMadeChangesNothing) {
  Tool(path_).Run(kSchema3);
  Tool(path_).Run("CREATE TABLE rollout_term (x)");
  ExpectOpenRefused(StatusCode::kDataLoss, "is as it was");
  EXPECT_EQ(Tool(path_).Query("PRAGMA user_version"), "3");
  EXPECT_EQ(Tool(path_).Query("SELECT name FROM sqlite_schema WHERE name = 'rollout'"), "(no row)");
}

TEST_P(SqliteStoreOldFileTest, ADamagedFileIsNotUpgraded) {
  Tool(path_).Run("PRAGMA ignore_check_constraints = 1; UPDATE migration SET v2_ppm = -1");
  ExpectOpenRefused(StatusCode::kDataLoss, "CHECK constraint failed");
  EXPECT_EQ(Tool(path_).Query("PRAGMA user_version"), old_.schema);
}

TEST_F(SqliteStoreUpgradeTest, AStoreOfSchema1WithChangesInItsLogIsUpgraded) {
  MakeSchema1();
  {
    Tool tool(path_);
    tool.KeepLog();
    tool.Run("UPDATE migration SET v2_ppm = 70000");
  }
  ASSERT_NE(ReadFile(path_ + "-wal"), "");
  EXPECT_EQ(MustOpen()->Load()->at(0).share, Percent("7"));
}

}  // namespace
}  // namespace ringshift
