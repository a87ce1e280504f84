// etcd goes back to a backup: its revision falls, and those who watch hear nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/etcd/etcd_store.h"
#include "tests/integration/etcd/store_on_etcd.h"

namespace ringshift::testing {
namespace {

using ::testing::SizeIs;

class EtcdRestoreTest : public StoreOnEtcd {};

TEST_F(EtcdRestoreTest, ARestoredBackupIsTakenAndCounted) {
  const auto a = MustOpen("a");
  const auto b = MustOpen("b");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  ASSERT_THAT(Set(*a, "ams", "10"), IsOk());
  const std::string backup = etcd_.Backup("backup");
  ASSERT_THAT(Set(*a, "ams", "90"), IsOk());
  ASSERT_THAT(Make(*a, "fra"), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*b, "fra").has_value(); }));
  std::atomic<int> heard = 0;
  b->SetListener([&heard] { ++heard; });
  etcd_.Kill(0);
  etcd_.Restore(backup);
  for (EtcdStore* const store : {a.get(), b.get()}) {
    ASSERT_TRUE(Eventually([&] { return ShareOf(*store, "ams") == Percent("10"); }));
    EXPECT_EQ(ShareOf(*store, "fra"), std::nullopt);
    EXPECT_EQ(store->statistics().revision_regressions, 1);
  }
  EXPECT_GE(heard, 1);
  b->SetListener(nullptr);

  // The watch goes on from there, too.
  ASSERT_THAT(Set(*a, "ams", "20"), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*b, "ams") == Percent("20"); }));
  EXPECT_EQ(a->Export().value(), b->Export().value());
  EXPECT_EQ(b->statistics().revision_regressions, 1);
}

TEST_F(EtcdRestoreTest, ARouterThatWasDownMeanwhileNoticesToo) {
  std::string backup;
  {
    const auto a = MustOpen("a");
    ASSERT_THAT(Make(*a, "ams"), IsOk());
    backup = etcd_.Backup("backup");
    ASSERT_THAT(Set(*a, "ams", "90"), IsOk());
  }
  etcd_.Kill(0);
  etcd_.Restore(backup);
  const auto a = MustOpen("a");
  EXPECT_EQ(ShareOf(*a, "ams"), Share::None());
  EXPECT_EQ(a->statistics().revision_regressions, 1);
}

// Revisions alone would not show it: the others have come to the same ones again, and beyond.
TEST_F(EtcdRestoreTest, AnotherHistoryOfTheSameLengthIsNotTakenForOnesOwn) {
  std::string backup;
  {
    const auto a = MustOpen("a");
    ASSERT_THAT(Make(*a, "ams"), IsOk());
    backup = etcd_.Backup("backup");
    ASSERT_THAT(Set(*a, "ams", "90"), IsOk());
  }
  etcd_.Kill(0);
  etcd_.Restore(backup);
  const auto b = MustOpen("b");
  ASSERT_THAT(Set(*b, "ams", "30"), IsOk());
  for (int i = 0; i < 3; ++i) ASSERT_THAT(Make(*b, absl::StrCat("dc-", i)), IsOk());
  const auto a = MustOpen("a");
  EXPECT_EQ(a->Export().value(), b->Export().value());
  EXPECT_EQ(ShareOf(*a, "ams"), Percent("30"));
  EXPECT_EQ(a->statistics().revision_regressions, 1);
  EXPECT_THAT(Set(*a, "ams", "31"), IsOk());
}

// A change that another router based on what is no more must not slip in.
TEST_F(EtcdRestoreTest, AChangeBasedOnWhatIsNoMoreIsRefused) {
  const auto a = MustOpen("a");
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  const std::string backup = etcd_.Backup("backup");
  Migration migration = SetShare(*a, {"ams", Percent("90"), std::nullopt, "eva", "go"}).value();
  etcd_.Kill(0);
  etcd_.Restore(backup);
  migration.share = Percent("95");
  absl::Status updated;
  ASSERT_TRUE(Eventually([&] {
    updated = a->Update({ChangeKind::kShare, {migration}, "eva", "", ""}).status();
    return !absl::IsUnavailable(updated);
  }));
  EXPECT_THAT(updated, StatusIs(absl::StatusCode::kAborted, ::testing::HasSubstr("revision 1")));
  EXPECT_EQ(ShareOf(*a, "ams"), Share::None());
}

// etcd stays up and its revision does not fall, but the store in it is an older one.
TEST_F(EtcdRestoreTest, AStoreThatWentBackIsTakenAndCounted) {
  EtcdStore::Options options = OptionsOf("a");
  options.check_period = std::chrono::milliseconds(50);
  const auto a = MustOpen(options);
  ASSERT_THAT(Make(*a, "ams"), IsOk());
  const auto client = EtcdClient::Create(etcd_.ClientOptions()).value();
  etcdserverpb::RangeRequest range;
  range.set_key("/ringshift/head");
  const std::string head = client->Range(range)->kvs(0).value();
  ASSERT_THAT(Set(*a, "ams", "90"), IsOk());
  etcdserverpb::PutRequest put;
  put.set_key("/ringshift/head");
  put.set_value(head);
  ASSERT_THAT(client->Put(put), IsOk());
  ASSERT_TRUE(Eventually([&] { return ShareOf(*a, "ams") == Share::None(); }));
  EXPECT_EQ(a->statistics().revision_regressions, 1);
  EXPECT_THAT(a->History({"", std::nullopt, 9}), IsOkAndHolds(SizeIs(1)));
}

}  // namespace
}  // namespace ringshift::testing
