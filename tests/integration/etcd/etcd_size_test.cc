// Much state, and many changes: how long a start takes, and what etcd keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/etcd/etcd_store.h"
#include "tests/integration/etcd/store_on_etcd.h"

namespace ringshift::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::SizeIs;

double SecondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

class EtcdSizeTest : public StoreOnEtcd {
 protected:
  EtcdSizeTest() : StoreOnEtcd({.flags = {"--quota-backend-bytes=600000000"}}) {}
};

// As routing/topology_writer.h writes one, about.
std::string TopologyText(int data_center, int nodes) {
  std::string text = "nodes:\n";
  for (int i = 0; i < nodes; ++i) {
    absl::StrAppend(&text, "  - {name: dc", data_center, "-cache-", i, ", address: \"10.",
                    data_center % 250, ".", i / 250, ".", i % 250,
                    ":443\", weight: 100, features: [fedramp], zone: rack-", i / 40, "}\n");
  }
  return text;
}

TEST_F(EtcdSizeTest, ThreeHundredDataCentersOfTwoThousandNodesStartWithinTwoSeconds) {
  StoreContents contents;
  for (int i = 0; i < 300; ++i) {
    Migration migration;
    migration.data_center = absl::StrCat("dc-", 100 + i);
    migration.decision_algorithm = "rule";
    migration.revision = i + 1;
    StoredTopology topology;
    topology.data_center = migration.data_center;
    topology.text = TopologyText(i, 2'048);
    topology.revision = i + 1;
    contents.migrations.push_back(std::move(migration));
    contents.topologies.push_back(std::move(topology));
  }
  contents.last_revision = 300;
  steady_clock::time_point start = steady_clock::now();
  ASSERT_THAT(MustOpen("a")->Import(contents), IsOk());
  std::printf("imported in %.2f s\n", SecondsSince(start));

  start = steady_clock::now();
  const auto empty_cache = MustOpen("b");
  const double from_etcd = SecondsSince(start);
  EXPECT_EQ(empty_cache->Export().value(), contents);
  start = steady_clock::now();
  const auto full_cache = MustOpen("a");
  const double from_cache = SecondsSince(start);
  EXPECT_EQ(full_cache->Export().value(), contents);
  std::printf("opened in %.2f s with an empty cache, %.2f s with a full one\n", from_etcd,
              from_cache);
  EXPECT_LT(from_etcd, RINGSHIFT_SLOW ? 60 : 2);
  EXPECT_LT(from_cache, RINGSHIFT_SLOW ? 60 : 2);
}

TEST_F(EtcdSizeTest, AHistoryOfManyChangesIsReadInPages) {
  constexpr int kDataCenters = 100;
  constexpr int kRevisions = 900;
  StoreContents contents;
  for (int i = 0; i < kDataCenters; ++i) {
    Migration migration;
    migration.data_center = absl::StrCat("dc-", 100 + i);
    migration.decision_algorithm = "rule";
    migration.revision = kRevisions;
    contents.migrations.push_back(std::move(migration));
  }
  for (std::int64_t revision = 1; revision <= kRevisions; ++revision) {
    for (const Migration& migration : contents.migrations) {
      contents.history.push_back({revision, WallTime(), migration.data_center, ChangeKind::kShare,
                                  "eva", "a step of many", Share::None(), Percent("5"), ""});
    }
  }
  contents.last_revision = kRevisions;
  ASSERT_THAT(MustOpen("a")->Import(contents), IsOk());
  const auto store = MustOpen("b");
  std::vector<MigrationChange> whole;
  HistoryQuery query{"", std::nullopt, 1'000};
  double slowest = 0;
  for (;;) {
    const steady_clock::time_point start = steady_clock::now();
    const std::vector<MigrationChange> page = store->History(query).value();
    slowest = std::max(slowest, SecondsSince(start));
    if (page.empty()) break;
    whole.insert(whole.end(), page.begin(), page.end());
    query.before = HistoryPlace{page.back().revision, page.back().data_center};
  }
  EXPECT_THAT(whole, SizeIs(kDataCenters * kRevisions));
  EXPECT_EQ(whole.front().revision, kRevisions);
  EXPECT_EQ(whole.back().revision, 1);
  std::printf("slowest page of 1,000: %.1f ms\n", 1e3 * slowest);
}

TEST_F(EtcdSizeTest, CheckpointsBoundTheLogAndTheHistory) {
  EtcdStore::Options options = OptionsOf("a");
  options.max_log_records = 20;
  options.max_history_rows = 50;
  const auto a = MustOpen(options);
  options.cache_path = etcd_.dir().File("b.db");
  const auto b = MustOpen(options);
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(Set(i % 2 == 0 ? *a : *b, "ams", absl::StrCat(i % 100)), IsOk());
  }
  ASSERT_TRUE(
      Eventually([&] { return a->statistics().checkpoints + b->statistics().checkpoints >= 3; }));
  ASSERT_TRUE(Eventually([&] {
    return a->Export().value().last_revision == 201 && b->Export().value().last_revision == 201;
  }));
  // Those that are kept for who is a little behind, and what came since.
  ASSERT_TRUE(Eventually([&] {
    const std::string keys = etcd_.Ctl({"get", "--prefix", "--keys-only", "/ringshift/"});
    return std::count(keys.begin(), keys.end(), '\n') / 2 < 80;  // a blank line after each
  }));
  EXPECT_EQ(a->statistics().revision_regressions + b->statistics().revision_regressions, 0);
  EXPECT_EQ(a->statistics().full_reads + b->statistics().full_reads, 2);  // at their starts
  const StoreContents contents = a->Export().value();
  EXPECT_LE(contents.history.size(), 100u);
  EXPECT_EQ(contents.history.back().revision, 201);

  options.cache_path = etcd_.dir().File("c.db");
  const auto c = MustOpen(options);
  EXPECT_EQ(c->Load().value(), contents.migrations);
  EXPECT_LE(c->History({"", std::nullopt, 1'000}).value().size(), 100u);
}

// A router that was down while the log was cut off reads the checkpoint.
TEST_F(EtcdSizeTest, ARouterThatIsFarBehindReadsTheCheckpoint) {
  EtcdStore::Options options = OptionsOf("a");
  options.max_log_records = 10;
  const auto a = MustOpen(options);
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  { ASSERT_EQ(ShareOf(*MustOpen("b"), "ams"), Share::None()); }
  for (int round = 1; round <= 3; ++round) {
    for (int i = 1; i <= 15; ++i) ASSERT_THAT(Set(*a, "ams", absl::StrCat(i)), IsOk());
    ASSERT_TRUE(Eventually([&] { return a->statistics().checkpoints >= round; }));
  }
  ASSERT_TRUE(Eventually([&] {
    return etcd_.Ctl({"get", "--prefix", "--keys-only", "/ringshift/log/0000000000000002"}).empty();
  }));
  const auto b = MustOpen("b");
  EXPECT_EQ(b->Export().value(), a->Export().value());
  EXPECT_EQ(b->statistics().full_reads, 1);
  EXPECT_EQ(b->statistics().revision_regressions, 0);
}

class EtcdQuotaTest : public StoreOnEtcd {
 protected:
  EtcdQuotaTest() : StoreOnEtcd({.flags = {"--quota-backend-bytes=16000000"}}) {}
};

// Ten times the quota is written in all: without compaction the alarm stops every change.
TEST_F(EtcdQuotaTest, TheQuotaIsNeverReached) {
  EtcdStore::Options options = OptionsOf("a");
  options.max_log_bytes = 1'000'000;
  options.max_history_rows = 100;
  const auto store = MustOpen(options);
  for (int i = 0; i < 400; ++i) {
    ASSERT_THAT(
        store->SaveTopology({"ams", absl::StrCat(i) + std::string(400'000, 'n'), {}, "r", "", ""}),
        IsOk())
        << i;
    // Whoever writes faster than checkpoints are written needs a larger quota.
    ASSERT_TRUE(Eventually([&] { return store->statistics().checkpoints >= i / 10; }));
  }
  EXPECT_GE(store->statistics().checkpoints, 39);
  const auto client = EtcdClient::Create(etcd_.ClientOptions()).value();
  const std::int64_t size = client->Status()->dbsize();
  std::printf("160 MB written, etcd has %.1f MB\n", static_cast<double>(size) / 1e6);
  EXPECT_LT(size, 16'000'000);
}

}  // namespace
}  // namespace ringshift::testing
