#include "client/ringctl/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ringshift {
namespace {

using ::testing::ElementsAre;

TEST(SelectorTest, ExactlyOneWayToNameDataCenters) {
  EXPECT_EQ(CheckSelector({{"ams", "fra"}, "", false}), "");
  EXPECT_EQ(CheckSelector({{}, "canary", false}), "");
  EXPECT_EQ(CheckSelector({{}, "", true}), "");
  EXPECT_EQ(CheckSelector({}), "no data center is named: give --data-center, --tier or --all");
  EXPECT_EQ(CheckSelector({{"ams"}, "canary", false}),
            "--data-center, --tier and --all exclude each other");
}

TEST(SelectorTest, IsWhatTheOptionsSay) {
  EXPECT_THAT(SelectorOf({{"ams", "fra"}, "", false}).data_centers(), ElementsAre("ams", "fra"));
  EXPECT_EQ(SelectorOf({{}, "canary", false}).tier(), "canary");
  EXPECT_TRUE(SelectorOf({{}, "", true}).all());
}

TEST(SelectorTest, ManyAreCountedAndTenAreNamed) {
  std::vector<std::string> names = {"a\033"};
  EXPECT_EQ(NameDataCenters(names), "a\\x1b");
  for (const char* name : {"b", "c", "d", "e", "f", "g", "h", "i", "j"}) names.emplace_back(name);
  EXPECT_EQ(NameDataCenters(names), "10 data centers (a\\x1b, b, c, d, e, f, g, h, i, j)");
  names.emplace_back("k");
  EXPECT_EQ(NameDataCenters(names),
            "11 data centers (a\\x1b, b, c, d, e, f, g, h, i, j and 1 more)");
}

TEST(SelectorTest, IsNamedByWhatWasGiven) {
  EXPECT_EQ(NameDataCenters(SelectorOptions{{}, "canary", false}), "tier canary");
  EXPECT_EQ(NameDataCenters(SelectorOptions{{}, "", true}), "all data centers");
  EXPECT_EQ(LookCommand({{"ams"}, "", false}), "ringctl migration get --data-center ams");
  EXPECT_EQ(LookCommand({{}, "", true}), "ringctl migration list");
}

}  // namespace
}  // namespace ringshift
