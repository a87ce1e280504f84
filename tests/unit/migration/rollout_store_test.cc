// What every MigrationStore does with rollouts: the one on SQLite, and the one in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/rollout_machine.h"
#include "migration/sqlite_store.h"
#include "migration/store.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/migration/rollout_testing.h"
#include "tests/unit/server/memory_store.h"

namespace ringshift {
namespace {

using absl::StatusCode;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::PercentOf;
using testing::SetShare;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::StepOf;
using testing::TwoStepPlan;

enum class Kind { kSqlite, kMemory };

class RolloutStoreTest : public ::testing::TestWithParam<Kind> {
 protected:
  RolloutStoreTest() {
    if (GetParam() == Kind::kSqlite) {
      std::string pattern = ::testing::TempDir() + "/ringshift-rollout-XXXXXX";
      EXPECT_NE(mkdtemp(pattern.data()), nullptr);
      folder_ = pattern;
    }
    store_ = Open("state.db");
    for (const char* name : {"ams", "fra", "sin"}) Make(*store_, name);
  }
  ~RolloutStoreTest() override {
    store_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<MigrationStore> Open(const std::string& file) {
    // One second later at each look.
    const WallClock clock = [this] { return now_ += std::chrono::seconds(1); };
    if (GetParam() == Kind::kMemory) return std::make_unique<testing::MemoryStore>(clock);
    return SqliteStore::Open(folder_ + "/" + file, SqliteStore::IfMissing::kCreate, clock).value();
  }
  static void Make(MigrationStore& store, const std::string& name) {
    ASSERT_THAT(store.EnsureExists({name, Share::None(), name, "router", "first start"}), IsOk());
  }

  absl::StatusOr<Rollout> Create(const RolloutPlan& plan) {
    RolloutUpdate update;
    update.rollout.plan = plan;
    update.rollout.actor = "eva";
    update.rollout.reason = "new ring";
    return store_->SaveRollout(update);
  }
  Migration Get(const std::string& name) {
    const std::vector<Migration> migrations = store_->Load().value();
    for (const Migration& migration : migrations) {
      if (migration.data_center == name) return migration;
    }
    return {};
  }
  Rollout GetRollout(const std::string& name) {
    const std::vector<Rollout> rollouts = store_->LoadRollouts(WhichRollouts::kAll).value();
    for (const Rollout& rollout : rollouts) {
      if (rollout.plan.name == name) return rollout;
    }
    return {};
  }
  // The first change of a rollout's first step, as the executor of a term would make it.
  MigrationUpdate FirstStep(const Rollout& rollout, std::int64_t term) {
    RolloutObservation seen;
    for (const RolloutStep& step : rollout.plan.steps) {
      for (const std::string& name : step.data_centers) seen.shares[name] = Get(name).share;
    }
    seen.guards.assign(kMaxGuards, {GuardVerdict::Kind::kGood, ""});
    const RolloutDecision decision = Advance(rollout, seen);
    MigrationUpdate update;
    update.actor = "rollout:spring";
    for (const auto& [name, share] : decision.shares) {
      update.migrations.push_back(Get(name));
      update.migrations.back().share = share;
    }
    update.rollout = RolloutUpdate{decision.next, term};
    return update;
  }
  absl::Status RollBack(const std::string& name) {
    Migration migration = Get(name);
    migration.share = Share::None();
    migration.is_frozen = true;
    return store_->Update({ChangeKind::kRolledBack, {migration}, "bob", "misses", ""}).status();
  }
  // An attempt that fails leaves everything as it was.
  void ExpectRefused(const std::function<absl::Status()>& attempt, StatusCode code,
                     const std::string& message) {
    const StoreContents before = store_->Export().value();
    EXPECT_THAT(attempt(), StatusIs(code, HasSubstr(message)));
    EXPECT_TRUE(store_->Export().value() == before) << message;
  }

  WallTime now_{std::chrono::seconds(1'800'000'000)};
  std::string folder_;
  std::unique_ptr<MigrationStore> store_;
};

INSTANTIATE_TEST_SUITE_P(, RolloutStoreTest, ::testing::Values(Kind::kSqlite, Kind::kMemory),
                         [](const auto& param) {
                           return param.param == Kind::kSqlite ? "Sqlite" : "Memory";
                         });

TEST_P(RolloutStoreTest, ANewRolloutIsPendingWhateverElseItSays) {
  RolloutUpdate update;
  update.rollout.plan = TwoStepPlan();
  update.rollout.actor = "eva";
  update.rollout.reason = "new ring";
  update.rollout.phase = RolloutPhase::kDone;
  update.rollout.step = 1;
  update.rollout.raised = {"ams"};
  const std::int64_t before = store_->Export()->last_revision;
  ASSERT_OK_AND_ASSIGN(const Rollout made, store_->SaveRollout(update));
  Rollout expected;
  expected.plan = TwoStepPlan();
  expected.actor = "eva";
  expected.reason = "new ring";
  expected.revision = before + 1;
  expected.create_time = expected.update_time = now_;
  EXPECT_EQ(made, expected);
  EXPECT_THAT(store_->LoadRollouts(WhichRollouts::kAll), IsOkAndHolds(ElementsAre(expected)));
}

TEST_P(RolloutStoreTest, ARolloutThatMayNotBeginIsRefused) {
  const auto create = [this](const RolloutPlan& plan) {
    return [this, plan] { return Create(plan).status(); };
  };
  RolloutPlan plan = TwoStepPlan();
  plan.steps[0].share = Share::None();
  ExpectRefused(create(plan), StatusCode::kInvalidArgument, "step 1: its share is 0");

  plan = TwoStepPlan();
  plan.steps[1].data_centers = {"ams", "tokyo"};
  ExpectRefused(create(plan), StatusCode::kNotFound,
                "rollout \"spring\", step 2: data center \"tokyo\" has no migration");

  ASSERT_THAT(SetShare(*store_, {"ams", PercentOf("10.0001"), std::nullopt, "eva", ""}), IsOk());
  ExpectRefused(create(TwoStepPlan()), StatusCode::kFailedPrecondition,
                "data center \"ams\" has share 10.0001 %, above the 10 % of the step");

  ASSERT_THAT(RollBack("ams"), IsOk());
  ExpectRefused(create(TwoStepPlan()), StatusCode::kFailedPrecondition,
                "data center \"ams\" was rolled back and is frozen; unfreeze it, or leave it out");
}

TEST_P(RolloutStoreTest, ANameIsGivenOnce) {
  ASSERT_OK_AND_ASSIGN(Rollout rollout, Create(TwoStepPlan()));
  ExpectRefused([this] { return Create(TwoStepPlan()).status(); }, StatusCode::kAlreadyExists,
                "there is a rollout \"spring\" (pending, step 1 of 2) already");
  rollout.phase = RolloutPhase::kAborted;
  ASSERT_THAT(store_->SaveRollout({rollout, std::nullopt}), IsOk());
  ExpectRefused([this] { return Create(TwoStepPlan()).status(); }, StatusCode::kAlreadyExists,
                "give the new one another name");
}

TEST_P(RolloutStoreTest, UnfinishedRolloutsDoNotOverlap) {
  ASSERT_OK_AND_ASSIGN(Rollout spring, Create(TwoStepPlan()));
  const RolloutPlan summer{"summer", {StepOf({"fra", "sin"}, "5", minutes(1))}};
  ExpectRefused(
      [&] { return Create(summer).status(); }, StatusCode::kFailedPrecondition,
      "data center \"sin\" is in rollout \"spring\" (pending, step 1 of 2) already; abort "
      "that one, or leave the data center out of this one");
  EXPECT_THAT(Create({"autumn", {StepOf({"fra"}, "5", minutes(1))}}), IsOk());

  spring.phase = RolloutPhase::kAborted;
  ASSERT_THAT(store_->SaveRollout({spring, std::nullopt}), IsOk());
  EXPECT_THAT(Create({"winter", {StepOf({"ams", "sin"}, "5", minutes(1))}}), IsOk());
  EXPECT_THAT(store_->LoadRollouts(WhichRollouts::kAll), IsOkAndHolds(SizeIs(3)));
  ASSERT_OK_AND_ASSIGN(const auto unfinished, store_->LoadRollouts(WhichRollouts::kUnfinished));
  ASSERT_THAT(unfinished, SizeIs(2));
  EXPECT_EQ(unfinished[0].plan.name, "autumn");
  EXPECT_EQ(unfinished[1].plan.name, "winter");
}

TEST_P(RolloutStoreTest, ADataCenterInARolloutRefusesEveryOtherChange) {
  ASSERT_THAT(Create(TwoStepPlan()), IsOk());
  const std::string who = "data center \"sin\" is in rollout \"spring\" (pending, step 1 of 2)";
  for (const ChangeKind kind : {ChangeKind::kShare, ChangeKind::kUnfrozen, ChangeKind::kRetired}) {
    // With another one, which does not change either.
    ExpectRefused(
        [&] {
          return store_->Update({kind, {Get("fra"), Get("sin")}, "eva", "", ""}).status();
        },
        StatusCode::kFailedPrecondition, who);
  }
  ExpectRefused(
      [&] {
        return store_->Update({ChangeKind::kShare, {Get("sin")}, "", "", ""}).status();
      },
      StatusCode::kFailedPrecondition,
      "leave it out of this change, or abort the rollout, or roll the data center back");
  ExpectRefused(
      [&] {
        return store_->Forget({"sin", std::nullopt, "eva", ""}).status();
      },
      StatusCode::kFailedPrecondition, who);
  ExpectRefused(
      [&] {
        return store_->Rename({"sin", "sgp", false, "eva", ""}).status();
      },
      StatusCode::kFailedPrecondition, who);
  ExpectRefused(
      [&] {
        return store_->Rename({"fra", "sin", false, "eva", ""}).status();
      },
      StatusCode::kFailedPrecondition, who);
  EXPECT_THAT(store_->Update({ChangeKind::kRestored, {Get("sin")}, "eva", "", ""}), IsOk());
  EXPECT_THAT(SetShare(*store_, {"fra", PercentOf("5"), std::nullopt, "eva", ""}), IsOk());
}

TEST_P(RolloutStoreTest, AfterARolloutItsDataCentersAreFree) {
  ASSERT_OK_AND_ASSIGN(Rollout rollout, Create(TwoStepPlan()));
  rollout.step = 1;
  ASSERT_OK_AND_ASSIGN(rollout, store_->SaveRollout({rollout, std::nullopt}));
  rollout.phase = RolloutPhase::kDone;
  rollout.step = 2;
  ASSERT_THAT(store_->SaveRollout({rollout, std::nullopt}), IsOk());
  EXPECT_THAT(SetShare(*store_, {"sin", PercentOf("5"), std::nullopt, "eva", ""}), IsOk());
  EXPECT_THAT(store_->Rename({"sin", "sgp", false, "eva", ""}), IsOk());
  EXPECT_THAT(store_->Forget({"ams", std::nullopt, "eva", ""}), IsOk());
}

TEST_P(RolloutStoreTest, ARollbackPausesTheRolloutAndTakesTheDataCenterOut) {
  ASSERT_THAT(Create(TwoStepPlan()), IsOk());
  ASSERT_THAT(RollBack("sin"), IsOk());
  const Rollout rollout = GetRollout("spring");
  EXPECT_EQ(rollout.phase, RolloutPhase::kPaused);
  EXPECT_EQ(rollout.actor, "bob");
  EXPECT_EQ(rollout.reason, "data center \"sin\" was rolled back: misses");
  EXPECT_THAT(rollout.taken_out, ElementsAre("sin"));
  EXPECT_EQ(rollout.revision, Get("sin").revision);
  EXPECT_EQ(rollout.update_time, Get("sin").update_time);
  // And is free then, in time for whoever looks after it.
  Migration sin = Get("sin");
  sin.is_frozen = false;
  EXPECT_THAT(store_->Update({ChangeKind::kUnfrozen, {sin}, "bob", "", ""}), IsOk());
  EXPECT_THAT(SetShare(*store_, {"sin", PercentOf("5"), std::nullopt, "eva", ""}), IsOk());
}

TEST_P(RolloutStoreTest, ARollbackOfAllEndsTheRolloutsThatHaveThem) {
  ASSERT_THAT(Create(TwoStepPlan()), IsOk());
  ASSERT_THAT(Create({"summer", {StepOf({"fra"}, "5", minutes(1))}}), IsOk());
  std::vector<Migration> all = store_->Load().value();
  for (Migration& migration : all) migration.is_frozen = true;
  ASSERT_THAT(store_->Update({ChangeKind::kRolledBack, all, "bob", "misses", ""}), IsOk());
  EXPECT_EQ(GetRollout("spring").phase, RolloutPhase::kAborted);
  EXPECT_EQ(GetRollout("summer").phase, RolloutPhase::kAborted);
}

TEST_P(RolloutStoreTest, AStepChangesSharesAndRolloutTogether) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOkAndHolds(1));
  ASSERT_THAT(store_->Update(FirstStep(rollout, 1)), IsOk());
  EXPECT_EQ(Get("ams").share, PercentOf("10"));
  const Rollout after = GetRollout("spring");
  EXPECT_EQ(after.phase, RolloutPhase::kRunning);
  EXPECT_TRUE(after.is_baking);
  EXPECT_EQ(after.executor_term, 1);
  EXPECT_EQ(after.revision, Get("ams").revision);
  EXPECT_EQ(after.create_time, rollout.create_time);
}

TEST_P(RolloutStoreTest, AStepThatWasTakenAlreadyIsNotTakenAgain) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOk());
  MigrationUpdate step = FirstStep(rollout, 1);
  ASSERT_THAT(store_->Update(step), IsOk());
  step.migrations[0] = Get("ams");  // as if only the rollout were old
  ExpectRefused([&] { return store_->Update(step).status(); }, StatusCode::kAborted,
                "read it again and decide again");
  ExpectRefused([&] { return store_->SaveRollout(*step.rollout).status(); }, StatusCode::kAborted,
                "rollout \"spring\" (running, step 1 of 2) is at revision");
}

TEST_P(RolloutStoreTest, AStepWithAnOldMigrationChangesNothing) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOk());
  MigrationUpdate step = FirstStep(rollout, 1);
  step.migrations[0].revision -= 1;
  ExpectRefused([&] { return store_->Update(step).status(); }, StatusCode::kAborted,
                "the migration of \"ams\" is at revision");
}

