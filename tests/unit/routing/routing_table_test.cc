#include "routing/routing_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeMigration;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RoutingTableTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(data_center_, DataCenter::Build(MakeSpec(3))); }
  std::shared_ptr<const DataCenter> data_center_;
};

TEST_F(RoutingTableTest, KeepsTheMigrationAndSharesTheDataCenter) {
  const Migration migration = MakeMigration("ams", 290'000);
  ASSERT_OK_AND_ASSIGN(const auto table, RoutingTable::Create(data_center_, migration));
  EXPECT_EQ(table->migration(), migration);
  EXPECT_EQ(table->share().ppm(), 290'000);
  EXPECT_EQ(table->shared_data_center(), data_center_);
  EXPECT_EQ(table->decision().Hash("k"), Decision("salt").Hash("k"));
}

TEST_F(RoutingTableTest, WithoutV1TheShareIsAllWhateverTheMigrationSays) {
  DataCenterSpec spec = MakeSpec(3);
  spec.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center, MakeMigration("ams", 0)));
  EXPECT_EQ(table->share(), Share::All());
  EXPECT_EQ(table->migration().share, Share::None());
  EXPECT_EQ(table->share_reason(), "the data center has no ring v1");
}

TEST_F(RoutingTableTest, ThereIsNoReasonWhereTheShareIsTheMigrations) {
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center_, MakeMigration("ams", 290'000)));
  EXPECT_EQ(table->share_reason(), "");
  DataCenterSpec spec = MakeSpec(3);
  spec.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  ASSERT_OK_AND_ASSIGN(const auto all,
                       RoutingTable::Create(data_center, MakeMigration("ams", 1'000'000)));
  EXPECT_EQ(all->share_reason(), "");
}

TEST_F(RoutingTableTest, AnotherDecisionAlgorithmIsRefused) {
  Migration migration = MakeMigration("ams", 0);
  migration.decision_algorithm = "xxh3-ppm-2";
  EXPECT_THAT(
      RoutingTable::Create(data_center_, migration),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("ams"), HasSubstr("\"xxh3-ppm-2\""), HasSubstr("\"xxh3-ppm-1\""))));
}

TEST_F(RoutingTableTest, AMigrationOfAnotherDataCenterIsRefused) {
  EXPECT_THAT(
      RoutingTable::Create(data_center_, MakeMigration("sin", 0)),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("sin"), HasSubstr("ams"))));
}

