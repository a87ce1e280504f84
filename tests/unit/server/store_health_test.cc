#include "server/store_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/unit/server/memory_store.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class StoreHealthTest : public ::testing::Test {
 protected:
  // Runs Check and returns what it logs.
  std::string Check() {
    ::testing::internal::CaptureStderr();
    health_.Check();
    return ::testing::internal::GetCapturedStderr();
  }

  testing::MemoryStore store_;
  StoreHealth health_{"sqlite:/s.db", /*was_created=*/true, store_};
};

TEST_F(StoreHealthTest, AStoreThatWasOpenedIsUp) {
  EXPECT_THAT(health_.status(), IsOk());
  EXPECT_EQ(health_.name(), "sqlite:/s.db");
  EXPECT_TRUE(health_.was_created());
}

TEST_F(StoreHealthTest, EachChangeIsLoggedOnce) {
  EXPECT_EQ(Check(), "");
  store_.FailWritesWith(absl::UnavailableError("the disk is full"));
  EXPECT_THAT(Check(), AllOf(HasSubstr("level=error msg=\"the store is down"),
                             HasSubstr("store=sqlite:/s.db error=\"the disk is full\"")));
  EXPECT_THAT(health_.status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_EQ(Check(), "");
  store_.FailWritesWith(absl::OkStatus());
  EXPECT_THAT(Check(), HasSubstr("level=info msg=\"the store is up again\" store=sqlite:/s.db"));
  EXPECT_THAT(health_.status(), IsOk());
  EXPECT_EQ(Check(), "");
}

}  // namespace
}  // namespace ringshift