TEST_P(RolloutStoreTest, AnExecutorOfAnEarlierTermChangesNothing) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOkAndHolds(1));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOkAndHolds(2));
  ExpectRefused([&] { return store_->Update(FirstStep(rollout, 1)).status(); },
                StatusCode::kFailedPrecondition,
                "the executor of term 1 is not to change rollout \"spring\" any more: another one "
                "has taken over, with term 2");
  ExpectRefused(
      [&] {
        return store_->SaveRollout({rollout, 1}).status();
      },
      StatusCode::kFailedPrecondition, "the executor of term 1");
  ExpectRefused(
      [&] {
        return store_->SaveRollout({rollout, 3}).status();
      },
      StatusCode::kInvalidArgument, "executor term 3 was never given");
  EXPECT_THAT(store_->Update(FirstStep(rollout, 2)), IsOk());
}

TEST_P(RolloutStoreTest, AStepIsOfItsOwnDataCenters) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOk());
  MigrationUpdate step = FirstStep(rollout, 1);
  step.migrations.push_back(Get("fra"));
  ExpectRefused([&] { return store_->Update(step).status(); }, StatusCode::kInvalidArgument,
                "with data center \"fra\", which is not in it");
}

TEST_P(RolloutStoreTest, APlanDoesNotChange) {
  ASSERT_OK_AND_ASSIGN(Rollout rollout, Create(TwoStepPlan()));
  rollout.plan.steps[0].bake += minutes(1);
  ExpectRefused(
      [&] {
        return store_->SaveRollout({rollout, std::nullopt}).status();
      },
      StatusCode::kInvalidArgument, "cannot change");
  rollout.plan = TwoStepPlan();
  rollout.plan.name = "summer";
  ExpectRefused(
      [&] {
        return store_->SaveRollout({rollout, std::nullopt}).status();
      },
      StatusCode::kNotFound, "there is no rollout \"summer\"");
}

