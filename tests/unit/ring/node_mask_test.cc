#include "ring/node_mask.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>

namespace ringshift {
namespace {

TEST(NodeMaskTest, TheNodesOfBothAreThoseThatAreInEach) {
  std::mt19937 random(1);
  for (const std::size_t size : {1u, 63u, 64u, 65u, 1'000u}) {
    for (int round = 0; round < 20; ++round) {
      NodeMask a(size), b(size), expected(size);
      for (NodeIndex node = 0; node < size; ++node) {
        if (random() % 2 == 0) a.Insert(node);
        if (random() % 3 == 0) b.Insert(node);
        if (a.Contains(node) && b.Contains(node)) expected.Insert(node);
      }
      EXPECT_EQ(a & b, expected);
      EXPECT_EQ((a & b).count(), expected.count());
      EXPECT_EQ(a & NodeMask::All(size), a);
      EXPECT_EQ((a & NodeMask(size)).count(), 0u);
    }
  }
}

}  // namespace
}  // namespace ringshift
