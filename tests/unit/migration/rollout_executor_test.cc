#include "migration/rollout_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/rollout_control.h"
#include "migration/sqlite_store.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/forwarding_store.h"
#include "tests/unit/migration/rollout_testing.h"
#include "tests/unit/server/memory_store.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::ForwardingStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MemoryStore;
using testing::PercentOf;
using testing::StatusIs;
using testing::StepOf;
using testing::TwoStepPlan;

class FakeGuards final : public GuardSource {
 public:
  Measurement Measure(const std::string&) override {
    ++measured;
    if (on_measure) on_measure();
    return answer;
  }

  Measurement answer{0.0, ""};
  int measured = 0;
  std::function<void()> on_measure;
};

class FakeLimiter final : public ShareLimiter {
 public:
  absl::StatusOr<Share> Farthest(const std::string&, Share from, Share to,
                                 const RolloutLimits& limits) override {
    if (!error.ok()) return error;
    return std::min(to, *Share::FromPpm(std::min<std::int64_t>(
                            Share::kMaxPpm, from.ppm() + limits.max_churn_ppm.value_or(0))));
  }

  absl::Status error;
};

// A day, on the clock of the wall and on the monotonic one.
struct Clocks {
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  WallTime wall{seconds(1'800'000'000)};

  void Pass(milliseconds time) {
    now += time;
    wall += time;
  }
};

class RolloutExecutorTest : public ::testing::Test {
 protected:
  RolloutExecutorTest() {
    for (const char* name : {"ams", "fra", "sin"}) {
      EXPECT_THAT(memory_.EnsureExists({name, Share::None(), name, "router", ""}), IsOk());
    }
  }

  RolloutExecutor::Options Options() {
    RolloutExecutor::Options options;
    options.writer.clock = [this] { return clocks_.wall; };
    options.now = [this] { return clocks_.now; };
    return options;
  }
  std::unique_ptr<RolloutExecutor> NewExecutor(MigrationStore& store) {
    return std::make_unique<RolloutExecutor>(store, guards_, limiter_, Options());
  }
  void Create(const RolloutPlan& plan) { ASSERT_THAT(control_.Create(plan, "eva", ""), IsOk()); }
  // A tick a second.
  void Run(seconds time, RolloutExecutor& executor) {
    for (seconds t(0); t < time; ++t) {
      ASSERT_THAT(executor.Tick(), IsOk());
      clocks_.Pass(seconds(1));
    }
  }
  void Run(seconds time) { Run(time, *executor_); }
  Rollout Get(const std::string& name = "spring") { return control_.Find(name).value(); }
  Share ShareOf(const std::string& name) { return Find(name).share; }
  Migration Find(const std::string& name) {
    const std::vector<Migration> migrations = memory_.Load().value();
    for (const Migration& migration : migrations) {
      if (migration.data_center == name) return migration;
    }
    return {};
  }
  // "ams 10", ...: every change of a share, the oldest first.
  std::vector<std::string> Changes() {
    std::vector<std::string> changes;
    const StoreContents contents = memory_.Export().value();
    for (const MigrationChange& change : contents.history) {
      if (change.kind == ChangeKind::kCreated) continue;
      changes.push_back(absl::StrCat(change.data_center, " ", change.to->ToPercent()));
    }
    return changes;
  }
  absl::Status RollBack(const std::string& name) {
    Migration migration = Find(name);
    migration.share = Share::None();
    migration.is_frozen = true;
    return memory_.Update({ChangeKind::kRolledBack, {migration}, "bob", "misses", ""}).status();
  }

  Clocks clocks_;
  FakeGuards guards_;
  FakeLimiter limiter_;
  MemoryStore memory_{[this] { return clocks_.wall; }};
  RolloutControl control_{memory_, Options().writer};
  std::unique_ptr<RolloutExecutor> executor_ = NewExecutor(memory_);
};

TEST_F(RolloutExecutorTest, APlanRunsToItsEnd) {
  Create(TwoStepPlan());
  Run(seconds(1));
  EXPECT_EQ(ShareOf("ams"), PercentOf("10"));
  EXPECT_EQ(ShareOf("sin"), Share::None());
  Run(seconds(60));  // it bakes from the first tick to the 61st
  EXPECT_EQ(Get().step, 1);
  EXPECT_EQ(ShareOf("sin"), Share::None());
  Run(seconds(1));
  EXPECT_EQ(ShareOf("ams"), PercentOf("50"));
  EXPECT_EQ(ShareOf("sin"), PercentOf("50"));
  Run(seconds(59));
  EXPECT_EQ(Get().phase, RolloutPhase::kRunning);
  Run(seconds(1));
  EXPECT_EQ(Get().phase, RolloutPhase::kDone);
  EXPECT_THAT(Changes(), ElementsAre("ams 10", "ams 50", "sin 50"));
}

TEST_F(RolloutExecutorTest, AStepIsInTheHistoryWithWhoWhyAndWhen) {
  Create(TwoStepPlan());
  Run(seconds(1));
  const MigrationChange change = memory_.Export()->history.back();
  EXPECT_EQ(change.actor, "rollout:spring");
  EXPECT_EQ(change.reason, "rollout spring, step 1 of 2");
  EXPECT_EQ(change.time, WallTime(seconds(1'800'000'000)));
  const Migration ams = Find("ams");
  EXPECT_EQ(ams.share_time, change.time);
  // What answered before is remembered, for the previous owner.
  AnswerHistory answers;
  answers.Change(Share::None(), PercentOf("10"), change.time, change.time - std::chrono::hours(24));
  EXPECT_EQ(ams.answers, answers);
}

// 30, 60, 90 and 100 %, and then every request is v2's.
TEST_F(RolloutExecutorTest, TheLastStepOfThirtyPercentEachIsAllOfIt) {
  RolloutPlan plan{"spring", {}};
  for (const char* percent : {"30", "60", "90", "100"}) {
    plan.steps.push_back(StepOf({"ams"}, percent, milliseconds(0)));
  }
  Create(plan);
  Run(seconds(20));
  EXPECT_EQ(Get().phase, RolloutPhase::kDone);
  EXPECT_THAT(Changes(), ElementsAre("ams 30", "ams 60", "ams 90", "ams 100"));
}

TEST_F(RolloutExecutorTest, UnknownHoldsAndGoesOnByItself) {
  Create(TwoStepPlan(OnBad::kAbort));
  Run(seconds(31));
  guards_.answer = {std::nullopt, "no data"};
  Run(seconds(600));
  const Rollout holding = Get();
  EXPECT_EQ(holding.phase, RolloutPhase::kHolding);
  EXPECT_EQ(holding.reason, "guard \"errors\": no data");
  EXPECT_EQ(holding.baked, seconds(30));
  guards_.answer = {0.0, ""};
  Run(seconds(30));  // the first of them only tells that the data is back
  EXPECT_EQ(Get().phase, RolloutPhase::kRunning);
  EXPECT_EQ(Get().step, 0);
  Run(seconds(1));
  EXPECT_EQ(Get().step, 1);
}

TEST_F(RolloutExecutorTest, AHoldIsWrittenOnce) {
  Create(TwoStepPlan());
  guards_.answer = {std::nullopt, "no data"};
  Run(seconds(1));
  const std::int64_t revision = Get().revision;
  Run(seconds(100));
  EXPECT_EQ(Get().revision, revision);
}

TEST_F(RolloutExecutorTest, ABadGuardThatPausesWaitsForAPerson) {
  Create(TwoStepPlan(OnBad::kPause));
  Run(seconds(31));
  guards_.answer = {0.5, ""};
  Run(seconds(1));
  EXPECT_EQ(Get().phase, RolloutPhase::kPaused);
  EXPECT_EQ(Get().reason, "guard \"errors\": 0.5 is not < 0.01");
  guards_.answer = {0.0, ""};
  Run(seconds(600));
  EXPECT_EQ(Get().phase, RolloutPhase::kPaused);
  EXPECT_EQ(ShareOf("ams"), PercentOf("10"));
  ASSERT_THAT(control_.Resume("spring", "eva", "it was the network"), IsOk());
  Run(seconds(60));  // it bakes anew
  EXPECT_EQ(Get().step, 0);
  Run(seconds(2));
  EXPECT_EQ(Get().step, 1);
}

TEST_F(RolloutExecutorTest, ABadGuardThatAbortsRollsBackInTheSameTick) {
  Create(TwoStepPlan(OnBad::kAbort));
  Run(seconds(63));
  ASSERT_EQ(ShareOf("sin"), PercentOf("50"));
  guards_.answer = {0.5, ""};
  Run(seconds(1));
  EXPECT_EQ(Get().phase, RolloutPhase::kAborted);
  EXPECT_EQ(Get().reason, "guard \"errors\": 0.5 is not < 0.01");
  for (const char* name : {"ams", "sin"}) {
    EXPECT_EQ(ShareOf(name), Share::None());
    EXPECT_TRUE(Find(name).is_frozen);
  }
  EXPECT_EQ(memory_.Export()->history.back().kind, ChangeKind::kRolledBack);
  EXPECT_EQ(memory_.Export()->history.back().reason,
            "rollout spring was aborted: guard \"errors\": 0.5 is not < 0.01");
  guards_.answer = {0.0, ""};
  const StoreContents before = memory_.Export().value();
  Run(seconds(600));
  Run(seconds(600), *NewExecutor(memory_));
  EXPECT_TRUE(memory_.Export().value() == before);
}

// In every phase and at every moment of it: the next thing that a data center has is share 0, and
// it stays so whoever takes over.
TEST_F(RolloutExecutorTest, AnAbortAtAnyMomentIsRolledBackAtOnceAndForGood) {
  for (int second = 0; second < 122; ++second) {
    const std::string name = absl::StrCat("r-", second);
    RolloutPlan plan = TwoStepPlan();
    plan.name = name;
    MemoryStore store([this] { return clocks_.wall; });
    for (const char* dc : {"ams", "sin"}) {
      ASSERT_THAT(store.EnsureExists({dc, Share::None(), dc, "router", ""}), IsOk());
    }
    RolloutControl control(store, Options().writer);
    ASSERT_THAT(control.Create(plan, "eva", ""), IsOk());
    auto executor = NewExecutor(store);
    // A third of them are held then, a third are paused.
    Run(seconds(second), *executor);
    if (second % 3 == 1) guards_.answer = {std::nullopt, "no data"};
    if (second % 3 == 2) guards_.answer = {0.5, ""};
    Run(seconds(1), *executor);
    guards_.answer = {0.0, ""};
    const std::vector<std::string> raised = control.Find(name)->raised;
    ASSERT_OK_AND_ASSIGN(const Rollout aborted, control.Abort(name, "bob", "misses"));
    EXPECT_EQ(aborted.phase, RolloutPhase::kAborted) << second;
    const StoreContents after = store.Export().value();
    for (const Migration& migration : after.migrations) {
      EXPECT_EQ(migration.share, Share::None()) << second;
      EXPECT_EQ(migration.is_frozen,
                std::count(raised.begin(), raised.end(), migration.data_center) == 1);
    }
    EXPECT_THAT(control.Resume(name, "eva", ""),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("cannot be resumed")));
    Run(seconds(10), *executor);
    executor = NewExecutor(store);
    Run(seconds(10), *executor);
    EXPECT_TRUE(store.Export().value() == after) << second;
  }
}

// The intention is durable before the rollback: whatever keeps the latter, a takeover does it.
TEST_F(RolloutExecutorTest, AnAbortThatCouldNotRollBackIsFinishedByTheNextExecutor) {
  class NoUpdates final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate&) override {
      return absl::UnavailableError("the store is full");
    }
  };
  Create(TwoStepPlan());
  Run(seconds(1));
  NoUpdates broken(memory_);
  RolloutControl control(broken, Options().writer);
  ASSERT_OK_AND_ASSIGN(const Rollout aborting, control.Abort("spring", "bob", "misses"));
  EXPECT_EQ(aborting.phase, RolloutPhase::kAborting);
  EXPECT_EQ(ShareOf("ams"), PercentOf("10"));
  EXPECT_THAT(NewExecutor(broken)->Tick(), StatusIs(StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(control.Resume("spring", "eva", ""),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("(aborting, step 1 of 2)")));
  Run(seconds(1), *NewExecutor(memory_));
  EXPECT_EQ(Get().phase, RolloutPhase::kAborted);
  EXPECT_EQ(Get().actor, "bob");
  EXPECT_EQ(ShareOf("ams"), Share::None());
}

// Guards of others may be slow.
TEST_F(RolloutExecutorTest, AnAbortDoesNotWaitForTheGuardsOfOtherRollouts) {
  Create({"a-first", {StepOf({"fra"}, "5", minutes(1), {testing::ErrorGuard(OnBad::kPause)})}});
  Create(TwoStepPlan());
  Run(seconds(1));
  Rollout aborting = Abort(Get(), "bob", "misses").value();
  ASSERT_THAT(memory_.SaveRollout({aborting, std::nullopt}), IsOk());
  std::optional<RolloutPhase> seen;
  guards_.on_measure = [&] { seen = Get().phase; };
  Run(seconds(1));
  EXPECT_EQ(seen, RolloutPhase::kAborted);
}

TEST_F(RolloutExecutorTest, ALimitRaisesInPiecesAndAnUnknownOneHolds) {
  RolloutPlan plan{"spring", {StepOf({"ams"}, "10", seconds(5))}};
  plan.steps[0].limits.max_churn_ppm = 40'000;
  Create(plan);
  limiter_.error = absl::UnavailableError("no traffic");
  Run(seconds(3));
  EXPECT_EQ(Get().phase, RolloutPhase::kHolding);
  EXPECT_THAT(Get().reason, HasSubstr("no traffic"));
  limiter_.error = absl::OkStatus();
  Run(seconds(60));
  EXPECT_EQ(Get().phase, RolloutPhase::kDone);
  EXPECT_THAT(Changes(), ElementsAre("ams 4", "ams 8", "ams 10"));
}

TEST_F(RolloutExecutorTest, ARollbackTakesPrecedenceWhenItComesBetweenReadingAndWriting) {
  Create(TwoStepPlan());
  Run(seconds(61));
  ASSERT_EQ(Get().step, 1);
  ASSERT_FALSE(Get().is_baking);
  // While the guards of the next step are measured.
  bool done = false;
  guards_.on_measure = [&] {
    if (std::exchange(done, true)) return;
    EXPECT_THAT(RollBack("ams"), IsOk());
  };
  Run(seconds(30));
  EXPECT_EQ(Get().phase, RolloutPhase::kPaused);
  EXPECT_THAT(Get().taken_out, ElementsAre("ams"));
  EXPECT_EQ(ShareOf("ams"), Share::None());
  ASSERT_THAT(control_.Resume("spring", "eva", "without ams"), IsOk());
  Run(seconds(200));
  EXPECT_EQ(Get().phase, RolloutPhase::kDone);
  EXPECT_EQ(ShareOf("ams"), Share::None());
  EXPECT_TRUE(Find("ams").is_frozen);
  EXPECT_EQ(ShareOf("sin"), PercentOf("50"));
}

TEST_F(RolloutExecutorTest, APersonWhoPausesWhileGuardsAreMeasuredIsObeyed) {
  Create(TwoStepPlan());
  bool done = false;
  guards_.on_measure = [&] {
    if (std::exchange(done, true)) return;
    EXPECT_THAT(control_.Pause("spring", "bob", "lunch"), IsOk());
  };
  Run(seconds(100));
  EXPECT_EQ(Get().phase, RolloutPhase::kPaused);
  EXPECT_EQ(Get().actor, "bob");
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RolloutExecutorTest, OfTwoExecutorsTheOlderChangesNothing) {
  Create(TwoStepPlan());
  Run(seconds(30));
  auto younger = NewExecutor(memory_);
  Run(seconds(1), *younger);
  Run(seconds(15), *younger);
  const StoreContents before = memory_.Export().value();
  guards_.answer = {0.5, ""};  // whatever it sees
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(executor_->Tick(), StatusIs(StatusCode::kFailedPrecondition,
                                            HasSubstr("another one has taken over, with term 2")));
    clocks_.Pass(seconds(1));
  }
  EXPECT_TRUE(memory_.Export().value() == before);
  guards_.answer = {0.0, ""};
  Run(seconds(200), *younger);
  EXPECT_EQ(Get().phase, RolloutPhase::kDone);
  EXPECT_EQ(Get().executor_term, 2);
  EXPECT_THAT(Changes(), ElementsAre("ams 10", "ams 50", "sin 50"));
}

// Two that take turns at every tick, each with a term of its own every time.
TEST_F(RolloutExecutorTest, ATakeoverAtEveryTickTakesEachStepOnce) {
  Create(TwoStepPlan());
  RolloutExecutor::Options options = Options();
  options.checkpoint = milliseconds(0);
  // A takeover that sees nothing pass bakes nothing, so each has two ticks.
  for (int i = 0; i < 400 && Get().phase != RolloutPhase::kDone; ++i) {
    Run(seconds(2), *std::make_unique<RolloutExecutor>(memory_, guards_, limiter_, options));
  }
  EXPECT_EQ(Get().phase, RolloutPhase::kDone);
  EXPECT_THAT(Changes(), ElementsAre("ams 10", "ams 50", "sin 50"));
}

TEST_F(RolloutExecutorTest, ATakeoverBakesAgainAtMostWhatWasNotCheckpointed) {
  Create(TwoStepPlan());
  Run(seconds(46));
  EXPECT_EQ(Get().baked, seconds(40));
  auto next = NewExecutor(memory_);
  clocks_.Pass(std::chrono::hours(5));  // nobody was looking
  Run(seconds(20), *next);
  EXPECT_EQ(Get().step, 0);
  Run(seconds(1), *next);
  EXPECT_EQ(Get().step, 1);
}

TEST_F(RolloutExecutorTest, TheWallClockHasNoPartInBaking) {
  Create(TwoStepPlan());
  Run(seconds(1));
  for (int i = 0; i < 59; ++i) {
    clocks_.wall += (i % 2 == 0 ? 1 : -1) * std::chrono::hours(24);
    Run(seconds(1));
  }
  EXPECT_EQ(Get().step, 0);
  Run(seconds(1));
  EXPECT_EQ(Get().step, 1);
}

TEST_F(RolloutExecutorTest, AStoreThatIsDownIsAnErrorAndTheRolloutGoesOnAfterwards) {
  Create(TwoStepPlan());
  Run(seconds(10));
  memory_.FailWith(absl::UnavailableError("down"));
  for (int i = 0; i < 600; ++i) {
    EXPECT_THAT(executor_->Tick(), StatusIs(StatusCode::kUnavailable, HasSubstr("down")));
    clocks_.Pass(seconds(1));
  }
  memory_.FailWith(absl::OkStatus());
  Run(seconds(1));
  // Of the time without the store no more than the gap is baked.
  EXPECT_EQ(Get().step, 0);
  Run(seconds(60));
  EXPECT_EQ(Get().step, 1);
}

// Nobody knows of a guard that was not good where that could not be written, so the time around it
// is baked again.
TEST_F(RolloutExecutorTest, TimeInWhichAGuardWasNotGoodIsNotBakedThoughThatCouldNotBeWritten) {
  class Unwritable final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    absl::StatusOr<Rollout> SaveRollout(const RolloutUpdate& update) override {
      if (is_full) return absl::UnavailableError("the store is full");
      return ForwardingStore::SaveRollout(update);
    }
    bool is_full = false;
  };
  Unwritable store(memory_);
  auto executor = NewExecutor(store);
  Create(TwoStepPlan());
  Run(seconds(56), *executor);
  ASSERT_EQ(Get().baked, seconds(50));
  store.is_full = true;
  guards_.answer = {std::nullopt, "no data"};
  EXPECT_THAT(executor->Tick(), StatusIs(StatusCode::kUnavailable, HasSubstr("full")));
  store.is_full = false;
  guards_.answer = {0.0, ""};
  clocks_.Pass(seconds(8));
  Run(seconds(10), *executor);  // of the 50 s that are written the last 10 are left
  EXPECT_EQ(Get().step, 0);
  Run(seconds(1), *executor);
  EXPECT_EQ(Get().step, 1);
}

TEST_F(RolloutExecutorTest, WhereNothingIsToBeDoneNothingIsWritten) {
  const StoreContents before = memory_.Export().value();
  Run(seconds(100));
  EXPECT_TRUE(memory_.Export().value() == before);
}

// What ends an executor at a write, before or after the store has taken it, or between writes.
struct Killed {};

class KillingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

