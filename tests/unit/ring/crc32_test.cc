#include "ring/crc32.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/ring/reference_ring.h"

namespace ringshift {
namespace {

TEST(Crc32Test, MatchesTheCheckValueOfTheStandard) { EXPECT_EQ(Crc32("123456789"), 0xCBF43926u); }

TEST(Crc32Test, OfNoBytesIsZero) { EXPECT_EQ(Crc32(""), 0u); }

TEST(Crc32Test, MatchesTheBitwiseDefinitionAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::string bytes(300, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t length = 0; length + begin <= bytes.size(); ++length) {
      const std::string part = bytes.substr(begin, length);
      ASSERT_EQ(Crc32(std::string_view(bytes).substr(begin, length)), testing::ReferenceCrc32(part))
          << begin << " " << length;
    }
  }
}

TEST(Crc32Test, GoesOnFromTheStateOfWhatCameBefore) {
  std::mt19937 random(2);
  std::string bytes(64, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const std::string_view all = bytes;
  for (std::size_t length = 0; length <= all.size(); ++length) {
    for (std::size_t first = 0; first <= length; ++first) {
      const std::uint32_t state = internal::Crc32Extend(0xFFFFFFFF, all.substr(0, first));
      ASSERT_EQ(~internal::Crc32Extend(state, all.substr(first, length - first)),
                testing::ReferenceCrc32(bytes.substr(0, length)))
          << first << " of " << length;
    }
  }
}

TEST(Crc32Test, HitsThePublishedKeysOfChosenPositions) {
  EXPECT_EQ(Crc32("/k/xrd4bf1"), 0x00000000u);
  EXPECT_EQ(Crc32("/k/c11zbfs"), 0xFFFFFFFFu);
  EXPECT_EQ(Crc32("/k/j8x9afk"), 0x80000000u);
  EXPECT_EQ(Crc32("/k/ypvxa88"), 0x7FFFFFFFu);
}

TEST(Crc32Test, AWordAfterAStateIsItsLittleEndianBytes) {
  const std::uint32_t state = internal::Crc32Extend(0xFFFFFFFF, "node");
  EXPECT_EQ(internal::Crc32OfStateThenWord(state, 0x64636261), Crc32("nodeabcd"));
}

}  // namespace
}  // namespace ringshift
