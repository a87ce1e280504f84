#include "migration/rollout_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/rollout_testing.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorGuard;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using ::testing::Pair;
using testing::PercentOf;
using testing::StatusIs;
using testing::StepOf;
using testing::TwoStepPlan;

using Kind = GuardVerdict::Kind;
using Phase = RolloutPhase;

constexpr Phase kPhases[] = {Phase::kPending,  Phase::kRunning, Phase::kHolding, Phase::kPaused,
                             Phase::kAborting, Phase::kAborted, Phase::kDone};

Rollout In(Phase phase, OnBad on_bad = OnBad::kPause) {
  Rollout rollout;
  rollout.plan = TwoStepPlan(on_bad);
  rollout.phase = phase;
  rollout.actor = "eva";
  rollout.reason = "as planned";
  rollout.revision = 5;
  if (phase == Phase::kDone) rollout.step = 2;
  return rollout;
}

// Of step 1, baking at 10 %.
Rollout Baking(Phase phase, milliseconds baked, OnBad on_bad = OnBad::kPause) {
  Rollout rollout = In(phase, on_bad);
  rollout.changes = 1;
  rollout.is_baking = true;
  rollout.baked = baked;
  rollout.raised = {"ams"};
  return rollout;
}

RolloutObservation Seen(Kind kind, milliseconds elapsed = seconds(1), std::string_view ams = "10",
                        std::string_view sin = "0") {
  RolloutObservation observation;
  observation.elapsed = elapsed;
  observation.guards = {{kind, kind == Kind::kGood ? "" : "what was seen"}};
  observation.shares = {{"ams", PercentOf(ams)}, {"sin", PercentOf(sin)}};
  return observation;
}

TEST(GuardTest, AValueIsGoodBadOrUnknown) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    Comparison comparison;
    double value;
    Kind kind;
  };
  const Case cases[] = {
      {Comparison::kBelow, 4.9, Kind::kGood},      {Comparison::kBelow, 5, Kind::kBad},
      {Comparison::kBelow, 5.1, Kind::kBad},       {Comparison::kAtMost, 5, Kind::kGood},
      {Comparison::kAtMost, 5.1, Kind::kBad},      {Comparison::kAbove, 5.1, Kind::kGood},
      {Comparison::kAbove, 5, Kind::kBad},         {Comparison::kAtLeast, 5, Kind::kGood},
      {Comparison::kAtLeast, 4.9, Kind::kBad},     {Comparison::kBelow, nan, Kind::kUnknown},
      {Comparison::kAtLeast, nan, Kind::kUnknown}, {Comparison::kBelow, kInf, Kind::kUnknown},
      {Comparison::kAbove, kInf, Kind::kUnknown},  {Comparison::kBelow, -kInf, Kind::kUnknown},
  };
  for (const Case& c : cases) {
    const Guard guard{"errors", "q", c.comparison, 5, OnBad::kPause};
    EXPECT_EQ(Judge(guard, {c.value, ""}).kind, c.kind)
        << c.value << " " << ComparisonName(c.comparison);
  }
  const Guard guard = ErrorGuard(OnBad::kPause);
  EXPECT_EQ(Judge(guard, {std::nullopt, "no data"}).kind, Kind::kUnknown);
  EXPECT_EQ(Judge(guard, {std::nullopt, "no data"}).detail, "guard \"errors\": no data");
  EXPECT_EQ(Judge(guard, {0.5, ""}).detail, "guard \"errors\": 0.5 is not < 0.01");
}