 protected:
  template <typename Write>
  auto Around(const Write& write) {
    look();
    auto result = write();
    look();
    return result;
  }

 public:
  // Looked at before and after each write.
  std::function<void()> look;

  absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate& update) override {
    return Around([&] { return ForwardingStore::Update(update); });
  }
  absl::StatusOr<Rollout> SaveRollout(const RolloutUpdate& update) override {
    return Around([&] { return ForwardingStore::SaveRollout(update); });
  }
  absl::StatusOr<std::int64_t> NextRolloutTerm() override {
    return Around([&] { return ForwardingStore::NextRolloutTerm(); });
  }
};

// Looked at before and after reads too.
class WatchedStore final : public KillingStore {
 public:
  using KillingStore::KillingStore;
  absl::StatusOr<std::vector<Migration>> Load() override {
    return Around([&] { return KillingStore::Load(); });
  }
  absl::StatusOr<std::vector<Rollout>> LoadRollouts(WhichRollouts which) override {
    return Around([&] { return KillingStore::LoadRollouts(which); });
  }
};

// Runs a plan once for each moment at which somebody can come between: before and after each call
// of the executor to its store, and while it measures a guard. `act` comes at that moment, and
// leaves a rollout that the executor does not change any more; then `check` is called.
class RolloutInterruptionTest : public RolloutExecutorTest {
 protected:
  struct Moment {
    MemoryStore& store;
    RolloutControl& control;
    RolloutExecutor& executor;

