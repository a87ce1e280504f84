#include "server/log_throttle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace ringshift {
namespace {

TEST(LogThrottleTest, OneLineASecondSaysHowManyWereLeftOut) {
  using std::chrono::milliseconds;
  LogThrottle throttle;
  const LogThrottle::Time start{};
  EXPECT_EQ(throttle.Admit(start), 0u);
  EXPECT_EQ(throttle.Admit(start), std::nullopt);
  EXPECT_EQ(throttle.Admit(start + milliseconds(999)), std::nullopt);
  EXPECT_EQ(throttle.Admit(start + milliseconds(1000)), 2u);
  EXPECT_EQ(throttle.Admit(start + milliseconds(1500)), std::nullopt);
  EXPECT_EQ(throttle.Admit(start + milliseconds(5000)), 1u);
  EXPECT_EQ(throttle.Admit(start + milliseconds(6000)), 0u);
}

}  // namespace
}  // namespace ringshift
