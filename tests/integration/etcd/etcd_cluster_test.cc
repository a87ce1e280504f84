// Three members, of which any may be lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "migration/etcd/etcd_store.h"
#include "tests/integration/etcd/store_on_etcd.h"

namespace ringshift::testing {
namespace {

class EtcdClusterTest : public StoreOnEtcd {
 protected:
  EtcdClusterTest() : StoreOnEtcd({.members = 3}) {}
};

TEST_F(EtcdClusterTest, AnyMemberMayBeKilledWithoutALostChange) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  int made = 0;
  int refused = 0;
  for (int member = 0; member < 3; ++member) {
    etcd_.Kill(member);
    for (int i = 0; i < 10; ++i) {
      EtcdStore& store = i % 2 == 0 ? *a : *b;
      ++made;
      ASSERT_TRUE(Eventually([&] {
        const absl::Status set = Set(store, "ams", absl::StrCat(made));
        EXPECT_TRUE(set.ok() || absl::IsUnavailable(set)) << set;
        if (!set.ok()) ++refused;
        return set.ok();
      }));
      EtcdStore& other = i % 2 == 0 ? *b : *a;
      ASSERT_TRUE(Eventually([&] { return ShareOf(other, "ams") == Percent(absl::StrCat(made)); }));
    }
    etcd_.Start(member);
    etcd_.WaitUntilReady();
  }
  std::printf("%d changes made, %d refused while members were killed\n", made, refused);
  ASSERT_TRUE(Eventually([&] { return a->Export().value() == b->Export().value(); }));
  // One that was refused may have been made all the same, for nobody can know.
  const std::int64_t changes = a->Export().value().last_revision - 1;
  EXPECT_GE(changes, made);
  EXPECT_LE(changes, made + refused);
  EXPECT_EQ(a->statistics().revision_regressions + b->statistics().revision_regressions, 0);
}

TEST_F(EtcdClusterTest, WithoutAMajorityNothingIsChangedAndEverythingIsRead) {
  const auto store = MustOpen("a");
  ASSERT_THAT(Make(*store, "ams"), IsOk());
  etcd_.Kill(0);
  etcd_.Kill(1);
  ASSERT_TRUE(Eventually([&] { return absl::IsUnavailable(Set(*store, "ams", "50")); }));
  ASSERT_TRUE(Eventually([&] { return store->Stale().has_value(); }));
  EXPECT_EQ(ShareOf(*store, "ams"), Share::None());
  etcd_.Start(0);
  ASSERT_TRUE(Eventually([&] { return !store->Stale().has_value(); }));
  EXPECT_THAT(Set(*store, "ams", "50"), IsOk());
}

TEST_F(EtcdClusterTest, AllMembersMayBeLostAndComeBack) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  ASSERT_THAT(Set(*a, "ams", "12.5"), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*b, "ams") == Percent("12.5"); }));
  for (int i = 0; i < 3; ++i) etcd_.Kill(i);
  ASSERT_TRUE(Eventually([&] { return a->Stale() && b->Stale(); }));
  EXPECT_EQ(ShareOf(*b, "ams"), Percent("12.5"));
  for (int i = 0; i < 3; ++i) etcd_.Start(i);
  ASSERT_TRUE(Eventually([&] { return !a->Stale() && !b->Stale(); }));
  ASSERT_THAT(Set(*b, "ams", "50"), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*a, "ams") == Percent("50"); }));
}

// One member after another stops for a moment, while two routers write all the time.
TEST_F(EtcdClusterTest, MembersThatComeAndGoUnderLoadLoseNothing) {
  EtcdStore::Options options = OptionsOf("a");
  options.etcd.call_timeout = std::chrono::milliseconds(1'000);
  const auto a = MustOpen(options);
  options.cache_path = etcd_.dir().File("b.db");
  const auto b = MustOpen(options);
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  std::atomic<bool> ends = false;
  std::atomic<int> made = 0;
  std::atomic<int> unknown = 0;
  const auto write = [&](EtcdStore& store) {
    while (!ends) {
      const absl::Status set = Set(store, "ams", "5");
      ++(set.ok() ? made : unknown);
      EXPECT_TRUE(set.ok() || absl::IsUnavailable(set)) << set;
    }
  };
  std::thread first([&] { write(*a); });
  std::thread second([&] { write(*b); });
  for (int round = 0; round < 6; ++round) {
    etcd_.Signal(round % 3, SIGSTOP);
    const int before = made;
    EXPECT_TRUE(Eventually([&] { return made > before + 5; }));
    etcd_.Signal(round % 3, SIGCONT);
  }
  ends = true;
  first.join();
  second.join();
  ASSERT_TRUE(Eventually([&] { return a->Export().value() == b->Export().value(); }));
  // Every change that was said to be made is there, and at most those that nobody knows of beside.
  const std::int64_t changes = a->Export().value().last_revision - 1;
  EXPECT_GE(changes, made);
  EXPECT_LE(changes, made + unknown);
  std::printf("%d changes made, %d unknown, %d found\n", made.load(), unknown.load(),
              static_cast<int>(changes));
}

}  // namespace
}  // namespace ringshift::testing
