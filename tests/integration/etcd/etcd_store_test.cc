// One etcd that is well, and several routers on it.
#include "migration/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/sqlite_store.h"
#include "tests/integration/etcd/store_on_etcd.h"

namespace ringshift::testing {
namespace {

using absl::StatusCode;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class EtcdStoreTest : public StoreOnEtcd {};

TEST_F(EtcdStoreTest, OnlyTheFirstOfSeveralRoutersMakesTheStore) {
  EXPECT_TRUE(MustOpen("a")->created());
  EXPECT_FALSE(MustOpen("b")->created());
  EXPECT_FALSE(MustOpen("a")->created());
}

TEST_F(EtcdStoreTest, AStoreThatMustExistIsNotMade) {
  EtcdStore::Options options = OptionsOf("a");
  options.if_missing = EtcdStore::IfMissing::kFail;
  EXPECT_THAT(EtcdStore::Open(options),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr(etcd_.Endpoint(0)), HasSubstr("?prefix=/ringshift/"),
                             HasSubstr("start once without --store-must-exist"))));
  MustOpen("b");
  EXPECT_THAT(EtcdStore::Open(options), IsOk());
}

TEST_F(EtcdStoreTest, PrefixesAreStoresOfTheirOwn) {
  EtcdStore::Options other = OptionsOf("b");
  other.prefix = "/ringshift/2/";
  const auto a = MustOpen("a");
  const auto b = MustOpen(other);
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  EXPECT_THAT(b->Load(), IsOkAndHolds(::testing::IsEmpty()));
  EXPECT_THAT(Make(*b, "ams"), IsOk());
}

TEST_F(EtcdStoreTest, ACacheIsHeldByOneRouter) {
  const auto store = MustOpen("a");
  EXPECT_THAT(EtcdStore::Open(OptionsOf("a")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("held by another router")));
}

TEST_F(EtcdStoreTest, WhatOneRouterChangesTheOthersHaveAndHear) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  std::atomic<int> heard = 0;
  b->SetListener([&heard] { ++heard; });
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  ASSERT_THAT(Set(*a, "ams", "12.5"), IsOk());
  ASSERT_THAT(a->SaveTopology({"ams", "nodes: []", {}, "router", "why", "what"}), IsOk());
  ASSERT_THAT(a->SetDefaultShare({Percent("3"), std::nullopt, "eva", ""}), IsOk());
  ASSERT_TRUE(Eventually([&] { return b->Export().value() == a->Export().value(); }));
  EXPECT_GE(heard, 1);
  EXPECT_EQ(b->statistics().full_reads, 1);  // of an empty checkpoint, at its start

  // Once SetListener returns, nobody is being told.
  b->SetListener(nullptr);
  const int before = heard;
  ASSERT_THAT(Set(*a, "ams", "20"), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*b, "ams") == Percent("20"); }));
  EXPECT_EQ(heard, before);
}

// From the beginning of a change on one router until another one has it, told by its listener.
TEST_F(EtcdStoreTest, AnotherRouterHasAChangeWithinMilliseconds) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  std::mutex mutex;
  std::condition_variable changed;
  b->SetListener([&] {
    const std::lock_guard lock(mutex);
    changed.notify_all();
  });
  std::vector<double> milliseconds;
  for (int i = 1; i <= 51; ++i) {
    const Share share = Percent(std::to_string(i));
    const auto start = steady_clock::now();
    ASSERT_THAT(Set(*a, "ams", std::to_string(i)), IsOk());
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kPatience, [&] { return ShareOf(*b, "ams") == share; }));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(steady_clock::now() - start).count());
  }
  b->SetListener(nullptr);
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("set on one, known to another: median %.1f ms, worst %.1f ms\n", milliseconds[25],
              milliseconds.back());
  EXPECT_LT(milliseconds[25], 1'000);
}

