#include "client/ringctl/ring_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "client/ringctl/ring_plan_view.h"
#include "ring/churn.h"
#include "ring/crc32.h"
#include "ring/ownership.h"
#include "ring/ring_identity.h"
#include "routing/data_center.h"
#include "tests/unit/client/ringctl/offline_testing.h"
#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeDataCenter;
using ::ringshift::testing::Printed;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

OfflineDataCenter TwentyNodes(const std::string& rings = "") {
  std::vector<std::string> nodes;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    nodes.push_back("{name: n" + n + ", address: \"10.0.1." + n + ":443\", weight: 10}");
  }
  return MakeDataCenter(nodes, rings);
}

RingPlan Plan(const OfflineDataCenter& data_center, const PlanGoal& goal = {}) {
  const RingParameters today = data_center.spec.v1 ? *data_center.spec.v1 : data_center.spec.v2;
  return PlanRings(data_center, today, goal).value();
}

// An option as it could have been measured: `bytes` in the smallest layout, twice that in the
// others.
PlanOption Option(std::uint32_t points_per_weight, std::uint64_t bytes, double cv,
                  double predicted_cv) {
  PlanOption option;
  option.points_per_weight = points_per_weight;
  option.points = 1000 * std::uint64_t{points_per_weight};
  option.layout_bytes.fill(2 * bytes);
  option.layout_bytes.back() = bytes;
  option.cv = cv;
  option.predicted.cv = predicted_cv;
  option.moved_ratio = 0.9;
  return option;
}

// Today's ring is v1 of 160 points a weight, 1,600 bytes and CV 0.003.
RingPlan PlanOf(const PlanGoal& goal, const std::vector<PlanOption>& options) {
  RingPlan plan;
  plan.data_center = "ams";
  plan.today = {RingVersion::kV1, 160, kRingLayouts[0]};
  plan.today_bytes = 1600;
  plan.goal = goal;
  plan.options.push_back(Option(160, 800, 0.003, 0.003));
  plan.options.front().version = RingVersion::kV1;
  plan.options.front().moved_ratio = 0;
  plan.options.insert(plan.options.end(), options.begin(), options.end());
  Recommend(plan);
  return plan;
}

TEST(RingPlanTest, TheMemoryOfTheLayoutThatIsBuiltIsMeasuredAlsoWhereHashesAreCrowded) {
  // Nodes of one point each, all in the lowest quarter of the hash space.
  std::vector<std::string> nodes;
  for (int i = 0; nodes.size() < 400; ++i) {
    const std::string address =
        "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ":443";
    const auto identity = RingIdentity::Parse(address, IdentityStyle::kCanonical).value();
    if (Crc32(std::string(identity.bytes()) + std::string(4, '\0')) >> 30 != 0) continue;
    nodes.push_back("{name: n" + std::to_string(i) + ", address: \"" + address + "\", weight: 1}");
  }
  const OfflineDataCenter data_center =
      MakeDataCenter(nodes, "    rings: {v1: {points_per_weight: 1, layout: dense}}\n");
  const auto ring = Ring::Build(data_center.nodes, *data_center.spec.v1).value();
  ASSERT_GT(ring->memory_bytes(), Ring::Measure(*data_center.nodes, *data_center.spec.v1)->bytes);
  const RingPlan plan = Plan(data_center);
  EXPECT_EQ(plan.options[0].layout_bytes.back(), ring->memory_bytes());
  EXPECT_EQ(plan.today_bytes, ring->memory_bytes());
  EXPECT_FALSE(plan.has_pool_rings);
}

