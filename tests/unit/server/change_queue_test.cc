#include "server/change_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ChangeTo;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::chrono::steady_clock::time_point Never() {
  return std::chrono::steady_clock::now() + std::chrono::hours(1);
}

class ChangeQueueTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override { Adopt(); }
  void TearDown() override { store_.Unblock(); }

  // Its result is there when it is done. It is wanted while `wanted` says so.
  std::future<ChangeQueue::Result> Add(
      std::int64_t ppm,
      std::shared_ptr<std::atomic<bool>> wanted = std::make_shared<std::atomic<bool>>(true)) {
    auto result = std::make_shared<std::promise<ChangeQueue::Result>>();
    queue_.Add({ChangeTo(ppm), [wanted] { return wanted->load(); },
                [result](ChangeQueue::Result changed) { result->set_value(std::move(changed)); }});
    return result->get_future();
  }

  // One change is being made until Unblock.
  std::future<ChangeQueue::Result> AddBlocked(std::int64_t ppm) {
    store_.Block();
    auto result = Add(ppm);
    store_.WaitUntilBlocked();
    return result;
  }

  ChangeQueue queue_{controller_};
};

TEST_F(ChangeQueueTest, ChangesAreMadeInTheirOrder) {
  std::vector<std::future<ChangeQueue::Result>> results;
  results.push_back(AddBlocked(1));
  for (int ppm = 2; ppm <= 50; ++ppm) results.push_back(Add(ppm));
  store_.Unblock();
  for (int i = 0; i < 50; ++i) {
    const ChangeQueue::Result result = results[static_cast<std::size_t>(i)].get();
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->previous.ppm(), i);
    EXPECT_EQ(result->table->share().ppm(), i + 1);
  }
}

TEST_F(ChangeQueueTest, AboveTheLimitAChangeIsRefusedAtOnce) {
  auto first = AddBlocked(1);
  std::vector<std::future<ChangeQueue::Result>> waiting;
  for (std::size_t i = 0; i < ChangeQueue::kMaxWaiting; ++i) waiting.push_back(Add(2));
  EXPECT_THAT(Add(999).get(), StatusIs(absl::StatusCode::kResourceExhausted,
                                       AllOf(HasSubstr("64 changes"), HasSubstr("try again"))));
  store_.Unblock();
  EXPECT_THAT(first.get(), IsOk());
  for (auto& each : waiting) EXPECT_THAT(each.get(), IsOk());
  EXPECT_THAT(Add(3).get(), IsOk());
  EXPECT_EQ(Table("ams")->share().ppm(), 3);
}

TEST_F(ChangeQueueTest, AChangeThatNobodyWaitsForAnyMoreIsNotMade) {
  auto first = AddBlocked(1);
  const auto wanted = std::make_shared<std::atomic<bool>>(true);
  auto second = Add(500'000, wanted);
  *wanted = false;
  auto third = Add(2);
  store_.Unblock();
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(second.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("not made")));
  const ChangeQueue::Result last = third.get();
  ASSERT_THAT(last, IsOk());
  EXPECT_EQ(last->previous.ppm(), 1);
}

TEST_F(ChangeQueueTest, WhatNobodyWaitsForTakesNoPlace) {
  auto first = AddBlocked(1);
  const auto wanted = std::make_shared<std::atomic<bool>>(true);
  std::vector<std::future<ChangeQueue::Result>> waiting;
  for (std::size_t i = 0; i < ChangeQueue::kMaxWaiting; ++i) waiting.push_back(Add(2, wanted));
  *wanted = false;
  auto last = Add(3);
  for (auto& each : waiting) {
    EXPECT_THAT(each.get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("not made")));
  }
  store_.Unblock();
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(last.get(), IsOk());
}

TEST_F(ChangeQueueTest, StopWaitsForWhatCanBeMade) {
  auto first = AddBlocked(1);
  auto second = Add(2);
  auto stopped = std::async(std::launch::async, [this] { return queue_.Stop(Never()); });
  store_.Unblock();
  EXPECT_TRUE(stopped.get());
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(second.get(), IsOk());
  EXPECT_THAT(Add(3).get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopping")));
}

TEST_F(ChangeQueueTest, StopEndsEveryRequestAtItsDeadline) {
  auto first = AddBlocked(1);
  auto second = Add(2);
  EXPECT_FALSE(queue_.Stop(std::chrono::steady_clock::now()));
  EXPECT_THAT(first.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("being made")));
  EXPECT_THAT(second.get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was not made")));
  store_.Unblock();
  EXPECT_TRUE(queue_.Stop(Never()));
  EXPECT_EQ(Table("ams")->share().ppm(), 1);
}

}  // namespace
}  // namespace ringshift
