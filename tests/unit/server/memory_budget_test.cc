#include "server/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/unit/server/fake_files.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::FakeFiles;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Bytes(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

// A system that lets a process have `room` bytes more.
FakeFiles System(std::uint64_t room) {
  const std::uint64_t limit = 2 * room + 64;
  FakeFiles files;
  files.Set("/proc/self/cgroup", "0::/\n")
      .Set("/proc/self/mountinfo", "27 23 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
      .Set("/sys/fs/cgroup/memory.max", std::to_string(limit))
      .Set("/sys/fs/cgroup/memory.current", std::to_string(limit - limit / 64 - room));
  return files;
}

class MemoryBudgetTest : public ::testing::Test {
 protected:
  const DataCenterSpec ams_ = SmallDataCenter("ams");
  const BuildMemory memory_ = DataCenter::MeasureBuild(ams_).value();
  const FakeFiles no_limits_{};
};

TEST_F(MemoryBudgetTest, WithoutLimitsEverythingFits) {
  const MemoryBudget budget(std::nullopt, no_limits_.Reader());
  EXPECT_THAT(budget.CheckChange(ams_, nullptr), IsOk());
  EXPECT_THAT(budget.CheckRestart(ams_), IsOk());
  EXPECT_THAT(budget.CheckFirstStart({ams_}), IsOk());
}

TEST_F(MemoryBudgetTest, BuildMemoryBoundsThePeakOfAChangeToTheByte) {
  const std::uint64_t peak = memory_.peak_bytes;
  EXPECT_THAT(MemoryBudget(peak, no_limits_.Reader()).CheckChange(ams_, nullptr), IsOk());
  EXPECT_THAT(MemoryBudget(peak - 1, no_limits_.Reader()).CheckChange(ams_, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("data center ams"), HasSubstr(Bytes(peak)),
                             HasSubstr("--build-memory is " + Bytes(peak - 1)))));
}

TEST_F(MemoryBudgetTest, RingsThatAreKeptAreNotCounted) {
  const auto served = Built(ams_);
  const MemoryBudget budget(1, no_limits_.Reader());
  DataCenterSpec spec = ams_;
  spec.tier = "large";
  EXPECT_THAT(budget.CheckChange(spec, served.get()), IsOk());
  spec.v2.points_per_weight = 17;
  const std::uint64_t v2 = DataCenter::MeasureBuild(spec, served.get()).value().peak_bytes;
  ASSERT_LT(v2, memory_.peak_bytes);
  EXPECT_THAT(budget.CheckChange(spec, served.get()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(Bytes(v2))));
}

TEST_F(MemoryBudgetTest, TheSystemBoundsThePeakAndIsNamed) {
  const FakeFiles enough = System(memory_.peak_bytes);
  EXPECT_THAT(MemoryBudget(std::nullopt, enough.Reader()).CheckChange(ams_, nullptr), IsOk());
  const FakeFiles less = System(memory_.peak_bytes - 1);
  for (const absl::Status& refused :
       {MemoryBudget(std::nullopt, less.Reader()).CheckChange(ams_, nullptr),
        MemoryBudget(memory_.peak_bytes, less.Reader()).CheckChange(ams_, nullptr)}) {
    EXPECT_THAT(refused,
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("data center ams"), HasSubstr(Bytes(memory_.peak_bytes)),
                               HasSubstr("/sys/fs/cgroup/memory.max leaves "))));
  }
}

TEST_F(MemoryBudgetTest, TheSmallerOfTwoLimitsIsTheOneThatIsNamed) {
  const FakeFiles system = System(1000);
  EXPECT_THAT(MemoryBudget(500, system.Reader()).CheckChange(ams_, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--build-memory is 500")));
  EXPECT_THAT(MemoryBudget(2000, system.Reader()).CheckChange(ams_, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memory.max")));
}

TEST_F(MemoryBudgetTest, ARestartIsBoundByTheSystemAlone) {
  const FakeFiles enough = System(memory_.peak_bytes);
  EXPECT_THAT(MemoryBudget(1, enough.Reader()).CheckRestart(ams_), IsOk());
  const FakeFiles less = System(memory_.peak_bytes - 1);
  EXPECT_THAT(MemoryBudget(1, less.Reader()).CheckRestart(ams_),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("data center ams"), HasSubstr("memory.max"))));
}

TEST_F(MemoryBudgetTest, AFirstStartIsBoundByEachAndByAllTogether) {
  const DataCenterSpec fra = SmallDataCenter("fra");
  const std::uint64_t both = memory_.ring_bytes + memory_.peak_bytes;
  const FakeFiles enough = System(both);
  EXPECT_THAT(MemoryBudget(memory_.peak_bytes, enough.Reader()).CheckFirstStart({ams_, fra}),
              IsOk());
  const FakeFiles less = System(both - 1);
  EXPECT_THAT(MemoryBudget(std::nullopt, less.Reader()).CheckFirstStart({ams_}), IsOk());
  EXPECT_THAT(MemoryBudget(std::nullopt, less.Reader()).CheckFirstStart({ams_, fra}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("data center fra"), HasSubstr(Bytes(both)),
                             HasSubstr("memory.max"))));
  EXPECT_THAT(
      MemoryBudget(memory_.peak_bytes - 1, no_limits_.Reader()).CheckFirstStart({ams_, fra}),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr("data center ams"), HasSubstr("--build-memory"))));
}

TEST_F(MemoryBudgetTest, ADataCenterThatCannotBeMeasuredIsRefusedAsItsBuildWouldBe) {
  DataCenterSpec spec = ams_;
  spec.v2.points_per_weight = 0;
  const MemoryBudget budget(std::nullopt, no_limits_.Reader());
  const auto matcher =
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("data center ams: ring v2"), HasSubstr("points_per_weight 0")));
  EXPECT_THAT(DataCenter::Build(spec), matcher);
  EXPECT_THAT(budget.CheckChange(spec, nullptr), matcher);
  EXPECT_THAT(budget.CheckRestart(spec), matcher);
  EXPECT_THAT(budget.CheckFirstStart({spec}), matcher);
}

}  // namespace
}  // namespace ringshift