// Whoever writes whatever.
TEST_P(RolloutStoreTest, NoStepIsSkippedOrTakenAgainAndNothingIsForgotten) {
  RolloutPlan plan = TwoStepPlan();
  plan.steps.push_back(plan.steps.back());
  ASSERT_OK_AND_ASSIGN(Rollout rollout, Create(plan));
  rollout.step = 1;
  rollout.raised = {"ams"};
  rollout.taken_out = {"sin"};
  ASSERT_OK_AND_ASSIGN(rollout, store_->SaveRollout({rollout, std::nullopt}));
  struct Case {
    std::function<void(Rollout&)> change;
    const char* message;
  };
  const std::vector<Case> cases = {
      {[](Rollout& r) { r.step = 0; },
       "rollout \"spring\" (pending, step 2 of 3) cannot go to step 1: steps are taken one after"},
      {[](Rollout& r) {
         r.step = 3;
         r.phase = RolloutPhase::kDone;
       },
       "(pending, step 2 of 3) cannot be done: steps are taken one after"},
      {[](Rollout& r) { r.step = 3; }, "is at a step that it has not"},
      {[](Rollout& r) { r.phase = RolloutPhase::kDone; }, "is at a step that it has not"},
      {[](Rollout& r) { r.phase = static_cast<RolloutPhase>(8); }, "is in phase 8, not 1 to 7"},
      {[](Rollout& r) { r.changes = -1; }, "has made -1 changes"},
      {[](Rollout& r) { r.baked = std::chrono::milliseconds(-1); }, "has baked -1 ms"},
      {[](Rollout& r) { r.raised = {}; }, "forgets a data center"},
      {[](Rollout& r) { r.taken_out = {}; }, "forgets a data center"},
      {[](Rollout& r) {
         r.raised = {"sin", "ams"};
       },
       "names that are not in order"},
      {[](Rollout& r) {
         r.raised = {"ams", "fra"};
       },
       "which is in none of its steps"}};
  for (const Case& c : cases) {
    Rollout next = rollout;
    c.change(next);
    ExpectRefused(
        [&] {
          return store_->SaveRollout({next, std::nullopt}).status();
        },
        StatusCode::kInvalidArgument, c.message);
  }
}

