#include "migration/etcd/etcd_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "state.pb.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

const std::string kOdd = std::string("'\0\x01\xff", 4) + "caf\xc3\xa9";
const WallTime kTime{std::chrono::microseconds(1'800'000'000'123'456)};

Migration SomeMigration() {
  Migration migration{
      "ams", Share::FromPpm(125'000).value(), kOdd, "rule",           7, kTime, kOdd,
      kOdd,  kTime - std::chrono::hours(1),   true, RetiredRing::kV1, {}};
  migration.answers.Change(Share::None(), migration.share, kTime, WallTime());
  return migration;
}

StoredTopology SomeTopology() {
  return {"ams", kOdd, {{"", kTime, ""}, {"n1", kTime, kOdd}}, 6, kTime, kOdd, kOdd};
}

MigrationChange SomeChange() {
  return {7,    kTime, "ams",         ChangeKind::kRolledBack,
          kOdd, kOdd,  Share::None(), Share::FromPpm(125'000).value(),
          kOdd};
}

TEST(EtcdStateTest, ARecordIsReadAsItWasWritten) {
  internal::StoreChange change;
  change.revision = 7;
  change.erased = {"old", kOdd};
  change.migrations = {SomeMigration()};
  change.topologies = {SomeTopology()};
  change.dropped_topologies = {"gone"};
  change.default_share = DefaultShare{Share::None(), 7};
  MigrationChange forgotten = SomeChange();
  forgotten.kind = ChangeKind::kForgotten;
  forgotten.to = std::nullopt;  // none is not a share of 0
  change.history = {SomeChange(), forgotten};
  const std::string previous(16, 'p');
  const absl::StatusOr<EtcdRecord> record =
      DecodeEtcdRecord(EncodeEtcdRecord(change, previous, 42));
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->previous_chain, previous);
  EXPECT_EQ(record->change, change);
}

TEST(EtcdStateTest, TwoAttemptsOfOneChangeAreDifferentRecords) {
  internal::StoreChange change;
  change.revision = 1;
  const std::string previous(16, 'p');
  EXPECT_NE(EtcdHash(EncodeEtcdRecord(change, previous, 1)),
            EtcdHash(EncodeEtcdRecord(change, previous, 2)));
}

TEST(EtcdStateTest, AHeadIsReadAsItWasWritten) {
  const EtcdHead head{std::string(16, 's'),
                      300,
                      std::string(16, '\0'),
                      101,
                      5'000,
                      {"id", 3, 200, std::string(16, 'c'), std::string(16, 'h'), 1'000'000}};
  EXPECT_THAT(DecodeEtcdHead(EncodeEtcdHead(head)), IsOkAndHolds(head));
}

TEST(EtcdStateTest, ContentsAreReadAsTheyWereWritten) {
  StoreContents contents;
  contents.migrations = {SomeMigration()};
  contents.topologies = {SomeTopology()};
  contents.history = {SomeChange()};
  contents.default_share = {Share::All(), 5};
  contents.last_revision = 9;
  EXPECT_THAT(DecodeEtcdContents(EncodeEtcdContents(contents), 9), IsOkAndHolds(contents));
}

TEST(EtcdStateTest, AHeadOfANewerFormatIsRefused) {
  etcd::Head head;
  head.set_format(2);
  EXPECT_THAT(DecodeEtcdHead(head.SerializeAsString()),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("has format 2, this program knows up to 1")));
}

// An empty message is well-formed protobuf: everything in it would be 0.
TEST(EtcdStateTest, NothingIsReadAsZeroBecauseItIsMissing) {
  EXPECT_THAT(DecodeEtcdHead(""), StatusIs(StatusCode::kDataLoss, HasSubstr("its head")));
  EXPECT_THAT(DecodeEtcdRecord(""), StatusIs(StatusCode::kDataLoss, HasSubstr("a record")));
  etcd::Head head;
  head.set_format(1);
  EXPECT_THAT(DecodeEtcdHead(head.SerializeAsString()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("missing or out of range")));
}

TEST(EtcdStateTest, AMigrationThatMakesNoSenseIsDataLoss) {
  const auto decode = [](const auto& spoil) {
    internal::StoreChange change;
    change.revision = 1;
    change.migrations = {SomeMigration()};
    change.history = {SomeChange()};
    etcd::Record record;
    record.ParseFromString(EncodeEtcdRecord(change, std::string(16, 'p'), 1));
    spoil(record);
    return DecodeEtcdRecord(record.SerializeAsString()).status();
  };
  EXPECT_THAT(decode([](etcd::Record&) {}), IsOk());
  EXPECT_THAT(decode([](etcd::Record& r) { r.mutable_migrations(0)->set_v2_ppm(1'000'001); }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("1000001")));
  EXPECT_THAT(decode([](etcd::Record& r) { r.mutable_migrations(0)->clear_revision(); }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("a value is missing")));
  EXPECT_THAT(decode([](etcd::Record& r) { r.mutable_migrations(0)->set_retired_ring(3); }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("retired ring 3")));
  EXPECT_THAT(decode([](etcd::Record& r) { r.mutable_migrations(0)->set_answers("x"); }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("the migration of \"ams\"")));
  EXPECT_THAT(decode([](etcd::Record& r) { r.mutable_history(0)->clear_to_ppm(); }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not have what that must have")));
}

TEST(EtcdStateTest, ContentsThatAreCutOffAreDataLoss) {
  StoreContents contents;
  contents.migrations = {SomeMigration()};
  contents.last_revision = 9;
  const std::string bytes = EncodeEtcdContents(contents);
  EXPECT_THAT(DecodeEtcdContents(std::string_view(bytes).substr(0, bytes.size() - 1), 9),
              StatusIs(StatusCode::kDataLoss, HasSubstr("cut off")));
  EXPECT_THAT(DecodeEtcdContents(bytes, 6),
              StatusIs(StatusCode::kDataLoss, HasSubstr("revision 7 of the migrations")));
}

}  // namespace
}  // namespace ringshift
