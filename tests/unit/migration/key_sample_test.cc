#include "migration/key_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace ringshift {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kSeed = 7;
constexpr RoutedKey kLargest{0xFFFFFFFF, 999'999, KeySample::kMaxPools - 1};
constexpr std::size_t kCapacity = KeySample::kBlocks * KeySample::kBlockKeys;

void AddKey(KeySample& sample, const RoutedKey& key, std::uint64_t seed = kSeed,
            std::size_t writer = 0) {
  sample.Add(writer, seed, key.pool, 1, [&key](std::size_t) { return key; });
}

// Adds keys at the positions `first`, `first` + 1, ...
void AddMany(KeySample& sample, std::size_t writer, std::uint32_t first, std::size_t count,
             std::uint64_t seed = kSeed) {
  sample.Add(writer, seed, 0, count, [first](std::size_t i) {
    return RoutedKey{first + static_cast<std::uint32_t>(i), 1, 0};
  });
}

TEST(KeySampleTest, HasWhatWasAdded) {
  KeySample sample;
  EXPECT_THAT(sample.Keys(kSeed), IsEmpty());
  for (const RoutedKey& key :
       {RoutedKey{0, 0, 0}, kLargest, RoutedKey{17, 250'000, 3}, RoutedKey{17, 250'000, 3}}) {
    AddKey(sample, key);
  }
  EXPECT_THAT(sample.Keys(kSeed),
              UnorderedElementsAre(RoutedKey{0, 0, 0}, kLargest, RoutedKey{17, 250'000, 3},
                                   RoutedKey{17, 250'000, 3}));
}

TEST(KeySampleTest, HasAQuarterOfTheLastKeysOfAllThreads) {
  KeySample sample;
  std::uint32_t position = 0;
  // Three threads, of which one has most of the traffic.
  for (int round = 0; round < 300; ++round) {
    for (const auto& [writer, keys] :
         {std::pair<std::size_t, std::uint32_t>(0, 5000), {1, 300}, {2, 7}}) {
      AddMany(sample, writer, position, keys);
      position += keys;
    }
  }
  const std::vector<RoutedKey> keys = sample.Keys(kSeed);
  EXPECT_THAT(keys, SizeIs(kCapacity));
  // No older than that, but for what a block of a thread that is not full has from the time before.
  const std::uint32_t oldest = position - static_cast<std::uint32_t>(4 * kCapacity + 5307);
  const auto old = std::count_if(keys.begin(), keys.end(),
                                 [oldest](const RoutedKey& key) { return key.position < oldest; });
  EXPECT_LE(old, 3 * static_cast<std::ptrdiff_t>(KeySample::kBlockKeys));
  // Each key once.
  std::vector<RoutedKey> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

TEST(KeySampleTest, KeysOfAnotherSaltAreNeverAmongThoseOfThisOne) {
  KeySample sample;
  AddMany(sample, 0, 0, kCapacity);
  AddKey(sample, {5, 5, 0}, kSeed + 1);
  EXPECT_THAT(sample.Keys(kSeed + 1), ElementsAre(RoutedKey{5, 5, 0}));
  EXPECT_THAT(sample.Keys(kSeed), SizeIs(kCapacity - KeySample::kBlockKeys));
  AddMany(sample, 0, 1'000'000, 5 * kCapacity, kSeed + 1);
  EXPECT_THAT(sample.Keys(kSeed), IsEmpty());
}

TEST(KeySampleTest, HasEveryKeyUntilItIsFull) {
  KeySample sample;
  for (std::uint32_t i = 0; i < kCapacity; ++i) AddKey(sample, {i, 1, 0});
  std::vector<RoutedKey> keys = sample.Keys(kSeed);
  ASSERT_THAT(keys, SizeIs(kCapacity));
  std::sort(keys.begin(), keys.end());
  for (std::uint32_t i = 0; i < kCapacity; ++i) ASSERT_EQ(keys[i].position, i);
}

TEST(KeySampleTest, KeysOfPoolsBeyondTheLimitAreLeftOut) {
  KeySample sample;
  AddKey(sample, {1, 1, KeySample::kMaxPools});
  EXPECT_THAT(sample.Keys(kSeed), IsEmpty());
}

TEST(KeySampleTest, IsReadWhileManyThreadsAdd) {
  KeySample sample;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  // More of them than there are places to write at.
  for (std::uint32_t i = 0; i < 20; ++i) {
    threads.emplace_back([&sample, &stop, i] {
      const std::size_t writer = KeySample::NewWriter();
      while (!stop.load(std::memory_order_relaxed)) {
        for (std::uint64_t n = 0; n < 100; ++n) {
          AddKey(sample, {i, i, i}, kSeed + n % 2, writer);
        }
        AddMany(sample, writer, 0, 2000, kSeed);
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    for (const RoutedKey& key : sample.Keys(kSeed)) {
      ASSERT_LT(key.pool, 20U);
      ASSERT_LT(key.bucket, 20U);
      ASSERT_LT(key.position, 2000U);
    }
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ringshift
