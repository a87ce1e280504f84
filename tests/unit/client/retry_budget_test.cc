#include "client/retry_budget.h"

#include <gtest/gtest.h>

namespace ringshift {
namespace {

int TakeAll(RetryBudget& budget) {
  int taken = 0;
  while (budget.TakeRetry()) ++taken;
  return taken;
}

TEST(RetryBudgetTest, ANewOneIsFull) {
  RetryBudget budget;
  EXPECT_EQ(TakeAll(budget), 100);
  EXPECT_FALSE(budget.TakeRetry());
}

TEST(RetryBudgetTest, TenCallsPayForOneRetry) {
  RetryBudget budget;
  TakeAll(budget);
  for (int i = 0; i < 9; ++i) budget.OnCall();
  EXPECT_FALSE(budget.TakeRetry());
  budget.OnCall();
  EXPECT_TRUE(budget.TakeRetry());
  EXPECT_FALSE(budget.TakeRetry());
}

TEST(RetryBudgetTest, WhereAllCallsFailATenthIsSentAgain) {
  RetryBudget budget;
  TakeAll(budget);
  int retries = 0;
  for (int i = 0; i < 10'000; ++i) {
    budget.OnCall();
    if (budget.TakeRetry()) ++retries;
  }
  EXPECT_EQ(retries, 1'000);
}

TEST(RetryBudgetTest, ItDoesNotHoldMoreThanAHundred) {
  RetryBudget budget;
  for (int i = 0; i < 10'000; ++i) budget.OnCall();
  EXPECT_EQ(TakeAll(budget), 100);
}

}  // namespace
}  // namespace ringshift
