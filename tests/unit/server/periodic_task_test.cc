#include "server/periodic_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/queued_task.h"

namespace ringshift {
namespace {

using Clock = std::chrono::steady_clock;

TEST(PeriodicTaskTest, ItRunsAgainAndAgain) {
  absl::Notification third;
  std::atomic<int> runs = 0;
  PeriodicTask task(std::chrono::milliseconds(1), [&] {
    if (++runs == 3) third.Notify();
  });
  third.WaitForNotification();
}

TEST(PeriodicTaskTest, ItRunsInTheMiddleOfAPauseIfItIsToldTo) {
  std::atomic<int> runs = 0;
  absl::Notification first;
  absl::Notification second;
  PeriodicTask task(std::chrono::hours(1), [&] { (++runs == 1 ? first : second).Notify(); });
  first.WaitForNotification();
  task.RunSoon();
  second.WaitForNotification();
}

TEST(PeriodicTaskTest, ToldDuringARunItRunsOnceMore) {
  std::atomic<int> runs = 0;
  absl::Notification began;
  absl::Notification go_on;
  absl::Notification again;
  PeriodicTask task(std::chrono::hours(1), [&] {
    if (++runs == 2) return again.Notify();
    began.Notify();
    go_on.WaitForNotification();
  });
  began.WaitForNotification();
  task.RunSoon();
  go_on.Notify();
  again.WaitForNotification();
}

TEST(PeriodicTaskTest, ItEndsInTheMiddleOfAPause) {
  absl::Notification ran;
  PeriodicTask task(std::chrono::hours(1), [&] { ran.Notify(); });
  ran.WaitForNotification();
  EXPECT_TRUE(task.Stop(Clock::now() + std::chrono::minutes(1)));
}

TEST(PeriodicTaskTest, ARunThatDoesNotEndIsToldInsteadOfWaitedFor) {
  absl::Notification began;
  absl::Notification go_on;
  std::atomic<int> runs = 0;
  {
    PeriodicTask task(std::chrono::milliseconds(0), [&] {
      if (++runs == 1) began.Notify();
      go_on.WaitForNotification();
    });
    began.WaitForNotification();
    EXPECT_FALSE(task.Stop(Clock::now()));
    go_on.Notify();
    EXPECT_TRUE(task.Stop(Clock::now() + std::chrono::minutes(1)));
  }
  EXPECT_EQ(runs, 1);
}

// Holds a queue until it goes.
class BusyQueue {
 public:
  explicit BusyQueue(WorkQueue& queue) {
    queue.Add({[] { return true; },
               [this]() -> WorkQueue::Deliver {
                 began_.Notify();
                 go_on_.WaitForNotification();
                 return [] {};
               },
               [](const absl::Status&) {}});
    began_.WaitForNotification();
  }
  void GoOn() { go_on_.Notify(); }

 private:
  absl::Notification began_;
  absl::Notification go_on_;
};

TEST(QueuedTaskTest, ManyPostsWhileItWaitsAreOneRun) {
  int runs = 0;
  WorkQueue queue;
  QueuedTask task("test", queue, [&] { ++runs; });
  BusyQueue busy(queue);
  for (int i = 0; i < 1000; ++i) task.Post();
  busy.GoOn();
  EXPECT_TRUE(queue.Stop(Clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(runs, 1);
}

TEST(QueuedTaskTest, APostDuringTheRunIsAnotherRun) {
  int runs = 0;
  absl::Notification second;
  WorkQueue queue;
  QueuedTask* posted = nullptr;
  QueuedTask task("test", queue, [&] {
    if (++runs == 1) posted->Post();
    if (runs == 2) second.Notify();
  });
  posted = &task;
  task.Post();
  second.WaitForNotification();
  EXPECT_TRUE(queue.Stop(Clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(runs, 2);
}

TEST(QueuedTaskTest, AFullQueueDropsTheTaskWhichCanBePostedAgain) {
  int runs = 0;
  WorkQueue queue;
  QueuedTask task("saving", queue, [&] { ++runs; });
  BusyQueue busy(queue);
  std::atomic<bool> wanted = true;
  for (std::size_t i = 0; i < WorkQueue::kMaxWaiting; ++i) {
    queue.Add({[&] { return wanted.load(); }, []() -> WorkQueue::Deliver { return [] {}; },
               [](const absl::Status&) {}});
  }
  ::testing::internal::CaptureStderr();
  task.Post();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("task=saving"));
  wanted = false;  // these make room
  task.Post();
  busy.GoOn();
  EXPECT_TRUE(queue.Stop(Clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace ringshift
