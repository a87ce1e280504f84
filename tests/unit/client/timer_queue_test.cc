#include "client/timer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace ringshift {
namespace {

using Clock = TimerQueue::Clock;
using ::testing::ElementsAre;

constexpr std::chrono::hours kNever{1000};

TEST(TimerQueueTest, ATaskThatIsDueRunsInAnotherThread) {
  TimerQueue timers;
  std::promise<std::thread::id> ran;
  timers.Add(Clock::now(), [&](bool due) {
    EXPECT_TRUE(due);
    ran.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(TimerQueueTest, TasksRunInTheOrderOfTheirTimesThenAsTheyWereAdded) {
  TimerQueue timers;
  std::promise<void> all_added;
  std::promise<void> last_ran;
  std::vector<int> order;  // of the queue's thread
  const Clock::time_point now = Clock::now();
  timers.Add(now - kNever, [added = all_added.get_future().share()](bool) { added.wait(); });
  timers.Add(now, [&](bool) {
    order.push_back(3);
    last_ran.set_value();
  });
  timers.Add(now - std::chrono::seconds(2), [&](bool) { order.push_back(1); });
  timers.Add(now - std::chrono::seconds(2), [&](bool) { order.push_back(2); });
  all_added.set_value();
  last_ran.get_future().wait();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(TimerQueueTest, AnEarlierTaskDoesNotWaitForALaterOne) {
  TimerQueue timers;
  std::promise<void> ran;
  timers.Add(Clock::now() + kNever, [](bool) {});
  timers.Add(Clock::now() + std::chrono::milliseconds(1), [&](bool) { ran.set_value(); });
  ran.get_future().wait();
}

TEST(TimerQueueTest, ATaskDoesNotRunBeforeItsTime) {
  TimerQueue timers;
  std::promise<Clock::time_point> ran;
  const Clock::time_point when = Clock::now() + std::chrono::milliseconds(5);
  timers.Add(when, [&](bool) { ran.set_value(Clock::now()); });
  EXPECT_GE(ran.get_future().get(), when);
}

TEST(TimerQueueTest, WhatIsLeftRunsAtTheEndAndLearnsThatItIsNotDue) {
  std::vector<bool> due;
  {
    TimerQueue timers;
    timers.Add(Clock::now() + kNever, [&](bool is_due) { due.push_back(is_due); });
    timers.Add(Clock::now() + kNever, [&](bool is_due) { due.push_back(is_due); });
  }
  EXPECT_THAT(due, ElementsAre(false, false));
}

TEST(TimerQueueTest, ACancelledTaskNeverRunsAndIsGone) {
  auto held = std::make_shared<int>();
  TimerQueue timers;
  const TimerQueue::Id id = timers.Add(Clock::now() + kNever, [held](bool) { ADD_FAILURE(); });
  EXPECT_TRUE(timers.Cancel(id));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(timers.Cancel(id));
}

TEST(TimerQueueTest, ATaskThatHasRunCannotBeCancelled) {
  TimerQueue timers;
  std::promise<void> ran;
  const TimerQueue::Id id = timers.Add(Clock::now(), [&](bool) { ran.set_value(); });
  ran.get_future().wait();
  EXPECT_FALSE(timers.Cancel(id));
}

TEST(TimerQueueTest, EveryTaskOfManyThreadsRunsOrIsCancelledOnce) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 2'000;
  std::atomic<int> ran{0};
  std::atomic<int> cancelled{0};
  {
    TimerQueue timers;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kTasks; ++i) {
          const TimerQueue::Id id =
              timers.Add(Clock::now() + std::chrono::microseconds(i % 50), [&](bool) { ++ran; });
          if ((i + t) % 2 == 0 && timers.Cancel(id)) ++cancelled;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(ran + cancelled, kThreads * kTasks);
}

TEST(TimerQueueTest, ATaskMayAddAnother) {
  TimerQueue timers;
  std::promise<void> ran;
  timers.Add(Clock::now(), [&](bool) { timers.Add(Clock::now(), [&](bool) { ran.set_value(); }); });
  ran.get_future().wait();
}

}  // namespace
}  // namespace ringshift