// Every phase with every kind of observation, while the first step bakes.
TEST(RolloutMachineTest, EveryPhaseMeetsEveryObservationAsTheTableSays) {
  struct Case {
    Phase before;
    Kind kind;
    OnBad on_bad;
    Phase after;
    seconds baked;  // of 30 s before and 1 s now
  };
  constexpr OnBad kP = OnBad::kPause;
  constexpr OnBad kA = OnBad::kAbort;
  const Case cases[] = {
      {Phase::kPending, Kind::kGood, kP, Phase::kRunning, seconds(30)},
      {Phase::kPending, Kind::kUnknown, kP, Phase::kHolding, seconds(30)},
      {Phase::kPending, Kind::kBad, kP, Phase::kPaused, seconds(0)},
      {Phase::kPending, Kind::kBad, kA, Phase::kAborting, seconds(30)},
      {Phase::kRunning, Kind::kGood, kP, Phase::kRunning, seconds(31)},
      {Phase::kRunning, Kind::kUnknown, kP, Phase::kHolding, seconds(30)},
      {Phase::kRunning, Kind::kUnknown, kA, Phase::kHolding, seconds(30)},
      {Phase::kRunning, Kind::kBad, kP, Phase::kPaused, seconds(0)},
      {Phase::kRunning, Kind::kBad, kA, Phase::kAborting, seconds(30)},
      {Phase::kHolding, Kind::kGood, kP, Phase::kRunning, seconds(30)},
      {Phase::kHolding, Kind::kUnknown, kP, Phase::kHolding, seconds(30)},
      {Phase::kHolding, Kind::kBad, kP, Phase::kPaused, seconds(0)},
      {Phase::kHolding, Kind::kBad, kA, Phase::kAborting, seconds(30)},
      {Phase::kPaused, Kind::kGood, kP, Phase::kPaused, seconds(30)},
      {Phase::kPaused, Kind::kUnknown, kP, Phase::kPaused, seconds(30)},
      {Phase::kPaused, Kind::kBad, kA, Phase::kPaused, seconds(30)},
      {Phase::kAborting, Kind::kGood, kP, Phase::kAborted, seconds(30)},
      {Phase::kAborting, Kind::kUnknown, kP, Phase::kAborted, seconds(30)},
      {Phase::kAborting, Kind::kBad, kA, Phase::kAborted, seconds(30)},
      {Phase::kAborted, Kind::kGood, kP, Phase::kAborted, seconds(30)},
      {Phase::kAborted, Kind::kUnknown, kP, Phase::kAborted, seconds(30)},
      {Phase::kAborted, Kind::kBad, kA, Phase::kAborted, seconds(30)},
  };
  for (const Case& c : cases) {
    const Rollout before = Baking(c.before, seconds(30), c.on_bad);
    const RolloutDecision decision = Advance(before, Seen(c.kind));
    const std::string what =
        std::string(RolloutPhaseName(c.before)) + ", " + std::to_string(static_cast<int>(c.kind));
    EXPECT_EQ(decision.next.phase, c.after) << what;
    EXPECT_EQ(decision.next.baked, c.baked) << what;
    EXPECT_EQ(decision.next.step, 0) << what;
    if (c.before == Phase::kAborting) {
      EXPECT_EQ(decision.kind, ChangeKind::kRolledBack);
      EXPECT_THAT(decision.shares, ElementsAre(Pair("ams", Share::None()))) << what;
    } else {
      EXPECT_THAT(decision.shares, IsEmpty()) << what;
    }
    if (c.before == Phase::kPaused || c.before == Phase::kAborted) {
      EXPECT_EQ(decision.next, before) << what;
    }
  }
  EXPECT_EQ(Advance(In(Phase::kDone), Seen(Kind::kBad)).next, In(Phase::kDone));
}

// The same before the first step has raised anything.
TEST(RolloutMachineTest, SharesAreRaisedOnlyWhereEveryGuardIsGood) {
  for (const Phase phase : {Phase::kPending, Phase::kRunning, Phase::kHolding}) {
    const RolloutDecision good = Advance(In(phase), Seen(Kind::kGood, seconds(1), "0"));
    EXPECT_EQ(good.kind, ChangeKind::kShare);
    EXPECT_THAT(good.shares, ElementsAre(Pair("ams", PercentOf("10"))));
    EXPECT_EQ(good.next.phase, Phase::kRunning);
    EXPECT_TRUE(good.next.is_baking);
    EXPECT_EQ(good.next.changes, 1);
    EXPECT_EQ(good.next.baked, milliseconds(0));
    EXPECT_THAT(good.next.raised, ElementsAre("ams"));
    for (const Kind kind : {Kind::kUnknown, Kind::kBad}) {
      const RolloutDecision other = Advance(In(phase), Seen(kind, seconds(1), "0"));
      EXPECT_THAT(other.shares, IsEmpty());
      EXPECT_FALSE(other.next.is_baking);
      EXPECT_EQ(other.next.reason, "what was seen");
      EXPECT_EQ(other.next.actor, "rollout:spring");
    }
  }
}

