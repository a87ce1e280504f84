#include "routing/internal/checksum.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdint>
#include <string>

namespace ringshift::internal {
namespace {

TEST(ChecksumTest, NumbersAreEightBytesLowestFirstAndTextsHaveTheirLengthBeforeThem) {
  Checksum checksum;
  checksum.Add(std::uint64_t{0x0102030405060708});
  checksum.Add("ab");
  checksum.Add("");
  const std::string bytes(
      "\x08\x07\x06\x05\x04\x03\x02\x01"
      "\x02\0\0\0\0\0\0\0"
      "ab"
      "\0\0\0\0\0\0\0\0",
      26);
  EXPECT_EQ(checksum.Value(), XXH3_64bits(bytes.data(), bytes.size()));
}

TEST(ChecksumTest, OfNothingIsThatOfNoBytes) { EXPECT_EQ(Checksum().Value(), 0x2D06800538D394C2u); }

}  // namespace
}  // namespace ringshift::internal