TEST_F(RoutingTableTest, TheChecksumCoversTheRingsAndTheSaltAndNotTheShare) {
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center_, MakeMigration("ams", 0)));
  ASSERT_OK_AND_ASSIGN(const auto raised,
                       RoutingTable::Create(data_center_, MakeMigration("ams", 500'000)));
  ASSERT_OK_AND_ASSIGN(const auto salted,
                       RoutingTable::Create(data_center_, MakeMigration("ams", 0, "pepper")));
  ASSERT_OK_AND_ASSIGN(const auto other, DataCenter::Build(MakeSpec(4)));
  ASSERT_OK_AND_ASSIGN(const auto larger, RoutingTable::Create(other, MakeMigration("ams", 0)));
  EXPECT_EQ(table->checksum(), raised->checksum());
  EXPECT_NE(table->checksum(), salted->checksum());
  EXPECT_NE(table->checksum(), larger->checksum());
}

std::shared_ptr<const RoutingTable> TableWithout(RetiredRing missing, std::int64_t ppm,
                                                 RouterState state = {}) {
  const auto data_center = DataCenter::Build(MakeSpec(3), nullptr, missing).value();
  return RoutingTable::Create(data_center, MakeMigration("ams", ppm), std::move(state)).value();
}

RouterState Overridden(std::int64_t ppm) {
  RouterState state;
  state.share_override = ShareOverride{*Share::FromPpm(ppm), "the canary burns", "sre", {}};
  return state;
}

TEST_F(RoutingTableTest, AnOverrideTakesThePlaceOfTheShareAndIsTheReason) {
  ASSERT_OK_AND_ASSIGN(
      const auto table,
      RoutingTable::Create(data_center_, MakeMigration("ams", 290'000), Overridden(10'000)));
  EXPECT_EQ(table->share().ppm(), 10'000);
  EXPECT_EQ(table->migration().share.ppm(), 290'000);
  EXPECT_EQ(table->share_reason(), "overridden on this router by sre: the canary burns");
}

TEST_F(RoutingTableTest, AShareWaitsForTheRingThatItNeeds) {
  const auto without_v1 = TableWithout(RetiredRing::kV1, 290'000);
  EXPECT_EQ(without_v1->share(), Share::All());
  EXPECT_EQ(without_v1->share_reason(), "waits for ring v1 that is being built");
  const auto without_v2 = TableWithout(RetiredRing::kV2, 290'000);
  EXPECT_EQ(without_v2->share(), Share::None());
  EXPECT_EQ(without_v2->share_reason(), "waits for ring v2 that is being built");
  RouterState failed;
  failed.restore_error = "no memory for a ring of 7 points";
  EXPECT_EQ(TableWithout(RetiredRing::kV1, 0, failed)->share_reason(),
            "waits for ring v1, which is not being built: no memory for a ring of 7 points");
  EXPECT_EQ(TableWithout(RetiredRing::kV1, 290'000, Overridden(0))->share_reason(),
            "waits for ring v1 that is being built");
}

TEST_F(RoutingTableTest, ARingThatTheShareDoesNotNeedIsSaidToBeBuiltUnlessItIsRetired) {
  const auto without_v1 = TableWithout(RetiredRing::kV1, 1'000'000);
  EXPECT_EQ(without_v1->share(), Share::All());
  EXPECT_EQ(without_v1->share_reason(), "ring v1 is being built");
  EXPECT_EQ(TableWithout(RetiredRing::kV2, 0)->share_reason(), "ring v2 is being built");
  RouterState failed;
  failed.restore_error = "no memory for a ring of 7 points";
  EXPECT_EQ(TableWithout(RetiredRing::kV1, 1'000'000, failed)->share_reason(),
            "ring v1 is not being built: no memory for a ring of 7 points");
  Migration retired = MakeMigration("ams", 1'000'000);
  retired.retired = RetiredRing::kV1;
  const auto table =
      RoutingTable::Create(without_v1->shared_data_center(), std::move(retired)).value();
  EXPECT_EQ(table->share_reason(), "");
}

TEST_F(RoutingTableTest, TheChecksumIsTheSameBeforeAndAfterARetiredRingIsDropped) {
  for (const RetiredRing retired : {RetiredRing::kV1, RetiredRing::kV2}) {
    Migration migration = MakeMigration("ams", retired == RetiredRing::kV1 ? 1'000'000 : 0);
    ASSERT_OK_AND_ASSIGN(const auto before, RoutingTable::Create(data_center_, migration));
    migration.retired = retired;
    ASSERT_OK_AND_ASSIGN(const auto has, RoutingTable::Create(data_center_, migration));
    ASSERT_OK_AND_ASSIGN(const auto dropped,
                         RoutingTable::Create(data_center_->Without(retired), migration));
    ASSERT_OK_AND_ASSIGN(const auto never_built, DataCenter::Build(MakeSpec(3), nullptr, retired));
    ASSERT_OK_AND_ASSIGN(const auto started, RoutingTable::Create(never_built, migration));
    EXPECT_NE(has->checksum(), before->checksum());
    EXPECT_EQ(has->checksum(), dropped->checksum());
    EXPECT_EQ(has->checksum(), started->checksum());
  }
}

TEST_F(RoutingTableTest, PreviousOwnersTakeAWarmOtherRingThatIsThereOrAYoungNode) {
  const auto has = [](RetiredRing missing, std::int64_t ppm, std::int64_t v2_below,
                      std::int64_t v1_from, bool young) {
    RouterState state;
    state.warmth.v2_warm_below = *Share::FromPpm(v2_below);
    state.warmth.v1_warm_from = *Share::FromPpm(v1_from);
    NodeMask settled = NodeMask::All(3);
    if (young) settled.Erase(1);
    state.settled = std::make_shared<const NodeMask>(settled);
    return TableWithout(missing, ppm, state)->has_previous_owners();
  };
  constexpr RetiredRing kNone = RetiredRing::kNone;
  EXPECT_FALSE(has(kNone, 300'000, 300'000, 300'000, false));
  EXPECT_TRUE(has(kNone, 300'000, 300'001, 300'000, false));
  EXPECT_TRUE(has(kNone, 300'000, 300'000, 299'999, false));
  EXPECT_TRUE(has(kNone, 300'000, 300'000, 300'000, true));
  EXPECT_FALSE(has(RetiredRing::kV1, 1'000'000, 1'000'000, 0, false));
  EXPECT_TRUE(has(RetiredRing::kV1, 1'000'000, 1'000'000, 0, true));
  EXPECT_FALSE(has(RetiredRing::kV2, 0, 1'000'000, 0, false));
}

TEST_F(RoutingTableTest, SettledNodesOfAnotherDataCenterAreRefused) {
  RouterState state;
  state.settled = std::make_shared<const NodeMask>(4);
  EXPECT_THAT(
      RoutingTable::Create(data_center_, MakeMigration("ams", 0), state),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("3 nodes"), HasSubstr("of 4"))));
}

}  // namespace
}  // namespace ringshift
