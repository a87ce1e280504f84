#include "client/ejection.h"

#include <gtest/gtest.h>

namespace ringshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Ejection::Time kStart{};

Ejection Ejected() {
  Ejection ejection;
  for (int i = 0; i < Ejection::kTimeoutsInARow; ++i) ejection.OnTimeout(kStart);
  return ejection;
}

TEST(EjectionTest, FiveTimeoutsInARowAreWhatItTakes) {
  Ejection ejection;
  for (int i = 0; i < 4; ++i) ejection.OnTimeout(kStart);
  EXPECT_TRUE(ejection.MayTake(kStart));
  ejection.OnTimeout(kStart);
  EXPECT_FALSE(ejection.MayTake(kStart));
}

TEST(EjectionTest, AnAnswerInBetweenStartsTheCountAnew) {
  Ejection ejection;
  for (int i = 0; i < 100; ++i) {
    ejection.OnTimeout(kStart);
    if (i % 4 == 3) ejection.OnAnswer();
  }
  EXPECT_TRUE(ejection.MayTake(kStart));
}

TEST(EjectionTest, ItGetsOneCallAPauseAndThePausesDoubleUpToThirtySeconds) {
  Ejection ejection = Ejected();
  Ejection::Time now = kStart;
  for (const seconds pause :
       {seconds(1), seconds(2), seconds(4), seconds(8), seconds(16), seconds(30), seconds(30)}) {
    EXPECT_FALSE(ejection.MayTake(now + pause - milliseconds(1))) << pause.count();
    now += pause;
    EXPECT_TRUE(ejection.MayTake(now)) << pause.count();
    ejection.OnSent(now);
    EXPECT_FALSE(ejection.MayTake(now)) << pause.count();
  }
}

TEST(EjectionTest, AnyAnswerEndsIt) {
  Ejection ejection = Ejected();
  ejection.OnSent(kStart + seconds(1));
  ejection.OnAnswer();
  EXPECT_TRUE(ejection.MayTake(kStart));
  for (int i = 0; i < 4; ++i) ejection.OnTimeout(kStart);
  EXPECT_TRUE(ejection.MayTake(kStart));
  ejection.OnTimeout(kStart);
  EXPECT_FALSE(ejection.MayTake(kStart + milliseconds(999)));
  EXPECT_TRUE(ejection.MayTake(kStart + seconds(1)));
}

TEST(EjectionTest, CallsThatGoThereForLackOfAnotherRouterDoNotProlongIt) {
  Ejection ejection = Ejected();
  for (int i = 0; i < 100; ++i) {
    ejection.OnSent(kStart + milliseconds(500));
    ejection.OnTimeout(kStart + milliseconds(999));
  }
  EXPECT_TRUE(ejection.MayTake(kStart + seconds(1)));
}

}  // namespace
}  // namespace ringshift
