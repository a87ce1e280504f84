#include "server/call_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace ringshift {
namespace {

std::size_t AcquireAll(CallLimit::Share& share) {
  std::size_t acquired = 0;
  while (share.TryAcquire()) ++acquired;
  return acquired;
}

TEST(CallLimitTest, OneShareMayHaveAllOfIt) {
  for (const std::size_t limit : {1u, 2u, 7u, 64u, 1000u, 4096u}) {
    CallLimit calls(limit, 16);
    CallLimit::Share share(calls);
    EXPECT_EQ(AcquireAll(share), limit);
    EXPECT_FALSE(share.TryAcquire());
    share.Release();
    EXPECT_TRUE(share.TryAcquire());
    EXPECT_FALSE(share.TryAcquire());
  }
}

TEST(CallLimitTest, WhatOneGivesBackAnotherMayHave) {
  constexpr std::size_t kLimit = 4096;
  CallLimit calls(kLimit, 2);
  CallLimit::Share one(calls);
  CallLimit::Share two(calls);
  EXPECT_EQ(AcquireAll(one), kLimit);
  EXPECT_FALSE(two.TryAcquire());
  for (std::size_t i = 0; i < kLimit; ++i) one.Release();
  // What `one` keeps for itself.
  EXPECT_GE(AcquireAll(two), kLimit * 3 / 4);
}

TEST(CallLimitTest, FewPermitsAreNotKeptByThreadsThatHaveNoCalls) {
  CallLimit calls(2, 8);
  CallLimit::Share one(calls), two(calls), three(calls);
  for (CallLimit::Share* share : {&one, &two}) {
    ASSERT_TRUE(share->TryAcquire());
    share->Release();
  }
  EXPECT_TRUE(three.TryAcquire());
}

TEST(CallLimitTest, TogetherTheyNeverHaveMore) {
  constexpr std::size_t kLimit = 100;
  constexpr std::size_t kThreads = 4;
  CallLimit calls(kLimit, kThreads);
  std::atomic<std::size_t> in_flight = 0;
  std::atomic<int> above = 0;
  std::atomic<std::size_t> got = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      CallLimit::Share share(calls);
      std::size_t mine = 0;
      for (std::size_t i = 0; i < 100'000; ++i) {
        if (i % 7 < 4 && share.TryAcquire()) {
          ++mine;
          ++got;
          above += ++in_flight > kLimit;
        } else if (mine > 0) {
          --in_flight;
          --mine;
          share.Release();
        }
      }
      in_flight -= mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(above, 0);
  EXPECT_GT(got, kLimit);
}

}  // namespace
}  // namespace ringshift
