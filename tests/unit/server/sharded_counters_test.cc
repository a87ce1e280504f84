#include "server/sharded_counters.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ringshift {
namespace {

TEST(ShardedCountersTest, EveryAdditionOfEveryThreadIsInTheSum) {
  constexpr std::size_t kCounters = 19;  // more than two cache lines
  ShardedCounters counters(kCounters);
  std::vector<std::thread> threads;
  for (int t = 0; t < 100; ++t) {  // more than there are rows
    threads.emplace_back([&counters] {
      for (int round = 0; round < 1000; ++round) {
        for (std::size_t i = 0; i < kCounters; ++i) counters.Add(i, i + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kCounters; ++i) EXPECT_EQ(counters.Sum(i), 100'000 * (i + 1)) << i;
}

TEST(ShardedCountersTest, CountersStartAtZeroAndDoNotTouchEachOther) {
  ShardedCounters counters(9);
  counters.Add(8, 7);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(counters.Sum(i), 0) << i;
  EXPECT_EQ(counters.Sum(8), 7);
}

}  // namespace
}  // namespace ringshift