    Rollout Get() { return control.Find("spring").value(); }
    Migration Find(std::size_t data_center) { return store.Load()->at(data_center); }
  };
  using Action = std::function<void(Moment&)>;

  void AtEveryMoment(const Action& act, const Action& check) {
    int moment = 0;
    for (bool is_reached = true; is_reached; ++moment) {
      SCOPED_TRACE(absl::StrCat("moment ", moment));
      MemoryStore store([this] { return clocks_.wall; });
      for (const char* name : {"ams", "sin"}) {
        ASSERT_THAT(store.EnsureExists({name, Share::None(), name, "router", ""}), IsOk());
      }
      RolloutControl control(store, Options().writer);
      RolloutPlan plan = TwoStepPlan();
      for (RolloutStep& step : plan.steps) step.bake = seconds(3);
      ASSERT_THAT(control.Create(plan, "eva", ""), IsOk());
      WatchedStore watched(store);
      auto executor = NewExecutor(watched);
      Moment now{store, control, *executor};
      is_reached = false;
      StoreContents after;
      int looks = 0;
      const auto look = [&] {
        if (is_reached || looks++ < moment || now.Get().is_finished()) return;
        is_reached = true;
        act(now);
        after = Contents(store);
      };
      watched.look = look;
      guards_.on_measure = look;
      Run(seconds(30), *executor);
      if (!is_reached) break;
      EXPECT_TRUE(Contents(store) == after);
      check(now);
    }
    EXPECT_GT(moment, 40);
  }

