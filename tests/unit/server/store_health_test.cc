#include "server/store_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

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

TEST_F(StoreHealthTest, WhyItMayBeOldIsKnownFromTheCheckOn) {
  EXPECT_EQ(health_.stale(), std::nullopt);
  store_.SetStale("etcd is lost");
  Check();
  EXPECT_EQ(health_.stale(), "etcd is lost");
  EXPECT_EQ(StoreHealth("s", false, store_).stale(), "etcd is lost");
  store_.SetStale(std::nullopt);
  Check();
  EXPECT_EQ(health_.stale(), std::nullopt);
}

TEST_F(StoreHealthTest, AStoreThatWentBackIsLoggedAndCounted) {
  std::int64_t count = 0;
  StoreHealth health("etcd://a:1", false, store_, [&count] { return count; });
  const auto check = [&health] {
    ::testing::internal::CaptureStderr();
    health.Check();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(check(), "");
  count = 2;
  EXPECT_THAT(check(), AllOf(HasSubstr("level=warn msg=\"the store went back to an older state"),
                             HasSubstr("times=2")));
  EXPECT_EQ(health.regressions(), 2);
  EXPECT_EQ(check(), "");
}

}  // namespace
}  // namespace ringshift
