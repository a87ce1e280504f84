#include "routing/byte_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOkAndHolds;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ByteSizeTest, BytesAndUnitsOf1024AreRead) {
  EXPECT_THAT(ParseByteSize("1"), IsOkAndHolds(1u));
  EXPECT_THAT(ParseByteSize("1000000"), IsOkAndHolds(1'000'000u));
  EXPECT_THAT(ParseByteSize("64KiB"), IsOkAndHolds(64u << 10));
  EXPECT_THAT(ParseByteSize("512MiB"), IsOkAndHolds(512u << 20));
  EXPECT_THAT(ParseByteSize("8GiB"), IsOkAndHolds(std::uint64_t{8} << 30));
  EXPECT_THAT(ParseByteSize("1TiB"), IsOkAndHolds(std::uint64_t{1} << 40));
  EXPECT_THAT(ParseByteSize("18446744073709551615"), IsOkAndHolds(0xFFFF'FFFF'FFFF'FFFF));
  EXPECT_THAT(ParseByteSize("16777215TiB"), IsOkAndHolds(std::uint64_t{16777215} << 40));
}

TEST(ByteSizeTest, EverythingElseIsRefusedWithAnExample) {
  for (const char* text :
       {"", "0", "0GiB", "-1", "+1", "8G", "8GB", "8Gi", "8gib", "8 GiB", " 8GiB", "8GiB ",
        "1.5GiB", "GiB", "1e9", "0x10", "18446744073709551616", "16777216TiB"}) {
    EXPECT_THAT(ParseByteSize(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("\"" + std::string(text) + "\""), HasSubstr("8GiB"))));
  }
}

TEST(ByteSizeTest, ADescriptionHasTheExactBytesAndTheLargestUnit) {
  EXPECT_EQ(DescribeBytes(17), "17 bytes");
  EXPECT_EQ(DescribeBytes(1024), "1024 bytes (1.0 KiB)");
  EXPECT_EQ(DescribeBytes(1'638'400'104), "1638400104 bytes (1.5 GiB)");
  EXPECT_EQ(DescribeBytes(0xFFFF'FFFF'FFFF'FFFF), "18446744073709551615 bytes (16777216.0 TiB)");
}

}  // namespace
}  // namespace ringshift
