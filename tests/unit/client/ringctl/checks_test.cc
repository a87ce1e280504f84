#include "client/ringctl/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CheckWholeNumberTest, TakesBothLimitsAndNothingBeyond) {
  const Check check = CheckWholeNumber(-3, 16);
  for (const char* good : {"-3", "0", "16"}) EXPECT_EQ(check(good), "") << good;
  EXPECT_EQ(check("-4"), "\"-4\" is not a whole number from -3 to 16");
  EXPECT_EQ(check("17"), "\"17\" is not a whole number from -3 to 16");
  const Check all = CheckWholeNumber(1, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(all("9223372036854775807"), "");
  EXPECT_THAT(all("9223372036854775808"), HasSubstr("is not a whole number from 1 to "));
}

TEST(CheckWholeNumberTest, WhatCLI11MayReadInAnotherWayIsRefused) {
  const Check check = CheckWholeNumber(0, 100);
  for (const char* bad : {"", "010", "0x10", "+1", " 1", "1 ", "1.0", "1e1", "1'0", "-0", "one"}) {
    EXPECT_THAT(check(bad), HasSubstr("is not a whole number from 0 to 100")) << bad;
  }
}

TEST(CheckOneOfTest, NamesTheWordsThatWouldBeRight) {
  const Check check = CheckOneOf({"v1", "v2"});
  EXPECT_EQ(check("v1"), "");
  EXPECT_EQ(check("v2"), "");
  EXPECT_EQ(check("v3"), "\"v3\" is none of v1, v2");
  EXPECT_EQ(check("V1\033"), "\"V1\\x1b\" is none of v1, v2");
}

TEST(CheckPercentTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(CheckPercent("12.5"), "");
  EXPECT_THAT(CheckPercent("101"), AllOf(HasSubstr("\"101\""), HasSubstr("expected 0 to 100")));
}

TEST(CheckRatioTest, IsFromNothingToAll) {
  for (const char* good : {"0", "1", "0.95", ".5"}) EXPECT_EQ(CheckRatio(good), "") << good;
  for (const char* bad : {"", "1.01", "-0.1", "95%", "1e-1", "nan", "inf", "."}) {
    EXPECT_THAT(CheckRatio(bad), HasSubstr("is not a ratio from 0 to 1")) << bad;
  }
}

TEST(CheckFileNameTest, AnEmptyNameIsNone) {
  EXPECT_EQ(CheckFileName("out.svg"), "");
  EXPECT_EQ(CheckFileName(""), "the name of the file is empty");
}

TEST(CheckUtf8Test, ShowsTheBytesThatAreNot) {
  EXPECT_EQ(CheckUtf8("h\xc3\xa9"), "");
  EXPECT_EQ(CheckUtf8("h\xe9"), "\"h\\xe9\" is not UTF-8");
}

}  // namespace
}  // namespace ringshift
