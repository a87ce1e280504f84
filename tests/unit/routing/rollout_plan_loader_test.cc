#include "routing/rollout_plan_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kPlan[] = R"yaml(name: spring
guards:
  - {name: errors, query: "sum(rate(errors[1m]))", good_if: "< 0.01", on_bad: abort}
limits: {max_churn_percent: 2.5, max_extra_misses_per_second: 200}
steps:
  - {tier: canary, percent: 0.29, bake: 90s}
  - data_centers: [sin, ams]
    percent: 50
    bake: 30m
    guards:
      - {name: hits, query: "hit_ratio", good_if: ">= -1e-3", on_bad: pause}
    limits: {}
  - {all: true, percent: 100, bake: 1d, guards: []}
)yaml";

TEST(RolloutPlanLoaderTest, EveryPartOfAPlanIsRead) {
  const Guard errors{"errors", "sum(rate(errors[1m]))", Comparison::kBelow, 0.01, OnBad::kAbort};
  const Guard hits{"hits", "hit_ratio", Comparison::kAtLeast, -0.001, OnBad::kPause};
  WrittenRolloutPlan plan;
  plan.name = "spring";
  plan.steps = {
      {{{}, "canary", false},
       *Share::FromPpm(2'900),
       std::chrono::seconds(90),
       {errors},
       {25'000, 200}},
      {{{"sin", "ams"}, "", false}, *Share::FromPpm(500'000), std::chrono::minutes(30), {hits}, {}},
      {{{}, "", true}, Share::All(), std::chrono::hours(24), {}, {25'000, 200}}};
  EXPECT_THAT(ParseRolloutPlan(kPlan, "plan.yaml"), IsOkAndHolds(plan));
}

TEST(RolloutPlanLoaderTest, TheSamplePlanIsOne) {
  std::ifstream file(RINGSHIFT_SOURCE_DIR "/deploy/sample-rollout.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_OK_AND_ASSIGN(const WrittenRolloutPlan plan, ParseRolloutPlan(text, "sample"));
  EXPECT_THAT(plan.steps, SizeIs(5));
  for (const WrittenRolloutStep& step : plan.steps) EXPECT_THAT(step.guards, SizeIs(2));
  // With what the sample topology has for its selectors.
  ASSERT_OK_AND_ASSIGN(
      const RolloutPlan resolved,
      ResolvePlan(plan, [](const RolloutSelector& s) -> absl::StatusOr<std::vector<std::string>> {
        if (s.all) return std::vector<std::string>{"sin", "iad", "ams"};
        if (s.tier == "canary") return std::vector<std::string>{"ams"};
        return s.data_centers;
      }));
  EXPECT_THAT(resolved.steps[3].data_centers, ElementsAre("ams", "iad", "sin"));
  EXPECT_EQ(resolved.steps[4].share, Share::All());
  EXPECT_EQ(resolved.steps[0].limits.max_churn_ppm, 250'000);
}

TEST(RolloutPlanLoaderTest, WhatASelectorOrAPlanIsRefusedForHasItsStep) {
  const WrittenRolloutPlan plan = ParseRolloutPlan(kPlan, "plan.yaml").value();
  EXPECT_THAT(ResolvePlan(plan,
                          [](const RolloutSelector& s) -> absl::StatusOr<std::vector<std::string>> {
                            if (!s.all) return std::vector<std::string>{"ams"};
                            return absl::NotFoundError("nobody is there");
                          }),
              StatusIs(StatusCode::kNotFound, HasSubstr("step 3: nobody is there")));
  EXPECT_THAT(ResolvePlan(plan,
                          [](const RolloutSelector&) -> absl::StatusOr<std::vector<std::string>> {
                            return std::vector<std::string>{};
                          }),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("step 1: it has no data center")));
}

// Each with the place and with what is expected there.
TEST(RolloutPlanLoaderTest, WhatIsNoPlanIsRefusedWithItsPlace) {
  struct Case {
    std::string from;
    std::string to;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"name: spring", "name: Spring", "plan.yaml:1:7: name of a rollout: found \"Spring\""},
      {"name: spring\n", "", "the key name of the plan is missing"},
      {"name: spring\n", "name: spring\ncolour: red\n", "plan.yaml:2:1: unknown key of the plan"},
      {"percent: 0.29", "percent: 0", "plan.yaml:6:29: percent: found \"0\"; expected more than 0"},
      {"percent: 0.29", "percent: 100.01", "6:29: percent: found \"100.01\""},
      {"percent: 0.29", "percent: -1", "6:29: percent: found \"-1\""},
      {"percent: 0.29", "percent: nan", "6:29: percent: found \"nan\""},
      {"percent: 0.29", "percent: 1e2", "6:29: percent: found \"1e2\""},
      {"percent: 0.29", "percent: \"5\"", "percent: found the quoted text \"5\""},
      {"percent: 0.29, ", "", "the key percent of a step is missing"},
      {"bake: 90s", "bake: 90",
       "plan.yaml:6:41: bake: found \"90\"; expected a whole number and s"},
      {"bake: 90s", "bake: s", "bake: found \"s\""},
      {"bake: 90s", "bake: 1.5h", "bake: found \"1.5h\""},
      {"bake: 90s", "bake: 090s", "bake: found \"090s\""},
      {"bake: 90s", "bake: 31d", "bake: found \"31d\"; expected a whole number and s, m, h or d"},
      {"bake: 90s", "bake: 9999999999999999999d", "bake: found"},
      {"tier: canary, ", "", "6:5: a step with 0 of the keys data_centers, tier and all; expected"},
      {"tier: canary", "tier: canary, all: true", "a step with 2 of the keys"},
      {"all: true", "all: false", "13:11: all: found \"false\"; expected true"},
      {"[sin, ams]", "[]", "7:19: data_centers: found an empty list"},
      {"[sin, ams]", "[sin, sin]", "7:25: data center sin twice"},
      {"[sin, ams]", "[SIN]", "name of a data center: found \"SIN\""},
      {"\"< 0.01\"", "\"<0.01\"",
       "good_if: found the quoted text \"<0.01\"; expected \"OP NUMBER\""},
      {"\"< 0.01\"", "\"= 0.01\"", "good_if: found"},
      {"\"< 0.01\"", "\"< inf\"", "good_if: found"},
      {"\"< 0.01\"", "\"< nan\"", "good_if: found"},
      {"\"< 0.01\"", "\"< 0.01 \"", "good_if: found"},
      {"\"< 0.01\"", "\"< 1e999\"", "good_if: found"},
      {"on_bad: abort", "on_bad: panic", "on_bad: found \"panic\"; expected pause or abort"},
      {", on_bad: abort", "", "the key on_bad of a guard is missing"},
      {"\"hit_ratio\"", "\"\"", "11:29: query: found the quoted text \"\"; expected PromQL"},
      {"guards: []", "guards: none", "guards: found \"none\"; expected a list of up to 32 guards"},
      {"max_churn_percent: 2.5", "max_churn_percent: 0", "max_churn_percent: found \"0\""},
      {"second: 200", "second: 0", "max_extra_misses_per_second: found \"0\""},
      {"second: 200", "second: 1.5", "max_extra_misses_per_second: found \"1.5\""},
  };
  for (const Case& c : cases) {
    std::string text = kPlan;
    const std::size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, c.from.size(), c.to);
    EXPECT_THAT(ParseRolloutPlan(text, "plan.yaml"),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("plan.yaml:"), HasSubstr(c.message))));
  }
  EXPECT_THAT(ParseRolloutPlan("name: spring\nsteps: []\n", "plan.yaml"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("plan.yaml:2:8: steps: found an empty list; expected a list of")));
  EXPECT_THAT(ParseRolloutPlan(std::string(kMaxRolloutPlanBytes + 1, ' '), "plan.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a plan of 1048577 bytes")));
}

TEST(RolloutPlanLoaderTest, TheLongestBakeIsThirtyDaysInEveryUnit) {
  for (const char* bake : {"30d", "720h", "43200m", "2592000s"}) {
    const std::string text =
        absl::StrCat("name: a\nsteps:\n  - {all: true, percent: 1, bake: ", bake, "}\n");
    ASSERT_OK_AND_ASSIGN(const WrittenRolloutPlan plan, ParseRolloutPlan(text, "plan.yaml"));
    EXPECT_EQ(plan.steps[0].bake, kMaxBake);
  }
}

}  // namespace
}  // namespace ringshift
