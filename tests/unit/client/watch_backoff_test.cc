#include "client/watch_backoff.h"

#include <gtest/gtest.h>

namespace ringshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr double kHalf = 0.5;

TEST(WatchBackoffTest, ARouterThatAnswersOnceAndEndsTheWatchIsAskedLessAndLess) {
  WatchBackoff backoff;
  constexpr milliseconds kMoment{3};
  EXPECT_EQ(backoff.NextPause(kMoment, kHalf), milliseconds(10));
  EXPECT_EQ(backoff.NextPause(kMoment, kHalf), milliseconds(20));
  EXPECT_EQ(backoff.NextPause(kMoment, kHalf), milliseconds(40));
  for (int i = 0; i < 100; ++i) backoff.NextPause(kMoment, kHalf);
  EXPECT_EQ(backoff.NextPause(kMoment, kHalf), milliseconds(2'500));
}

TEST(WatchBackoffTest, SoIsOneThatCannotBeReached) {
  WatchBackoff backoff;
  for (int i = 0; i < 100; ++i) backoff.NextPause(nanoseconds(0), kHalf);
  EXPECT_EQ(backoff.NextPause(nanoseconds(0), kHalf), milliseconds(2'500));
}

TEST(WatchBackoffTest, AfterAWatchThatLivedAWhileThePauseIsShortAgain) {
  WatchBackoff backoff;
  for (int i = 0; i < 100; ++i) backoff.NextPause(nanoseconds(0), kHalf);
  EXPECT_EQ(backoff.NextPause(WatchBackoff::kWhile - nanoseconds(1), kHalf), milliseconds(2'500));
  EXPECT_EQ(backoff.NextPause(WatchBackoff::kWhile, kHalf), milliseconds(10));
  EXPECT_EQ(backoff.NextPause(nanoseconds(0), kHalf), milliseconds(20));
}

TEST(WatchBackoffTest, ThePauseIsAnyPartOfItsBound) {
  WatchBackoff backoff;
  EXPECT_EQ(backoff.NextPause(nanoseconds(0), 0), milliseconds(0));
  EXPECT_EQ(backoff.NextPause(nanoseconds(0), 0.25), milliseconds(10));
}

}  // namespace
}  // namespace ringshift