// Whoever writes whatever.
TEST_P(RolloutStoreTest, NothingComesBackFromAnAbort) {
  ASSERT_OK_AND_ASSIGN(Rollout rollout, Create(TwoStepPlan()));
  constexpr RolloutPhase kPhases[] = {RolloutPhase::kPending, RolloutPhase::kRunning,
                                      RolloutPhase::kHolding, RolloutPhase::kPaused,
                                      RolloutPhase::kDone};
  for (const RolloutPhase absorbing : {RolloutPhase::kAborting, RolloutPhase::kAborted}) {
    rollout.phase = absorbing;
    ASSERT_OK_AND_ASSIGN(rollout, store_->SaveRollout({rollout, std::nullopt}));
    for (const RolloutPhase phase : kPhases) {
      Rollout next = rollout;
      next.phase = phase;
      ExpectRefused(
          [&] {
            return store_->SaveRollout({next, std::nullopt}).status();
          },
          StatusCode::kFailedPrecondition, "create a new one");
    }
  }
}

TEST_P(RolloutStoreTest, ACopyOfTheStoreHasTheRolloutsAndTheTerm) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(Create({"summer", {StepOf({"fra"}, "5", minutes(1))}}), IsOk());
  ASSERT_THAT(store_->NextRolloutTerm(), IsOk());
  ASSERT_THAT(store_->Update(FirstStep(rollout, 1)), IsOk());
  const StoreContents contents = store_->Export().value();
  EXPECT_THAT(contents.rollouts, SizeIs(2));
  EXPECT_EQ(contents.last_rollout_term, 1);
  const auto copy = Open("copy.db");
  ASSERT_THAT(copy->Import(contents), IsOk());
  EXPECT_THAT(copy->Export(), IsOkAndHolds(contents));
  EXPECT_THAT(copy->NextRolloutTerm(), IsOkAndHolds(2));
}

