// etcd is lost, cut off, restarted, emptied, or out of space.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/etcd/etcd_store.h"
#include "tests/integration/etcd/store_on_etcd.h"

namespace ringshift::testing {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

class EtcdLossTest : public StoreOnEtcd {
 protected:
  static bool IsStale(EtcdStore& store) { return store.Stale().has_value(); }
};

TEST_F(EtcdLossTest, WithoutEtcdReadsGoOnStaleAndWritesSayWhatToDo) {
  const auto store = MustOpen("a");
  ASSERT_THAT(Make(*store, "ams"), IsOk());
  ASSERT_THAT(Set(*store, "ams", "12.5"), IsOk());
  const StoreContents before = store->Export().value();
  etcd_.Kill(0);
  ASSERT_TRUE(Eventually([&] { return IsStale(*store); }));
  EXPECT_EQ(store->Export().value(), before);
  EXPECT_THAT(store->Stale(), Optional(HasSubstr(etcd_.Endpoint(0))));
  EXPECT_THAT(store->Check(), StatusIs(StatusCode::kUnavailable, HasSubstr(etcd_.Endpoint(0))));
  EXPECT_THAT(Set(*store, "ams", "50"),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("cannot be changed now"), HasSubstr(etcd_.Endpoint(0)),
                             HasSubstr("routing goes on; see to etcd and try again"))));
  EXPECT_THAT(Make(*store, "fra"), StatusIs(StatusCode::kUnavailable, HasSubstr("see to etcd")));
  EXPECT_THAT(Make(*store, "ams"), IsOk());  // it is there
  EXPECT_EQ(store->Export().value(), before);

  etcd_.Start(0);
  ASSERT_TRUE(Eventually([&] { return !IsStale(*store); }));
  EXPECT_EQ(store->Export().value(), before);
  EXPECT_THAT(Set(*store, "ams", "50"), IsOk());
  EXPECT_EQ(store->statistics().revision_regressions, 0);
}

TEST_F(EtcdLossTest, AlsoARestartedRouterGoesOnWithWhatItKnew) {
  StoreContents before;
  {
    const auto store = MustOpen("a");
    ASSERT_THAT(Make(*store, "ams"), IsOk());
    ASSERT_THAT(Set(*store, "ams", "12.5"), IsOk());
    before = store->Export().value();
  }
  etcd_.Kill(0);
  const auto store = MustOpen("a");
  EXPECT_FALSE(store->created());
  EXPECT_EQ(store->Export().value(), before);
  EXPECT_TRUE(IsStale(*store));
  EXPECT_THAT(Set(*store, "ams", "50"), StatusIs(StatusCode::kUnavailable, HasSubstr("see to")));
  EXPECT_THAT(EtcdStore::Open(OptionsOf("new")),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("new.db"), HasSubstr("is empty, so nothing is known"))));

  std::atomic<int> heard = 0;
  store->SetListener([&heard] { ++heard; });
  etcd_.Start(0);
  etcd_.WaitUntilReady();
  const auto other = MustOpen("b");
  ASSERT_THAT(Set(*other, "ams", "75"), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*store, "ams") == Percent("75"); }));
  EXPECT_FALSE(IsStale(*store));
  EXPECT_GE(heard, 1);
  store->SetListener(nullptr);
}

TEST_F(EtcdLossTest, WhatOthersChangedMeanwhileIsCaughtUpWith) {
  const auto a = MustOpen("a");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  {
    const auto b = MustOpen("b");
    ASSERT_EQ(ShareOf(*b, "ams"), Share::None());
  }
  for (int i = 1; i <= 20; ++i) ASSERT_THAT(Set(*a, "ams", absl::StrCat(i)), IsOk());
  const auto b = MustOpen("b");
  EXPECT_EQ(b->Export().value(), a->Export().value());
  EXPECT_EQ(b->statistics().full_reads, 0);  // it took the changes alone
}

// A network that loses everything, without a word.
TEST_F(EtcdLossTest, AnEtcdThatIsSilentIsLostWithinTheDeadlines) {
  EtcdStore::Options options = OptionsOf("a");
  options.etcd.call_timeout = std::chrono::milliseconds(300);
  options.check_period = std::chrono::milliseconds(100);
  const auto store = MustOpen(options);
  ASSERT_THAT(Make(*store, "ams"), IsOk());
  etcd_.Signal(0, SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return IsStale(*store); }));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(
      Set(*store, "ams", "50"),
      StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("Deadline"), HasSubstr("see to etcd"))));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(ShareOf(*store, "ams"), Share::None());
  etcd_.Signal(0, SIGCONT);
  ASSERT_TRUE(Eventually([&] { return !IsStale(*store); }));
  EXPECT_THAT(Set(*store, "ams", "50"), IsOk());
}