TEST(RolloutMachineTest, AnAbortOutweighsAPauseAndBothOutweighAHold) {
  Rollout rollout = Baking(Phase::kRunning, seconds(0));
  rollout.plan.steps[0].guards = {ErrorGuard(OnBad::kPause), ErrorGuard(OnBad::kPause),
                                  ErrorGuard(OnBad::kAbort)};
  RolloutObservation seen = Seen(Kind::kGood);
  const GuardVerdict unknown{Kind::kUnknown, "unknown"};
  const GuardVerdict bad{Kind::kBad, "bad 1"};
  seen.guards = {unknown, bad, {Kind::kBad, "bad 2"}};
  EXPECT_EQ(Advance(rollout, seen).next.phase, Phase::kAborting);
  EXPECT_EQ(Advance(rollout, seen).next.reason, "bad 2");
  seen.guards = {unknown, bad, {Kind::kGood, ""}};
  EXPECT_EQ(Advance(rollout, seen).next.phase, Phase::kPaused);
  EXPECT_EQ(Advance(rollout, seen).next.reason, "bad 1");
  seen.guards = {{Kind::kGood, ""}, unknown, unknown};
  EXPECT_EQ(Advance(rollout, seen).next.phase, Phase::kHolding);
  seen.guards = {{Kind::kGood, ""}};  // of three
  EXPECT_EQ(Advance(rollout, seen).next.phase, Phase::kHolding);
  EXPECT_EQ(Advance(rollout, seen).next.reason, "guard \"errors\": not measured");
}

TEST(RolloutMachineTest, AStepThatHasBakedGivesWayToTheNextAndTheLastToDone) {
  const RolloutDecision early =
      Advance(Baking(Phase::kRunning, seconds(58)), Seen(Kind::kGood, milliseconds(1999)));
  EXPECT_EQ(early.next.step, 0);
  RolloutDecision decision =
      Advance(Baking(Phase::kRunning, seconds(58)), Seen(Kind::kGood, seconds(2)));
  EXPECT_EQ(decision.next.step, 1);
  EXPECT_FALSE(decision.next.is_baking);
  EXPECT_THAT(decision.shares, IsEmpty());
  EXPECT_EQ(decision.next.phase, Phase::kRunning);
  EXPECT_EQ(decision.next.changes, 0);

  decision = Advance(decision.next, Seen(Kind::kGood));
  EXPECT_THAT(decision.shares,
              ElementsAre(Pair("ams", PercentOf("50")), Pair("sin", PercentOf("50"))));
  EXPECT_THAT(decision.next.raised, ElementsAre("ams", "sin"));
  decision.next.baked = seconds(59);
  decision = Advance(decision.next, Seen(Kind::kGood, seconds(1), "50", "50"));
  EXPECT_EQ(decision.next.phase, Phase::kDone);
  EXPECT_EQ(decision.next.step, 2);
}

TEST(RolloutMachineTest, TimeInWhichNothingWasObservedIsNotBaked) {
  const Rollout rollout = Baking(Phase::kRunning, seconds(0));
  EXPECT_EQ(Advance(rollout, Seen(Kind::kGood, std::chrono::hours(1))).next.baked, kMaxObservedGap);
  EXPECT_EQ(Advance(rollout, Seen(Kind::kGood, seconds(-5))).next.baked, seconds(0));
}

TEST(RolloutMachineTest, ADataCenterAtTheTargetIsLeftAloneAndTheStepBakes) {
  const RolloutDecision decision =
      Advance(In(Phase::kPending), Seen(Kind::kGood, seconds(1), "10"));
  EXPECT_THAT(decision.shares, IsEmpty());
  EXPECT_TRUE(decision.next.is_baking);
  EXPECT_EQ(decision.next.changes, 0);
  EXPECT_THAT(decision.next.raised, IsEmpty());
}