TEST_P(RolloutStoreTest, ContentsWhoseRolloutsMakeNoSenseAreRefused) {
  ASSERT_THAT(Create(TwoStepPlan()), IsOk());
  ASSERT_THAT(Create({"summer", {StepOf({"fra"}, "5", minutes(1))}}), IsOk());
  const StoreContents good = store_->Export().value();
  struct Case {
    std::function<void(StoreContents&)> spoil;
    const char* message;
  };
  const std::vector<Case> cases = {
      {[](StoreContents& c) { c.last_rollout_term = -1; }, "the last term, -1"},
      {[](StoreContents& c) { c.rollouts[0].executor_term = 1; }, "executor term 1 of rollout"},
      {[](StoreContents& c) { c.rollouts[0].revision = 0; }, "revision 0 of rollout \"spring\""},
      {[](StoreContents& c) { c.rollouts[0].revision = c.last_revision + 1; }, "to the last one"},
      {[](StoreContents& c) { std::swap(c.rollouts[0], c.rollouts[1]); }, "\"spring\" behind"},
      {[](StoreContents& c) { c.rollouts[0].plan.steps.clear(); }, "has 0 steps"},
      {[](StoreContents& c) { c.rollouts[0].step = 2; }, "at a step that it has not"},
      {[](StoreContents& c) { c.rollouts[0].baked = kMaxBake + minutes(1); }, "has baked"},
      {[](StoreContents& c) {
         c.rollouts[0].phase = RolloutPhase::kAborted;
         c.rollouts[0].step = 1000;
       },
       "at a step that it has not"},
      {[](StoreContents& c) { c.rollouts[1].plan.steps[0].data_centers = {"sin"}; },
       "data center \"sin\" is in the rollouts \"spring\" and \"summer\""}};
  const auto copy = Open("copy.db");
  for (const Case& c : cases) {
    StoreContents contents = good;
    c.spoil(contents);
    EXPECT_THAT(copy->Import(contents),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
  EXPECT_THAT(copy->Export(), IsOkAndHolds(StoreContents()));
}

class SqliteRolloutStoreTest : public RolloutStoreTest {
 protected:
  void Reopen() {
    store_.reset();
    store_ = Open("state.db");
  }
};
INSTANTIATE_TEST_SUITE_P(, SqliteRolloutStoreTest, ::testing::Values(Kind::kSqlite),
                         [](const auto&) { return "Sqlite"; });

TEST_P(SqliteRolloutStoreTest, RolloutsAndTermsOutliveTheProcess) {
  ASSERT_OK_AND_ASSIGN(const Rollout rollout, Create(TwoStepPlan()));
  ASSERT_THAT(store_->NextRolloutTerm(), IsOk());
  ASSERT_THAT(store_->Update(FirstStep(rollout, 1)), IsOk());
  const StoreContents before = store_->Export().value();
  Reopen();
  EXPECT_TRUE(store_->Export().value() == before);
  EXPECT_THAT(store_->NextRolloutTerm(), IsOkAndHolds(2));
  EXPECT_THAT(SetShare(*store_, {"ams", PercentOf("5"), std::nullopt, "eva", ""}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is in rollout \"spring\"")));
}

}  // namespace
}  // namespace ringshift
