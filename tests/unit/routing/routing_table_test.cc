#include "routing/routing_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

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

}  // namespace
}  // namespace ringshift