  // Whoever comes first takes a term, and that is no change.
  static StoreContents Contents(MemoryStore& store) {
    StoreContents contents = store.Export().value();
    contents.last_rollout_term = 0;
    return contents;
  }
};

TEST_F(RolloutInterruptionTest, ARollbackIsTakenAndStandsWhateverComesAfterwards) {
  AtEveryMoment(
      [](Moment& now) {
        Migration ams = now.Find(0);
        ams.share = Share::None();
        ams.is_frozen = true;
        EXPECT_THAT(now.store.Update({ChangeKind::kRolledBack, {ams}, "bob", "misses", ""}),
                    IsOk());
        EXPECT_EQ(now.Get().phase, RolloutPhase::kPaused);
      },
      [this](Moment& now) {
        const Migration ams = now.Find(0);
        ASSERT_THAT(now.control.Resume("spring", "eva", "without ams"), IsOk());
        Run(seconds(30), now.executor);
        EXPECT_EQ(now.Get().phase, RolloutPhase::kDone);
        EXPECT_EQ(now.Find(0), ams);
        EXPECT_EQ(now.Find(1).share, PercentOf("50"));
      });
}

TEST_F(RolloutInterruptionTest, AnAbortIsTakenAndStandsWhateverComesAfterwards) {
  AtEveryMoment(
      [](Moment& now) {
        EXPECT_THAT(now.control.Abort("spring", "bob", "misses"), IsOk());
        EXPECT_EQ(now.Get().phase, RolloutPhase::kAborted);
      },
      [](Moment& now) {
        EXPECT_EQ(now.Find(0).share, Share::None());
        EXPECT_EQ(now.Find(1).share, Share::None());
      });
}

