#include "ring/internal/bit_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace ringshift::internal {
namespace {

TEST(BitWriterTest, PartsThatMeetWithinABytePutTogetherAreAllBits) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    // Parts of some numbers each, of 1 to 32 bits.
    std::vector<bool> expected;
    std::vector<unsigned char> memory(2000, 0xAA);
    struct Edge {
      std::uint64_t first_byte, last_byte;
      BitWriter::Edges bits;
      bool has_first, has_last;
    };
    std::vector<Edge> edges;
    const int bits = 1 + static_cast<int>(random() % 32);
    for (int part = 0; part < 10; ++part) {
      const std::uint64_t begin = expected.size();
      BitWriter writer(memory.data(), begin);
      for (std::size_t i = 0, count = random() % 12; i < count; ++i) {
        const std::uint64_t value = random() & ((std::uint64_t{1} << bits) - 1);
        writer.Write(value, bits);
        for (int bit = 0; bit < bits; ++bit) expected.push_back((value >> bit & 1) != 0);
      }
      const std::uint64_t end = expected.size();
      edges.push_back({begin / 8, end / 8, writer.Finish(), begin % 8 != 0, end % 8 != 0});
    }
    for (const Edge& edge : edges) {
      if (edge.has_first) memory[edge.first_byte] = 0;
      if (edge.has_last) memory[edge.last_byte] = 0;
    }
    for (const Edge& edge : edges) {
      memory[edge.first_byte] |= edge.bits.first;
      memory[edge.last_byte] |= edge.bits.last;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ((memory[i / 8] >> (i % 8) & 1) != 0, expected[i]) << round << " bit " << i;
    }
    ASSERT_EQ(memory[expected.size() / 8 + 1], 0xAA) << "nothing is written behind the end";
  }
}

}  // namespace
}  // namespace ringshift::internal
