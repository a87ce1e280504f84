#include "migration/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "migration/internal/rollout_text.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/rollout_testing.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using testing::ErrorGuard;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::PercentOf;
using testing::StatusIs;
using testing::StepOf;
using testing::TwoStepPlan;

TEST(RolloutPlanTest, APlanThatRaisesSharesStepByStepIsAccepted) {
  EXPECT_THAT(CheckPlan(TwoStepPlan()), IsOk());
  RolloutPlan plan = TwoStepPlan();
  plan.steps[1].share = plan.steps[0].share;  // baked once more
  plan.steps[0].bake = std::chrono::milliseconds(0);
  plan.steps[1].bake = kMaxBake;
  plan.steps[0].limits = {1, 1};
  plan.steps[1].limits = {Share::kMaxPpm, std::numeric_limits<std::int64_t>::max()};
  plan.steps[0].guards.assign(kMaxGuards, ErrorGuard(OnBad::kAbort));
  EXPECT_THAT(CheckPlan(plan), IsOk());
}

TEST(RolloutPlanTest, EachThingThatMakesNoSenseIsRefusedWithItsStep) {
  struct Case {
    std::function<void(RolloutPlan&)> spoil;
    const char* message;
  };
  const std::vector<Case> cases = {
      {[](RolloutPlan& p) { p.name = ""; }, "the name of a rollout, \"\", is not 1 to 63"},
      {[](RolloutPlan& p) { p.name = "Spring"; }, "\"Spring\", is not 1 to 63 of a-z"},
      {[](RolloutPlan& p) { p.name = std::string(64, 'a'); }, "is not 1 to 63 of a-z"},
      {[](RolloutPlan& p) { p.steps.clear(); }, "has 0 steps, not 1 to 1000"},
      {[](RolloutPlan& p) { p.steps.resize(1001, p.steps[1]); }, "has 1001 steps"},
      {[](RolloutPlan& p) { p.steps[1].data_centers = {}; }, "step 2: it has no data center"},
      {[](RolloutPlan& p) { p.steps[1].data_centers = {""}; }, "step 2: a data center has no name"},
      {[](RolloutPlan& p) {
         p.steps[1].data_centers = {"sin", "ams"};
       },
       "step 2: data centers \"sin\" and \"ams\" are not in order"},
      {[](RolloutPlan& p) {
         p.steps[1].data_centers = {"ams", "ams"};
       },
       "or the same"},
      {[](RolloutPlan& p) { p.steps[0].share = Share::None(); }, "step 1: its share is 0"},
      {[](RolloutPlan& p) { p.steps[1].share = PercentOf("9.9999"); },
       "step 2: it lowers the share of \"ams\" from 10 % to 9.9999 %"},
      {[](RolloutPlan& p) { p.steps[0].bake = std::chrono::milliseconds(-1); },
       "step 1: a bake time of -1 ms"},
      {[](RolloutPlan& p) { p.steps[0].bake = kMaxBake + std::chrono::milliseconds(1); },
       "a bake time of 2592000001 ms is not in 0 to 2592000000"},
      {[](RolloutPlan& p) { p.steps[0].guards.resize(33, p.steps[0].guards[0]); },
       "33 guards, above the limit of 32"},
      {[](RolloutPlan& p) { p.steps[0].guards[0].name = ""; }, "a guard has no name"},
      {[](RolloutPlan& p) { p.steps[0].guards[0].query = ""; },
       "a query of 0 bytes, not 1 to 4096"},
      {[](RolloutPlan& p) { p.steps[0].guards[0].query = std::string(4097, 'a'); },
       "a query of 4097 bytes"},
      {[](RolloutPlan& p) { p.steps[0].guards[0].threshold = std::nan(""); },
       "guard \"errors\" has no finite threshold"},
      {[](RolloutPlan& p) { p.steps[0].guards[0].comparison = static_cast<Comparison>(5); },
       "comparison 5"},
      {[](RolloutPlan& p) { p.steps[0].guards[0].on_bad = static_cast<OnBad>(0); }, "does 0"},
      {[](RolloutPlan& p) { p.steps[0].limits.max_churn_ppm = 0; }, "a limit of churn of 0 ppm"},
      {[](RolloutPlan& p) { p.steps[0].limits.max_churn_ppm = 1'000'001; },
       "a limit of churn of 1000001 ppm"},
      {[](RolloutPlan& p) { p.steps[0].limits.max_extra_misses_per_second = 0; },
       "a budget of 0 extra misses"}};
  for (const Case& c : cases) {
    RolloutPlan plan = TwoStepPlan();
    c.spoil(plan);
    EXPECT_THAT(CheckPlan(plan), StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(RolloutTest, ItHasTheDataCentersOfItsStepsButForThoseThatWereTakenOut) {
  Rollout rollout;
  rollout.plan = TwoStepPlan();
  rollout.taken_out = {"sin"};
  EXPECT_TRUE(rollout.Has("ams"));
  EXPECT_FALSE(rollout.Has("sin"));
  EXPECT_FALSE(rollout.Has("fra"));
}

TEST(RolloutTest, ADescriptionNamesThePhaseAndTheStep) {
  Rollout rollout;
  rollout.plan = TwoStepPlan();
  EXPECT_EQ(rollout.Describe(), "\"spring\" (pending, step 1 of 2)");
  rollout.phase = RolloutPhase::kDone;
  rollout.step = 2;
  EXPECT_EQ(rollout.Describe(), "\"spring\" (done, step 2 of 2)");
}

// With a value in each field that no other one has.
Rollout FullRollout() {
  Rollout rollout;
  rollout.plan = TwoStepPlan(OnBad::kAbort);
  rollout.plan.steps[0].limits = {1'500, std::nullopt};
  rollout.plan.steps[1].limits = {std::nullopt, 70};
  rollout.plan.steps[1].guards.push_back(
      {"a \"quoted\"\nname \xc3\xa9", "x > \\ y\n", Comparison::kAtLeast, -1.0 / 3, OnBad::kPause});
  rollout.plan.steps[1].guards.push_back({"tiny", "y", Comparison::kAbove, 5e-324, OnBad::kPause});
  rollout.phase = RolloutPhase::kHolding;
  rollout.step = 1;
  rollout.changes = 3;
  rollout.is_baking = true;
  rollout.baked = std::chrono::milliseconds(12'345);
  rollout.raised = {"ams", "sin"};
  rollout.taken_out = {"sin"};
  rollout.actor = "eva";
  rollout.reason = "line 1\nline 2";
  rollout.create_time = WallTime(std::chrono::microseconds(1'800'000'000'000'001));
  rollout.update_time = WallTime(std::chrono::microseconds(1'800'000'000'000'002));
  rollout.executor_term = 4;
  rollout.revision = 99;
  return rollout;
}

TEST(RolloutTextTest, EveryFieldIsReadBackExactly) {
  const Rollout rollout = FullRollout();
  EXPECT_THAT(
      internal::ParseRollout(internal::PlanToText(rollout.plan), internal::StateToText(rollout)),
      IsOkAndHolds(rollout));
  Rollout done = rollout;
  done.phase = RolloutPhase::kDone;
  done.step = 2;
  EXPECT_THAT(internal::ParseRollout(internal::PlanToText(done.plan), internal::StateToText(done)),
              IsOkAndHolds(done));
}

// A line that is missing, comes twice, is cut, or has another key or no value.
TEST(RolloutTextTest, ATextWithAnyLineDamagedIsDataLoss) {
  const Rollout rollout = FullRollout();
  const std::string texts[] = {internal::PlanToText(rollout.plan), internal::StateToText(rollout)};
  int damages = 0;
  for (int which = 0; which < 2; ++which) {
    const std::vector<std::string> lines = absl::StrSplit(texts[which], '\n');
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      const std::string& line = lines[i];
      const std::string key = line.substr(0, line.find(' '));
      const std::vector<std::string> damaged_lines = {"", line + "\n" + line, key, "x" + line,
                                                      key + " \\z"};
      for (const std::string& damaged : damaged_lines) {
        std::string text;
        for (std::size_t j = 0; j + 1 < lines.size(); ++j) {
          const std::string& written = j == i ? damaged : lines[j];
          if (!written.empty()) text += written + "\n";
        }
        const absl::StatusOr<Rollout> read = which == 0 ? internal::ParseRollout(text, texts[1])
                                                        : internal::ParseRollout(texts[0], text);
        EXPECT_THAT(read, StatusIs(StatusCode::kDataLoss, HasSubstr("a rollout"))) << text;
        ++damages;
      }
    }
  }
  EXPECT_GT(damages, 200);
}

TEST(RolloutTextTest, AStateOutOfRangeIsDataLoss) {
  struct Case {
    std::function<void(Rollout&)> spoil;
    const char* message;
  };
  const std::vector<Case> cases = {
      {[](Rollout& r) { r.step = 2; },
       "is at a step that it has not: holding with 2 of 2 behind it"},
      {[](Rollout& r) { r.phase = static_cast<RolloutPhase>(8); }, "has \"8\" where phase"},
      {[](Rollout& r) { r.phase = static_cast<RolloutPhase>(0); }, "has \"0\" where phase"},
      {[](Rollout& r) { r.revision = 0; }, "has \"0\" where revision"},
      {[](Rollout& r) { r.baked = std::chrono::milliseconds(-1); }, "has \"-1\" where baked_ms"},
      {[](Rollout& r) { r.baked = kMaxBake + std::chrono::milliseconds(1); },
       "rollout \"spring\" has baked 2592000001 ms"},
      {[](Rollout& r) { r.phase = RolloutPhase::kDone; }, "is at a step that it has not"},
      {[](Rollout& r) {
         r.raised = {"sin", "ams"};
       },
       "names that are not in order"},
      {[](Rollout& r) { r.raised = {"fra"}; },
       "data center \"fra\", which is in none of its steps"},
      {[](Rollout& r) { r.taken_out = {"fra"}; }, "data center \"fra\", which is in none"},
  };
  for (const Case& c : cases) {
    Rollout rollout = FullRollout();
    c.spoil(rollout);
    EXPECT_THAT(
        internal::ParseRollout(internal::PlanToText(rollout.plan), internal::StateToText(rollout)),
        StatusIs(StatusCode::kDataLoss, HasSubstr(c.message)));
  }
  RolloutPlan falling = TwoStepPlan();
  falling.steps[1].share = PercentOf("1");
  EXPECT_THAT(
      internal::ParseRollout(internal::PlanToText(falling), internal::StateToText(FullRollout())),
      StatusIs(StatusCode::kDataLoss, HasSubstr("it lowers the share")));
}

}  // namespace
}  // namespace ringshift
