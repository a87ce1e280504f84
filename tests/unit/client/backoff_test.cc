#include "client/backoff.h"

#include <gtest/gtest.h>

namespace ringshift {
namespace {

using std::chrono::milliseconds;

constexpr Backoff kBackoff{milliseconds(5), milliseconds(500)};

TEST(BackoffTest, TheBoundDoublesUpToTheLast) {
  constexpr double kHalf = 0.5;
  EXPECT_EQ(kBackoff.Pause(1, kHalf), std::chrono::microseconds(2'500));
  EXPECT_EQ(kBackoff.Pause(2, kHalf), milliseconds(5));
  EXPECT_EQ(kBackoff.Pause(3, kHalf), milliseconds(10));
  EXPECT_EQ(kBackoff.Pause(7, kHalf), milliseconds(160));
  EXPECT_EQ(kBackoff.Pause(8, kHalf), milliseconds(250));
  EXPECT_EQ(kBackoff.Pause(9, kHalf), milliseconds(250));
}

TEST(BackoffTest, AnyNumberOfFailuresStaysWithinTheLast) {
  EXPECT_EQ(kBackoff.Pause(2'000'000'000, 0.5), milliseconds(250));
}

TEST(BackoffTest, ThePauseIsAnyPartOfTheBound) {
  EXPECT_EQ(kBackoff.Pause(1, 0), milliseconds(0));
  EXPECT_EQ(kBackoff.Pause(1, 0.2), milliseconds(1));
  EXPECT_LT(kBackoff.Pause(1, 0.999), milliseconds(5));
  EXPECT_GT(kBackoff.Pause(1, 0.999), milliseconds(4));
}

}  // namespace
}  // namespace ringshift