// What was sent when etcd stopped is there or not; never twice, and never half.
TEST_F(EtcdLossTest, AChangeThatWasUnderWayIsMadeOnceOrNot) {
  EtcdStore::Options options = OptionsOf("a");
  options.etcd.call_timeout = std::chrono::milliseconds(300);
  const auto store = MustOpen(options);
  ASSERT_THAT(Make(*store, "ams"), IsOk());
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = store->Export().value().last_revision;
    etcd_.Signal(0, SIGSTOP);
    const absl::Status set = Set(*store, "ams", "50");
    etcd_.Signal(0, SIGCONT);
    EXPECT_TRUE(set.ok() || absl::IsUnavailable(set)) << set;
    ASSERT_TRUE(
        Eventually([&] { return Set(*store, "fra", "1").code() == StatusCode::kNotFound; }));
    const StoreContents whole = store->Export().value();
    const std::int64_t after = whole.last_revision;
    EXPECT_GE(after, before + (set.ok() ? 1 : 0));
    EXPECT_EQ(whole.migrations[0].revision, after);
    EXPECT_EQ(whole.history.size(), static_cast<std::size_t>(after));
  }
}

TEST_F(EtcdLossTest, AnEtcdThatWasEmptiedIsAnErrorAndNotAShareOfZero) {
  {
    const auto store = MustOpen("a");
    ASSERT_THAT(Make(*store, "ams"), IsOk());
    ASSERT_THAT(Set(*store, "ams", "12.5"), IsOk());
    etcd_.Ctl({"del", "--prefix", "/ringshift/"});
    ASSERT_TRUE(Eventually([&] { return IsStale(*store); }));
    EXPECT_THAT(store->Stale(), Optional(HasSubstr("has no store under /ringshift/")));
    EXPECT_EQ(ShareOf(*store, "ams"), Percent("12.5"));
    EXPECT_THAT(Set(*store, "ams", "50"),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has no store under")));
  }
  EXPECT_THAT(EtcdStore::Open(OptionsOf("a")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("has no store under /ringshift/"), HasSubstr("a.db"),
                             HasSubstr("knows up to revision 2"),
                             HasSubstr("if etcd is right, remove the cache"))));
}

TEST_F(EtcdLossTest, AnotherClusterIsAnErrorAndNotAShareOfZero) {
  EtcdStore::Options options = OptionsOf("a");
  options.check_period = std::chrono::milliseconds(50);
  const auto store = MustOpen(options);
  ASSERT_THAT(Make(*store, "ams"), IsOk());
  etcd_.Wipe();
  ASSERT_TRUE(Eventually([&] {
    return IsStale(*store) && store->Stale()->find("is another cluster") != std::string::npos;
  }));
  EXPECT_EQ(ShareOf(*store, "ams"), Share::None());
  EXPECT_THAT(MustOpen("b")->created(), true);
  EXPECT_THAT(Set(*store, "ams", "50"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is another cluster")));
}

TEST_F(EtcdLossTest, AnotherStoreUnderThePrefixIsAnError) {
  ASSERT_THAT(Make(*MustOpen("a"), "ams"), IsOk());
  etcd_.Ctl({"del", "--prefix", "/ringshift/"});
  MustOpen("b");
  EXPECT_THAT(
      EtcdStore::Open(OptionsOf("a")),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has another store under /ringshift/")));
}

class EtcdFullTest : public StoreOnEtcd {
 protected:
  EtcdFullTest() : StoreOnEtcd({.flags = {"--quota-backend-bytes=4000000"}}) {}
};

TEST_F(EtcdFullTest, AnEtcdWithoutSpaceSaysSoAndWhatToDo) {
  const auto store = MustOpen("a");
  ASSERT_THAT(Make(*store, "ams"), IsOk());
  // Somebody else fills it.
  const std::string value(1'000'000, 'x');
  const auto client = EtcdClient::Create(etcd_.ClientOptions()).value();
  absl::Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) {
    etcdserverpb::PutRequest request;
    request.set_key(absl::StrCat("/other/", i));
    request.set_value(value);
    status = client->Put(request);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, HasSubstr("space exceeded")));
  EXPECT_THAT(Set(*store, "ams", "50"),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("out of space"), HasSubstr("etcdctl alarm disarm"))));
  EXPECT_EQ(ShareOf(*store, "ams"), Share::None());
}

}  // namespace
}  // namespace ringshift::testing
