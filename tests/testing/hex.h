// Bytes from hex, which Abseil has only under names that differ between its releases.
#ifndef RINGSHIFT_TESTS_TESTING_HEX_H_
#define RINGSHIFT_TESTS_TESTING_HEX_H_

#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <string_view>

namespace ringshift::testing {

inline std::string BytesFromHex(std::string_view hex) {
  EXPECT_EQ(hex.size() % 2, 0u) << hex;
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = hex.data() + i + 2;
    EXPECT_EQ(std::from_chars(hex.data() + i, end, byte, 16).ptr, end) << hex;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_HEX_H_