TEST(RingPlanTest, TheMemoryIsWithTheRingsThatSparsePoolsHaveOfTheirOwn) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 1200; ++i) {
    nodes.push_back("{name: n" + std::to_string(i) + ", address: \"10.0." +
                    std::to_string(i / 256) + "." + std::to_string(i % 256) + ":443\", weight: 1" +
                    (i == 7 ? ", features: [one]}" : "}"));
  }
  const OfflineDataCenter data_center =
      MakeDataCenter(nodes, "    pools:\n      - {name: one, required_features: [one]}\n");
  const RingPlan plan = Plan(data_center, {.cv = {}, .bytes = 100'000});
  EXPECT_TRUE(plan.has_pool_rings);
  const auto built =
      DataCenter::Build(data_center.spec).value()->v1()->memory_bytes();  // in layout wide
  EXPECT_EQ(plan.today_bytes, built);
  for (const PlanOption& option : plan.options) {
    const RingParameters parameters = {option.version, option.points_per_weight,
                                       kRingLayouts[option.smallest_layout()]};
    DataCenterSpec spec = data_center.spec;
    (option.version == RingVersion::kV1 ? *spec.v1 : spec.v2) = parameters;
    const auto data_center_of_option = DataCenter::Build(spec).value();
    EXPECT_EQ(option.smallest_bytes(), option.version == RingVersion::kV1
                                           ? data_center_of_option->v1()->memory_bytes()
                                           : data_center_of_option->v2()->memory_bytes());
    EXPECT_GT(option.smallest_bytes(), Ring::Measure(*data_center.nodes, parameters)->bytes);
  }
  EXPECT_THAT(Printed([&](Output& output) { PrintPlan(plan, output); }),
              HasSubstr("The memory is with the small rings of sparse pools"));
}

TEST(RingPlanTest, EveryFigureOfARowIsThatOfItsRing) {
  const OfflineDataCenter data_center = TwentyNodes();
  const RingPlan plan = Plan(data_center);
  EXPECT_EQ(plan.nodes, 20U);
  EXPECT_EQ(plan.total_weight, 200U);
  EXPECT_EQ(plan.options[0].version, RingVersion::kV1);
  EXPECT_EQ(plan.options[0].points_per_weight, 160U);
  EXPECT_EQ(plan.options[0].moved_ratio, 0);
  const auto today = Ring::Build(data_center.nodes, *data_center.spec.v1).value();
  EXPECT_EQ(plan.today_bytes, today->memory_bytes());
  const NodeMask all = NodeMask::All(20);
  for (const PlanOption& option : plan.options) {
    for (std::size_t i = 0; i < std::size(kRingLayouts); ++i) {
      const RingParameters parameters{option.version, option.points_per_weight, kRingLayouts[i]};
      const auto ring = Ring::Build(data_center.nodes, parameters).value();
      EXPECT_EQ(option.points, ring->point_count());
      EXPECT_EQ(option.layout_bytes[i], ring->memory_bytes());
      EXPECT_EQ(option.collisions, ring->collision_count());
      EXPECT_EQ(option.cv, MeasureOwnership(*ring).cv);
      EXPECT_EQ(option.max_ratio, MeasureOwnership(*ring).max_ratio);
      EXPECT_EQ(option.predicted.cv, PredictBalance(*data_center.nodes, parameters).cv);
      EXPECT_EQ(option.moved_ratio, MeasureChurn({*today, all}, {*ring, all},
                                                 MatchNodes(*data_center.nodes, *data_center.nodes))
                                        .moved_ratio());
    }
  }
}

TEST(RingPlanTest, TheRingOfTheFileIsAmongThemAndTheyAreInOrder) {
  for (const PlanGoal& goal : {PlanGoal{}, PlanGoal{0.05, {}}, PlanGoal{{}, 100'000}}) {
    const RingPlan plan = Plan(TwentyNodes(), goal);
    EXPECT_TRUE(std::any_of(plan.options.begin() + 1, plan.options.end(),
                            [](const PlanOption& o) { return o.points_per_weight == 16; }));
    EXPECT_GE(plan.options.size(), 4U);
    for (std::size_t i = 2; i < plan.options.size(); ++i) {
      EXPECT_LT(plan.options[i - 1].points, plan.options[i].points);
    }
  }
}

TEST(RingPlanTest, WithoutAGoalItIsOnePercentOrTodaysCv) {
  const RingPlan uneven = Plan(TwentyNodes());
  EXPECT_GT(uneven.options[0].cv, 0.01);
  EXPECT_EQ(uneven.goal.cv, uneven.options[0].cv);
  const RingPlan even = Plan(TwentyNodes("    rings:\n      v1: {points_per_weight: 3000}\n"));
  EXPECT_LT(even.options[0].cv, 0.01);
  EXPECT_EQ(even.goal.cv, 0.01);
}

TEST(RingPlanTest, ATargetCvIsReachedInTheoryAndMeasured) {
  for (const double target : {0.2, 0.05, 0.02, 0.01}) {
    const OfflineDataCenter data_center =
        TwentyNodes("    rings:\n      v1: {points_per_weight: 2}\n");
    const RingPlan plan = Plan(data_center, {target, {}});
    ASSERT_TRUE(plan.recommended) << target;
    const PlanOption& taken = plan.options[plan.recommended->option];
    EXPECT_LE(taken.cv, target);
    if (plan.recommended->option == 0) continue;
    EXPECT_LE(taken.predicted.cv, target);
    // Half of its points would not do.
    const RingParameters half{RingVersion::kV2, taken.points_per_weight / 2, kRingLayouts[0]};
    const auto ring = Ring::Build(data_center.nodes, half).value();
    EXPECT_TRUE(PredictBalance(*data_center.nodes, half).cv > target ||
                MeasureOwnership(*ring).cv > target);
  }
}

TEST(RingPlanTest, WhatIsOutOfReachIsNotBuilt) {
  const RingPlan plan = Plan(TwentyNodes(), {1e-9, {}});
  EXPECT_FALSE(plan.recommended);
  EXPECT_EQ(plan.options.size(), 2U);  // today's ring and that of the file
}

TEST(RingPlanTest, ARingFitsIntoTheMemoryThatThereIs) {
  for (const std::uint64_t bytes : {4'000U, 20'000U, 150'000U}) {
    const RingPlan plan = Plan(TwentyNodes(), {{}, bytes});
    ASSERT_TRUE(plan.recommended) << bytes;
    EXPECT_LE(plan.recommended->bytes, bytes);
    EXPECT_FALSE(plan.next);
  }
  EXPECT_FALSE(Plan(TwentyNodes(), {{}, 10}).recommended);
}

TEST(RingPlanTest, FirstComesWhatMovesNoKeyThenWhatIsSmaller) {
  const RingPlan plan = PlanOf(
      {0.01, {}},
      {Option(8, 40, 0.014, 0.014), Option(16, 80, 0.0097, 0.01), Option(32, 160, 0.007, 0.007)});
  ASSERT_TRUE(plan.recommended);
  EXPECT_EQ(plan.recommended->option, 0U);
  EXPECT_EQ(plan.recommended->layout, RingLayout::kDense);
  EXPECT_EQ(plan.recommended->bytes, 800U);
  EXPECT_THAT(plan.recommended->reason, AllOf(HasSubstr("takes 50.0% of the memory of layout wide"),
                                              HasSubstr("no key moves")));
  ASSERT_TRUE(plan.next);
  EXPECT_EQ(plan.next->option, 2U);
  EXPECT_THAT(plan.next->reason, AllOf(HasSubstr("takes 10.0% of that"),
                                       HasSubstr("90.0% of the keys move, in as many steps")));
}

TEST(RingPlanTest, AGoodCvByChanceIsNotEnough) {
  const RingPlan plan =
      PlanOf({0.002, {}}, {Option(200, 1000, 0.0019, 0.0025), Option(400, 2000, 0.0018, 0.002)});
  ASSERT_TRUE(plan.recommended);
  EXPECT_EQ(plan.recommended->option, 2U);
  EXPECT_THAT(plan.recommended->reason, HasSubstr("today's ring is less so"));
  EXPECT_FALSE(plan.next);
}

TEST(RingPlanTest, OfTheRingsThatFitTheMostEvenOneIsTaken) {
  // More points, and yet less even: what many ties do to v2.
  const RingPlan plan =
      PlanOf({{}, 700}, {Option(16, 80, 0.01, 0.01), Option(64, 320, 0.006, 0.005),
                         Option(128, 640, 0.011, 0.0035), Option(150, 750, 0.001, 0.001)});
  ASSERT_TRUE(plan.recommended);
  EXPECT_EQ(plan.recommended->option, 2U);
  EXPECT_THAT(plan.recommended->reason, HasSubstr("today's ring does not fit in any layout"));
}

TEST(RingPlanTest, WhereTodaysRingFitsNothingElseIsAdvised) {
  const RingPlan plan = PlanOf({{}, 800}, {Option(16, 80, 0.001, 0.001)});
  ASSERT_TRUE(plan.recommended);
  EXPECT_EQ(plan.recommended->option, 0U);
  EXPECT_FALSE(plan.next);
}

TEST(RingPlanTest, ARingInItsSmallestLayoutStaysAsItIs) {
  RingPlan plan = PlanOf({0.01, {}}, {});
  plan.today.layout = RingLayout::kDense;
  plan.today_bytes = 800;
  Recommend(plan);
  ASSERT_TRUE(plan.recommended);
  EXPECT_EQ(plan.recommended->layout, RingLayout::kDense);
  EXPECT_THAT(plan.recommended->reason, HasSubstr("as it is, no layout is smaller"));
}

TEST(RingPlanTest, WhereV2AnswersTheWayToAnotherIsInTheDocs) {
  RingPlan plan = PlanOf({0.01, {}}, {Option(16, 80, 0.0097, 0.01)});
  plan.today.version = RingVersion::kV2;
  Recommend(plan);
  ASSERT_TRUE(plan.next);
  EXPECT_THAT(plan.next->reason, HasSubstr("\"Change a ring\" in docs/operations.md"));
}

TEST(RingPlanTest, PeopleGetATableAndLinesForTheFile) {
  const RingPlan plan = PlanOf({0.01, {}}, {Option(16, 80, 0.0097, 0.01)});
  const std::string layout(RingLayoutName(RingLayout::kDense));
  const std::string text = Printed([&](Output& output) { PrintPlan(plan, output); });
  EXPECT_THAT(text, HasSubstr("Today: v1 with 160 points a weight, layout wide, 1.6 KiB\n"
                              "Wanted: a CV of at most 1.00%\n"));
  EXPECT_THAT(text, ContainsRegex("\nRING  POINTS/WEIGHT .* WIDE .* CV  IN THEORY .*COLLISIONS"));
  EXPECT_THAT(text,
              ContainsRegex("\nv1 +160 .* 0%  today, recommended\nv2 +16 .* 90\\.0000%  next\n"));
  EXPECT_THAT(text, HasSubstr("\nRecommended: v1 with 160 points a weight, layout " + layout +
                              ", 800 B:\nit reaches the goal, "));
  EXPECT_THAT(text, HasSubstr("\n    rings:\n      v1: {points_per_weight: 160, layout: " + layout +
                              "}\n"));
  EXPECT_THAT(text, HasSubstr("\nIf that is not small enough: v2 with 16 points a weight, "));
}

TEST(RingPlanTest, TiesAreNamedWhereTheyAddMoreThanTheoryHas) {
  PlanOption dense = Option(64, 320, 0.0074, 0.005);
  dense.points = 81'920'000;
  PlanOption sparse = Option(32, 160, 0.0075, 0.0071);
  sparse.points = 40'960'000;
  const auto text = [](const PlanOption& option) {
    const RingPlan plan = PlanOf({0.01, {}}, {option});
    return Printed([&](Output& output) { PrintPlan(plan, output); });
  };
  EXPECT_THAT(text(dense), HasSubstr("every tie to the lowest address"));
  EXPECT_THAT(text(sparse), Not(HasSubstr("tie")));
}

TEST(RingPlanTest, ForOneNodeNothingSmallerIsAdvisedAndTiesAreNotNamed) {
  const OfflineDataCenter data_center =
      MakeDataCenter({"{name: n, address: \"10.0.0.1:443\", weight: 10}"});
  const RingPlan plan = Plan(data_center);
  ASSERT_TRUE(plan.recommended);
  EXPECT_EQ(plan.recommended->option, 0U);
  EXPECT_FALSE(plan.next);
  EXPECT_THAT(Printed([&](Output& output) { PrintPlan(plan, output); }), Not(HasSubstr("tie")));
}

TEST(RingPlanTest, AGoalIsSaidWithEnoughDigits) {
  EXPECT_EQ(GoalText({0.0725, {}}), "a CV of at most 7.25%");
  EXPECT_EQ(GoalText({0.000005, {}}), "a CV of at most 0.0005%");
  EXPECT_EQ(GoalText({{}, 1536}), "at most 1.5 KiB");
}

TEST(RingPlanTest, JsonHasNullForWhatThereIsNot) {
  const std::string some = PlanAsJson(PlanOf({0.01, {}}, {Option(16, 80, 0.0097, 0.01)}));
  EXPECT_THAT(some, HasSubstr(R"("target_cv":0.01,"max_memory_bytes":null,"options":[)"
                              R"({"ring_version":"v1","points_per_weight":160,)"));
  EXPECT_THAT(some, HasSubstr(R"("layouts":[{"layout":"wide","memory_bytes":1600},)"));
  EXPECT_THAT(some, HasSubstr(R"("next":{"ring_version":"v2","points_per_weight":16,"layout":)"));
  const std::string none = PlanAsJson(PlanOf({{}, 7}, {}));
  EXPECT_THAT(none, HasSubstr(R"("target_cv":null,"max_memory_bytes":7,)"));
  EXPECT_THAT(none, HasSubstr(R"("recommended":null,"next":null})"));
}

}  // namespace
}  // namespace ringshift