TEST(RolloutMachineTest, ALimitMakesSeveralChangesOfAStepEachBaked) {
  RolloutObservation seen = Seen(Kind::kGood, seconds(1), "0");
  seen.reachable.emplace("ams", PercentOf("4"));
  RolloutDecision decision = Advance(In(Phase::kRunning), seen);
  EXPECT_THAT(decision.shares, ElementsAre(Pair("ams", PercentOf("4"))));

  seen = Seen(Kind::kGood, seconds(10), "4");
  decision.next.baked = seconds(50);
  decision = Advance(decision.next, seen);
  EXPECT_EQ(decision.next.step, 0);
  EXPECT_FALSE(decision.next.is_baking);
  seen.reachable.emplace("ams", PercentOf("12"));  // beyond the target
  decision = Advance(decision.next, seen);
  EXPECT_THAT(decision.shares, ElementsAre(Pair("ams", PercentOf("10"))));
  EXPECT_EQ(decision.next.changes, 2);
  EXPECT_EQ(decision.next.baked, seconds(0));
}

TEST(RolloutMachineTest, ALimitThatIsNotKnownOrLetsNothingThroughHolds) {
  RolloutObservation seen = Seen(Kind::kGood, seconds(1), "0");
  seen.reachable.emplace("ams", absl::UnavailableError("no traffic is measured"));
  RolloutDecision decision = Advance(In(Phase::kRunning), seen);
  EXPECT_EQ(decision.next.phase, Phase::kHolding);
  EXPECT_THAT(decision.next.reason,
              AllOf(HasSubstr("\"ams\""), HasSubstr("no traffic is measured")));
  EXPECT_FALSE(decision.next.is_baking);

  seen.reachable.at("ams") = Share::None();
  decision = Advance(In(Phase::kRunning), seen);
  EXPECT_EQ(decision.next.phase, Phase::kHolding);
  EXPECT_THAT(decision.next.reason, HasSubstr("the share of \"ams\" not rise above 0 %"));

  seen.shares.erase("ams");
  decision = Advance(In(Phase::kRunning), seen);
  EXPECT_EQ(decision.next.phase, Phase::kHolding);
  EXPECT_THAT(decision.next.reason, HasSubstr("\"ams\" has no migration"));
}

// A step of two of which one may not rise raises neither.
TEST(RolloutMachineTest, AStepIsRaisedWholeOrNotAtAll) {
  Rollout rollout = In(Phase::kRunning);
  rollout.step = 1;
  RolloutObservation seen = Seen(Kind::kGood);
  seen.reachable.emplace("sin", Share::None());
  const RolloutDecision decision = Advance(rollout, seen);
  EXPECT_THAT(decision.shares, IsEmpty());
  EXPECT_THAT(decision.next.raised, IsEmpty());
  EXPECT_EQ(decision.next.phase, Phase::kHolding);
}

TEST(RolloutMachineTest, AnAbortRollsBackWhatWasRaisedAndNothingElse) {
  Rollout rollout = In(Phase::kAborting);
  EXPECT_THAT(Advance(rollout, Seen(Kind::kGood)).shares, IsEmpty());
  rollout.raised = {"ams", "sin"};
  rollout.taken_out = {"ams"};
  const RolloutDecision decision = Advance(rollout, {});
  EXPECT_THAT(decision.shares, IsEmpty());  // `sin` is not in the store any more
  const RolloutDecision seen = Advance(rollout, Seen(Kind::kUnknown, seconds(1), "10", "50"));
  EXPECT_EQ(seen.kind, ChangeKind::kRolledBack);
  EXPECT_THAT(seen.shares, ElementsAre(Pair("sin", Share::None())));
  EXPECT_EQ(seen.next.phase, Phase::kAborted);
  EXPECT_EQ(seen.next.reason, "as planned");
}

TEST(RolloutMachineTest, AHoldIsWrittenOnceForACauseAndAgainForAnother) {
  Rollout rollout = Baking(Phase::kHolding, seconds(3));
  rollout.reason = "what was seen";
  EXPECT_EQ(Advance(rollout, Seen(Kind::kUnknown)).next, rollout);
  rollout.reason = "something else";
  EXPECT_EQ(Advance(rollout, Seen(Kind::kUnknown)).next.reason, "what was seen");
}

