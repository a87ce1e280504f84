#include "routing/reader_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ringshift {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::Pair;
using ::testing::Pointee;

using IntMap = ReaderMap<int>;

int Use(const IntMap::Reader& reader, std::string_view name) {
  return reader.Use(name, [](const int* value) { return value == nullptr ? -1 : *value; });
}

TEST(ReaderMapTest, EveryReaderHasWhatIsThereAndWhatComes) {
  IntMap map;
  map.Set("before", std::make_shared<const int>(1));
  const auto one = map.NewReader();
  const auto two = map.NewReader();
  map.Set("after", std::make_shared<const int>(2));
  for (const auto* reader : {one.get(), two.get()}) {
    EXPECT_EQ(Use(*reader, "before"), 1);
    EXPECT_EQ(Use(*reader, "after"), 2);
    EXPECT_EQ(Use(*reader, "never"), -1);
    EXPECT_THAT(reader->Find("after"), Pointee(2));
    EXPECT_THAT(reader->Find("never"), IsNull());
  }
  map.Set("before", std::make_shared<const int>(3));
  EXPECT_EQ(Use(*one, "before"), 3);
  EXPECT_EQ(Use(*two, "before"), 3);
  EXPECT_THAT(map.All(), ElementsAre(Pair("after", Pointee(2)), Pair("before", Pointee(3))));
}

TEST(ReaderMapTest, WhatIsRemovedIsGoneEverywhere) {
  IntMap map;
  const auto reader = map.NewReader();
  map.Set("a", std::make_shared<const int>(1));
  EXPECT_THAT(map.Remove("a"), Pointee(1));
  EXPECT_THAT(map.Remove("a"), IsNull());
  EXPECT_EQ(Use(*reader, "a"), -1);
  EXPECT_THAT(map.Find("a"), IsNull());
}

TEST(ReaderMapTest, AChangeReturnsTheValueThatWasThere) {
  IntMap map;
  EXPECT_THAT(map.Set("a", std::make_shared<const int>(1)), IsNull());
  EXPECT_THAT(map.Set("a", std::make_shared<const int>(2)), Pointee(1));
}

TEST(ReaderMapTest, AnIdleReaderKeepsNoOldValue) {
  IntMap map;
  auto value = std::make_shared<const int>(1);
  const std::weak_ptr<const int> watched = value;
  map.Set("a", value);
  value.reset();
  const auto reader = map.NewReader();
  auto held = reader->Find("a");
  map.Set("a", std::make_shared<const int>(2));
  EXPECT_FALSE(watched.expired());
  held.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(ReaderMapTest, AReaderThatIsGoneIsNotToldOfChanges) {
  IntMap map;
  auto one = map.NewReader();
  const auto two = map.NewReader();
  one.reset();
  map.Set("a", std::make_shared<const int>(1));
  EXPECT_EQ(Use(*two, "a"), 1);
}

// What is destroyed under a lock would keep requests waiting for as long as that takes.
TEST(ReaderMapTest, ValuesAreDestroyedWhereRequestsNeedNotWait) {
  struct Slow {
    explicit Slow(std::function<void()> f) : at_end(std::move(f)) {}
    ~Slow() { at_end(); }
    std::function<void()> at_end;
  };
  ReaderMap<Slow> map;
  const auto reader = map.NewReader();
  int destroyed = 0;
  // Would wait for itself, were the map or the reader locked.
  const auto use_map = [&] {
    ++destroyed;
    map.Find("a");
    map.NewReader();
    reader->Use("a", [](const Slow*) { return 0; });
  };
  map.Set("a", std::make_shared<const Slow>(use_map));
  map.Set("a", std::make_shared<const Slow>(use_map));
  EXPECT_EQ(destroyed, 1);
  map.Remove("a");
  EXPECT_EQ(destroyed, 2);
}

TEST(ReaderMapTest, ReadersSeeValuesInTheirOrderWhileTheyChange) {
  constexpr int kChanges = 5'000;
  constexpr std::size_t kThreads = 4;
  IntMap map;
  map.Set("a", std::make_shared<const int>(0));
  std::atomic<std::size_t> ready = 0;
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      int last = 0;
      ++ready;
      for (bool is_last_round = false; !is_last_round;) {
        is_last_round = done;
        const auto reader = map.NewReader();
        for (int n = 0; n < 100; ++n) {
          const int used = Use(*reader, "a");
          const int found = *reader->Find("a");
          wrong += used < last || found < used;
          last = found;
          reader->Use("b", [&](const int* b) { wrong += b != nullptr && *b > kChanges; });
        }
      }
      wrong += last != kChanges;
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  std::thread other([&map] {
    for (int i = 1; i <= kChanges; ++i) {
      map.Set("b", std::make_shared<const int>(i));
      map.Remove("b");
    }
  });
  for (int i = 1; i <= kChanges; ++i) map.Set("a", std::make_shared<const int>(i));
  other.join();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ringshift