TEST_F(RolloutInterruptionTest, APauseIsTakenAndAfterItEachStepIsTakenOnce) {
  AtEveryMoment(
      [](Moment& now) {
        EXPECT_THAT(now.control.Pause("spring", "bob", "lunch"), IsOk());
        EXPECT_EQ(now.Get().phase, RolloutPhase::kPaused);
      },
      [this](Moment& now) {
        ASSERT_THAT(now.control.Resume("spring", "bob", ""), IsOk());
        Run(seconds(30), now.executor);
        EXPECT_EQ(now.Get().phase, RolloutPhase::kDone);
        const StoreContents contents = now.store.Export().value();
        ASSERT_EQ(contents.history.size(), 5);  // two that make the migrations
        EXPECT_EQ(contents.history[2].to, PercentOf("10"));
        EXPECT_EQ(contents.history[3].to, PercentOf("50"));
        EXPECT_EQ(contents.history[4].to, PercentOf("50"));
      });
}

// 30 steps of two data centers, killed 100 times: each change once and in order, and each step
// baked for its whole time.
void RunAndKill(std::uint32_t seed, std::unique_ptr<MigrationStore> store,
                const std::function<std::unique_ptr<MigrationStore>()>& reopen) {
  constexpr int kSteps = 30;
  constexpr int kKills = 100;
  constexpr milliseconds kBake = seconds(20);
  Clocks clocks;
  FakeGuards guards;
  FakeLimiter limiter;
  RolloutExecutor::Options options;
  options.writer.clock = [&] { return clocks.wall; };
  options.now = [&] { return clocks.now; };
  options.checkpoint = seconds(3);

  RolloutPlan plan{"thirty", {}};
  std::vector<std::string> expected;
  for (int i = 1; i <= kSteps; ++i) {
    const std::string percent = Share::FromPpm(i * 33'333)->ToPercent();
    plan.steps.push_back(
        StepOf({"ams", "sin"}, percent, kBake, {testing::ErrorGuard(OnBad::kAbort)}));
    expected.push_back("ams " + percent);
    expected.push_back("sin " + percent);
  }
  for (const char* name : {"ams", "sin"}) {
    ASSERT_THAT(store->EnsureExists({name, Share::None(), name, "router", ""}), IsOk());
  }
  ASSERT_THAT(RolloutControl(*store, options.writer).Create(plan, "eva", ""), IsOk());

  std::mt19937 random(seed);
  int kills = 0;
  int looks = 0;
  // Each life ends at one of its next 24 or so looks.
  std::function<void()> look = [&] {
    if (kills < kKills && --looks <= 0) {
      ++kills;
      throw Killed();
    }
  };
  guards.on_measure = look;
  std::map<std::string, std::chrono::steady_clock::time_point> raised;  // by share of `ams`
  int ticks = 0;
  while (ticks < 20'000) {
    looks = 1 + static_cast<int>(random() % 24);
    KillingStore killing(*store);
    killing.look = look;
    RolloutExecutor executor(killing, guards, limiter, options);
    try {
      for (; ticks < 20'000; ++ticks) {
        ASSERT_THAT(executor.Tick(), IsOk());
        raised.try_emplace(store->Load()->front().share.ToPercent(), clocks.now);
        if (store->LoadRollouts(WhichRollouts::kUnfinished)->empty()) break;
        clocks.Pass(milliseconds(500 + random() % 1000));
      }
      break;
    } catch (const Killed&) {
      raised.try_emplace(store->Load()->front().share.ToPercent(), clocks.now);
      clocks.Pass(milliseconds(random() % 60'000));
      if (reopen == nullptr) continue;
      store.reset();
      store = reopen();
    }
  }
  EXPECT_EQ(kills, kKills);
  const StoreContents contents = store->Export().value();
  ASSERT_EQ(contents.rollouts.size(), 1);
  EXPECT_EQ(contents.rollouts[0].phase, RolloutPhase::kDone);
  std::vector<std::string> changes;
  for (const MigrationChange& change : contents.history) {
    if (change.kind == ChangeKind::kCreated) continue;
    EXPECT_EQ(change.kind, ChangeKind::kShare);
    changes.push_back(absl::StrCat(change.data_center, " ", change.to->ToPercent()));
  }
  EXPECT_EQ(changes, expected);
  for (int i = 2; i <= kSteps; ++i) {
    const auto before = raised.at(Share::FromPpm((i - 1) * 33'333)->ToPercent());
    const auto after = raised.at(Share::FromPpm(i * 33'333)->ToPercent());
    EXPECT_GE(after - before, kBake) << "step " << i;
  }
}

class RolloutKillSeedTest : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(, RolloutKillSeedTest, ::testing::Range(1U, 21U));

TEST_P(RolloutKillSeedTest, AHundredKillsLeaveEveryChangeOnceAndInOrder) {
  RunAndKill(GetParam(), std::make_unique<MemoryStore>(), nullptr);
}

TEST(RolloutKillTest, OnSqliteToo) {
  std::string folder = ::testing::TempDir() + "/ringshift-kill-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto open = [&]() -> std::unique_ptr<MigrationStore> {
    return SqliteStore::Open(folder + "/state.db", SqliteStore::IfMissing::kCreate).value();
  };
  RunAndKill(99, open(), open);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ringshift
