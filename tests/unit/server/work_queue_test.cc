#include "server/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/low_priority.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::chrono::steady_clock::time_point Never() {
  return std::chrono::steady_clock::now() + std::chrono::hours(1);
}

class WorkQueueTest : public ::testing::Test {
 protected:
  // A request fails the test if it is ended twice.
  using Ended = std::future<absl::Status>;

  ~WorkQueueTest() override { Unblock(); }

  // Appends `number` to done_; OK once delivered. It is wanted while `wanted` says so.
  Ended Add(int number,
            std::shared_ptr<std::atomic<bool>> wanted = std::make_shared<std::atomic<bool>>(true)) {
    return Add(std::move(wanted), [this, number] { done_.push_back(number); });
  }

  // As Add, and it is being done until Unblock.
  Ended AddBlocked(int number) {
    auto started = std::make_shared<absl::Notification>();
    Ended ended = Add(std::make_shared<std::atomic<bool>>(true), [this, number, started] {
      started->Notify();
      unblocked_.WaitForNotification();
      done_.push_back(number);
    });
    started->WaitForNotification();
    return ended;
  }

  void Unblock() {
    if (!unblocked_.HasBeenNotified()) unblocked_.Notify();
  }

  absl::Notification unblocked_;
  std::vector<int> done_;  // by the queue's thread
  WorkQueue queue_;

 private:
  Ended Add(std::shared_ptr<std::atomic<bool>> wanted, std::function<void()> work) {
    auto ended = std::make_shared<std::promise<absl::Status>>();
    queue_.Add({[wanted = std::move(wanted)] { return wanted->load(); },
                [ended, work = std::move(work)]() -> WorkQueue::Deliver {
                  work();
                  return [ended] { ended->set_value(absl::OkStatus()); };
                },
                [ended](const absl::Status& status) { ended->set_value(status); }});
    return ended->get_future();
  }
};

TEST_F(WorkQueueTest, WorkIsDoneInItsOrder) {
  std::vector<Ended> ended;
  std::vector<int> wanted;
  ended.push_back(AddBlocked(0));
  for (int i = 1; i < 50; ++i) ended.push_back(Add(i));
  for (int i = 0; i < 50; ++i) wanted.push_back(i);
  Unblock();
  for (Ended& each : ended) EXPECT_THAT(each.get(), IsOk());
  EXPECT_EQ(done_, wanted);
}

TEST_F(WorkQueueTest, AboveTheLimitARequestIsRefusedAtOnce) {
  Ended first = AddBlocked(0);
  std::vector<Ended> waiting;
  for (std::size_t i = 0; i < WorkQueue::kMaxWaiting; ++i) waiting.push_back(Add(1));
  EXPECT_THAT(Add(999).get(), StatusIs(absl::StatusCode::kResourceExhausted,
                                       AllOf(HasSubstr("64 calls"), HasSubstr("try again"))));
  Unblock();
  EXPECT_THAT(first.get(), IsOk());
  for (Ended& each : waiting) EXPECT_THAT(each.get(), IsOk());
  EXPECT_THAT(Add(2).get(), IsOk());
  EXPECT_EQ(done_.back(), 2);
  EXPECT_EQ(done_.size(), WorkQueue::kMaxWaiting + 2);
}

TEST_F(WorkQueueTest, WhatNobodyWaitsForAnyMoreIsNotDone) {
  Ended first = AddBlocked(0);
  const auto wanted = std::make_shared<std::atomic<bool>>(true);
  Ended second = Add(1, wanted);
  *wanted = false;
  Ended third = Add(2);
  Unblock();
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(second.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("nothing was done")));
  EXPECT_THAT(third.get(), IsOk());
  EXPECT_THAT(done_, ::testing::ElementsAre(0, 2));
}

TEST_F(WorkQueueTest, WhatNobodyWaitsForTakesNoPlace) {
  Ended first = AddBlocked(0);
  const auto wanted = std::make_shared<std::atomic<bool>>(true);
  std::vector<Ended> waiting;
  for (std::size_t i = 0; i < WorkQueue::kMaxWaiting; ++i) waiting.push_back(Add(1, wanted));
  *wanted = false;
  Ended last = Add(2);
  for (Ended& each : waiting) {
    EXPECT_THAT(each.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("nothing was done")));
  }
  Unblock();
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(last.get(), IsOk());
}

TEST_F(WorkQueueTest, StopWaitsForWhatCanBeDone) {
  Ended first = AddBlocked(0);
  Ended second = Add(1);
  auto stopped = std::async(std::launch::async, [this] { return queue_.Stop(Never()); });
  Unblock();
  EXPECT_TRUE(stopped.get());
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(second.get(), IsOk());
  EXPECT_THAT(Add(2).get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopping")));
}

TEST_F(WorkQueueTest, StopEndsEveryRequestAtItsDeadline) {
  Ended first = AddBlocked(0);
  Ended second = Add(1);
  EXPECT_FALSE(queue_.Stop(std::chrono::steady_clock::now()));
  EXPECT_THAT(first.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("being done")));
  EXPECT_THAT(second.get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nothing was done")));
  Unblock();
  EXPECT_TRUE(queue_.Stop(Never()));
  EXPECT_THAT(done_, ::testing::ElementsAre(0));
}

// When it was begun.
std::future<std::chrono::steady_clock::time_point> AddTimed(WorkQueue& queue) {
  auto begun = std::make_shared<std::promise<std::chrono::steady_clock::time_point>>();
  queue.Add({.is_wanted = [] { return true; },
             .work = [begun]() -> WorkQueue::Deliver {
               begun->set_value(std::chrono::steady_clock::now());
               return nullptr;
             },
             .refuse = [](const absl::Status&) {}});
  return begun->get_future();
}

TEST(PacedWorkQueueTest, WorkIsBegunInItsPace) {
  constexpr std::chrono::milliseconds kPace{20};
  WorkQueue queue(kPace);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::future<std::chrono::steady_clock::time_point>> begun;
  for (int i = 0; i < 4; ++i) begun.push_back(AddTimed(queue));
  // From the start: the work itself may see its own beginning late, and the next one in time.
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(begun[static_cast<std::size_t>(i)].get() - start, i * kPace);
  }
}

TEST(PacedWorkQueueTest, NoWorkOfAStopWaitsForThePace) {
  constexpr std::chrono::seconds kPace{2};
  WorkQueue queue(kPace);
  AddTimed(queue).wait();
  auto second = AddTimed(queue);
  auto third = AddTimed(queue);
  EXPECT_TRUE(queue.Stop(Never()));
  EXPECT_LT(third.get() - second.get(), kPace);
}

TEST(WorkQueuePriorityTest, WorkAndItsThreadsGiveWayToOthers) {
  // setpriority and getpriority are of a thread here.
  const auto nice = [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); };
  const int own = nice();
  if (own > kNiceAfterCalls) GTEST_SKIP() << "the test itself has nice " << own;
  std::promise<std::vector<int>> seen;
  WorkQueue queue;
  queue.Add({.is_wanted = [] { return true; },
             .work = [&]() -> WorkQueue::Deliver {
               std::vector<int> values{nice()};
               std::thread([&] { values.push_back(nice()); }).join();
               seen.set_value(values);
               return nullptr;
             },
             .refuse = [](const absl::Status&) {}});
  EXPECT_THAT(seen.get_future().get(), ElementsAre(kNiceAfterCalls, kNiceAfterCalls));
  EXPECT_EQ(nice(), own);
}

}  // namespace
}  // namespace ringshift