TEST_F(EtcdStoreTest, RoutersThatRaceNeverLoseAChange) {
  constexpr int kRouters = 4;
  constexpr int kChanges = 25;
  std::vector<std::unique_ptr<EtcdStore>> stores;
  for (int i = 0; i < kRouters; ++i) stores.push_back(MustOpen(absl::StrCat("r", i)));
  ASSERT_THAT(Make(*stores[0], "ams"), IsOk());
  std::vector<std::vector<std::int64_t>> revisions(kRouters);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int r = 0; r < kRouters; ++r) {
    threads.emplace_back([&, r] {
      for (int i = 0; i < kChanges; ++i) {
        const auto set =
            SetShare(*stores[r], {"ams", Percent("5"), std::nullopt, absl::StrCat(r), "go"});
        failures += !set.ok();
        if (set.ok()) revisions[r].push_back(set->revision);
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
  EXPECT_THAT(all, SizeIs(kRouters * kChanges));
  for (const auto& store : stores) {
    ASSERT_TRUE(Eventually(
        [&] { return store->Export().value().last_revision == 1 + kRouters * kChanges; }));
    EXPECT_EQ(store->Export().value(), stores[0]->Export().value());
  }
  // Each change is in the history, by who made it.
  std::vector<int> made(kRouters);
  const std::vector<MigrationChange> history =
      stores[0]->History({"ams", std::nullopt, 1'000}).value();
  for (const MigrationChange& change : history) {
    if (change.kind == ChangeKind::kShare) ++made[std::stoul(change.actor)];
  }
  EXPECT_THAT(made, ::testing::Each(kChanges));
}

TEST_F(EtcdStoreTest, OfChangesBasedOnOneRevisionExactlyOneWins) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  const std::int64_t base = a->Load()->front().revision;
  std::atomic<int> won = 0;
  std::atomic<int> aborted = 0;
  std::vector<std::thread> threads;
  for (EtcdStore* const store : {a.get(), b.get(), a.get(), b.get()}) {
    threads.emplace_back([&, store] {
      Migration wanted = a->Load()->front();
      wanted.revision = base;
      wanted.share = Percent("5");
      const auto set = store->Update({ChangeKind::kShare, {wanted}, "eva", "", ""});
      won += set.ok();
      aborted += absl::IsAborted(set.status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(aborted, 3);
}

// A router judges by what etcd has, not by what has come to it so far.
TEST_F(EtcdStoreTest, AChangeBasedOnWhatAnotherRouterJustSaidIsNotRefused) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  for (int i = 0; i < 20; ++i) {
    for (EtcdStore* const store : {a.get(), b.get()}) {
      EtcdStore& other = store == a.get() ? *b : *a;
      Migration migration =
          SetShare(*store, {"ams", Percent("5"), std::nullopt, "eva", ""}).value();
      migration.share = Percent("6");
      ASSERT_THAT(other.Update({ChangeKind::kShare, {migration}, "bob", "", ""}), IsOk());
    }
  }
}

TEST_F(EtcdStoreTest, AChangeOfThreeHundredDataCentersIsOneWrite) {
  const auto a = MustOpen("a");
  StoreContents contents;
  for (int i = 0; i < 300; ++i) {
    Migration migration;
    migration.data_center = absl::StrCat("dc-", 100 + i);
    migration.decision_algorithm = "rule";
    migration.revision = 1;
    contents.migrations.push_back(std::move(migration));
  }
  contents.last_revision = 1;
  ASSERT_THAT(a->Import(contents), IsOk());
  const auto b = MustOpen("b");
  const auto client = EtcdClient::Create(etcd_.ClientOptions()).value();
  const auto etcd_revision = [&] {
    etcdserverpb::RangeRequest request;
    request.set_key("x");
    return client->Range(request).value().header().revision();
  };
  const std::int64_t before = etcd_revision();
  std::vector<Migration> wanted = a->Load().value();
  for (Migration& migration : wanted) migration.share = Percent("12.5");
  ASSERT_THAT(a->Update({ChangeKind::kShare, wanted, "eva", "everywhere", ""}), IsOk());
  EXPECT_EQ(etcd_revision(), before + 1);
  ASSERT_TRUE(Eventually([&] { return ShareOf(*b, "dc-399") == Percent("12.5"); }));
  EXPECT_EQ(b->Export().value(), a->Export().value());
}

// etcd takes no request above 1.5 MiB.
TEST_F(EtcdStoreTest, AChangeOfManyMebibytesIsStillOneChange) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  const std::string text(5'000'000, 'n');
  ASSERT_THAT(a->SaveTopology({"ams", text, {}, "router", "", ""}), IsOk());
  ASSERT_TRUE(Eventually([&] { return b->Export().value().last_revision == 1; }));
  EXPECT_EQ(b->LoadTopologies()->front().text, text);
  EXPECT_EQ(MustOpen("c")->Export().value(), a->Export().value());
}

TEST_F(EtcdStoreTest, ARecordThatIsDamagedIsDataLossAndTheCacheGoesOn) {
  const auto a = MustOpen("a");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  const auto b = MustOpen("b");
  const std::string key = etcd_.Ctl({"get", "--prefix", "--keys-only", "/ringshift/log/"});
  etcd_.Ctl({"put", key.substr(0, key.find('\n')), "garbage"});
  EXPECT_THAT(
      EtcdStore::Open(OptionsOf("c")),
      StatusIs(StatusCode::kDataLoss, HasSubstr("the record of revision 1 is missing or damaged")));
  EXPECT_EQ(ShareOf(*b, "ams"), Share::None());
  EXPECT_THAT(Set(*b, "ams", "5"), IsOk());
}

TEST_F(EtcdStoreTest, AStoreOfANewerFormatIsRefused) {
  etcd_.Ctl({"put", "/ringshift/head", "\x08\x02"});
  EXPECT_THAT(EtcdStore::Open(OptionsOf("a")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("run the newer program")));
}

TEST_F(EtcdStoreTest, ACacheThatIsAStoreOfItsOwnIsRefused) {
  {
    const auto sqlite =
        SqliteStore::Open(etcd_.dir().File("a.db"), SqliteStore::IfMissing::kCreate);
  }
  EXPECT_THAT(EtcdStore::Open(OptionsOf("a")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("a.db"), HasSubstr("is a store of its own"))));
  ASSERT_THAT(Make(*MustOpen("b"), "ams"), IsOk());
  {
    // As a rescue, when etcd will not come back, it can be one.
    const auto sqlite =
        SqliteStore::Open(etcd_.dir().File("b.db"), SqliteStore::IfMissing::kFail).value();
    ASSERT_THAT(Set(*sqlite, "ams", "5"), IsOk());
  }
  EXPECT_THAT(EtcdStore::Open(OptionsOf("b")),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("was changed as a store of its own; give the path")));
}

}  // namespace
}  // namespace ringshift::testing