TEST(RolloutMachineTest, EveryVerbMeetsEveryPhaseAsTheTableSays) {
  struct Case {
    Phase phase;
    int pause;  // the phase after it; 0: FAILED_PRECONDITION
    int resume;
    int abort;
  };
  constexpr auto kNumber = [](Phase phase) { return static_cast<int>(phase); };
  const int paused = kNumber(Phase::kPaused);
  const int aborting = kNumber(Phase::kAborting);
  const Case cases[] = {
      {Phase::kPending, paused, kNumber(Phase::kPending), aborting},
      {Phase::kRunning, paused, kNumber(Phase::kRunning), aborting},
      {Phase::kHolding, paused, kNumber(Phase::kHolding), aborting},
      {Phase::kPaused, paused, kNumber(Phase::kRunning), aborting},
      {Phase::kAborting, 0, 0, aborting},
      {Phase::kAborted, 0, 0, kNumber(Phase::kAborted)},
      {Phase::kDone, 0, 0, 0},
  };
  for (const Case& c : cases) {
    const Rollout rollout = In(c.phase);
    const auto expect = [&](const absl::StatusOr<Rollout>& result, int phase, const char* verb) {
      if (phase == 0) {
        EXPECT_THAT(result, StatusIs(StatusCode::kFailedPrecondition,
                                     AllOf(HasSubstr(rollout.Describe()), HasSubstr(verb))));
      } else if (phase == kNumber(c.phase)) {
        EXPECT_THAT(result, IsOkAndHolds(rollout));
      } else {
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(kNumber(result->phase), phase) << RolloutPhaseName(c.phase) << " " << verb;
        EXPECT_EQ(result->actor, "bob");
        EXPECT_EQ(result->reason, "misses");
      }
    };
    expect(Pause(rollout, "bob", "misses"), c.pause, "paused");
    expect(Resume(rollout, "bob", "misses"), c.resume, "resumed");
    expect(Abort(rollout, "bob", "misses"), c.abort, "aborted");
  }
}

TEST(RolloutMachineTest, ADataCenterThatWasRolledBackLeavesAndPausesTheRollout) {
  for (const Phase phase : {Phase::kPending, Phase::kRunning, Phase::kHolding, Phase::kPaused}) {
    const Rollout next = TakeOut(Baking(phase, seconds(5)), "ams", "bob", "misses");
    EXPECT_EQ(next.phase, Phase::kPaused);
    EXPECT_THAT(next.taken_out, ElementsAre("ams"));
    EXPECT_EQ(next.actor, "bob");
    EXPECT_EQ(next.reason, "data center \"ams\" was rolled back: misses");
  }
  const Rollout aborting = TakeOut(In(Phase::kAborting), "ams", "bob", "misses");
  EXPECT_EQ(aborting.phase, Phase::kAborting);
  EXPECT_EQ(aborting.reason, "as planned");
  const Rollout last = TakeOut(TakeOut(In(Phase::kRunning), "sin", "bob", ""), "ams", "bob", "");
  EXPECT_EQ(last.phase, Phase::kAborted);
}

// Resumed after that, it goes on without the data center; a step that has no other one is over.
TEST(RolloutMachineTest, StepsGoOnWithoutADataCenterThatWasTakenOut) {
  Rollout rollout = TakeOut(Baking(Phase::kRunning, seconds(5)), "ams", "bob", "misses");
  rollout = Resume(rollout, "eva", "").value();
  RolloutDecision decision = Advance(rollout, Seen(Kind::kGood, seconds(1), "0"));
  EXPECT_EQ(decision.next.step, 1);
  EXPECT_THAT(decision.shares, IsEmpty());
  decision = Advance(decision.next, Seen(Kind::kGood, seconds(1), "0"));
  EXPECT_THAT(decision.shares, ElementsAre(Pair("sin", PercentOf("50"))));
}

// Whatever is seen, in whatever order: an aborted rollout changes nothing more.
TEST(RolloutMachineTest, NothingLeavesAbortedOrDone) {
  for (const Phase phase : {Phase::kAborted, Phase::kDone}) {
    Rollout rollout = Baking(phase, seconds(1), OnBad::kAbort);
    for (int i = 0; i < 10; ++i) {
      for (const Kind kind : {Kind::kGood, Kind::kBad, Kind::kUnknown}) {
        const RolloutDecision decision = Advance(rollout, Seen(kind));
        EXPECT_EQ(decision.next, rollout);
        EXPECT_THAT(decision.shares, IsEmpty());
      }
    }
  }
}

TEST(RolloutMachineTest, EveryPhaseHasAName) {
  for (const Phase phase : kPhases) EXPECT_NE(RolloutPhaseName(phase), "");
}

}  // namespace
}  // namespace ringshift
