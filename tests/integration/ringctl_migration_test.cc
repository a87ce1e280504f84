// ringctl's commands that move data centers between rings, against an admin port that answers what
// a test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/integration/fake_admin.h"
#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/integration/terminal.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Binary;
using ::ringshift::testing::Completed;
using ::ringshift::testing::FakeAdmin;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::RunOnTerminal;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RingctlMigrationTest : public ::testing::Test {
 protected:
  RingctlMigrationTest() {
    Add("ams", "canary", 100'000, 7);
    Add("fra", "canary", 100'000, 9);
    Add("lhr", "large", 0, 5);
  }

  v1::Migration& Add(const std::string& name, const std::string& tier, int ppm, int revision) {
    v1::Migration& migration = fake_.migrations[name];
    migration.set_data_center(name);
    migration.set_tier(tier);
    migration.set_v2_ppm(ppm);
    migration.set_effective_v2_ppm(ppm);
    migration.set_revision(revision);
    migration.set_actor("ops@host");
    migration.set_has_v1(true);
    return migration;
  }
  void Forecast(const std::string& name, double churn, int revision) {
    v1::Forecast& forecast = *fake_.forecast.add_forecasts();
    forecast.set_data_center(name);
    forecast.set_from_v2_ppm(100'000);
    forecast.set_to_v2_ppm(250'000);
    forecast.set_churn(churn);
    forecast.set_revision(revision);
  }

  std::vector<std::string> WithServer(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--server", fake_.address()});
    return arguments;
  }
  Completed Run(std::vector<std::string> arguments) const {
    return Ringctl(WithServer(std::move(arguments)));
  }
  // A person is asked, and types `answer`.
  Completed RunAsked(std::vector<std::string> arguments, const std::string& answer) const {
    arguments.insert(arguments.begin(), Binary("ringctl"));
    return RunOnTerminal(WithServer(std::move(arguments)), [&] { return answer; });
  }

  FakeAdmin fake_;
};

TEST_F(RingctlMigrationTest, ASetOfATierIsOneCallAndListsWhatChanged) {
  Forecast("ams", 0.13, 7);
  Forecast("fra", 0.14, 9);
  const Completed result = Run({"migration", "set", "--tier", "canary", "--percent", "25",
                                "--reason", "next", "--yes", "--hit-ratio", "0.95"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("DATA CENTER  BEFORE  AFTER  EFFECTIVE  STATE  REVISION\n"
                                    "ams             10%    25%        25%  -             7\n"
                                    "fra             10%    25%        25%  -             9\n"));
  ASSERT_THAT(fake_.forecasts, SizeIs(1));
  EXPECT_EQ(fake_.forecasts[0].selector().tier(), "canary");
  EXPECT_EQ(fake_.forecasts[0].v2_ppm(), 250'000);
  EXPECT_EQ(fake_.forecasts[0].hit_ratio(), 0.95);
  ASSERT_THAT(fake_.sets, SizeIs(1));
  EXPECT_EQ(fake_.sets[0].selector().tier(), "canary");
  EXPECT_EQ(fake_.sets[0].v2_ppm(), 250'000);
  EXPECT_EQ(fake_.sets[0].base_revision(), 9) << "the newest of what was shown";
  EXPECT_EQ(fake_.sets[0].reason(), "next");
  EXPECT_THAT(fake_.sets[0].requested_by(), HasSubstr("@"));
  EXPECT_FALSE(fake_.sets[0].accept_imbalance());
  EXPECT_FALSE(fake_.sets[0].has_max_churn_ppm());
}

TEST_F(RingctlMigrationTest, ASetInJsonHasTheForecastsAndTheChanges) {
  Forecast("ams", 0.13, 7);
  const Completed result =
      Run({"migration", "set", "--data-center", "ams", "--percent", "0", "--yes", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto json = ParseJsonObject(result.out);
  ASSERT_EQ(Member(json, "forecasts").list_value().values_size(), 1);
  EXPECT_EQ(Member(Member(json, "forecasts").list_value().values(0).struct_value(), "churn")
                .number_value(),
            0.13);
  const auto changes = Member(json, "changes").list_value();
  ASSERT_EQ(changes.values_size(), 1);
  const auto change = changes.values(0).struct_value();
  EXPECT_EQ(Member(change, "previous_v2_ppm").number_value(), 100'000);
  EXPECT_EQ(Member(Member(change, "migration").struct_value(), "v2_ppm").number_value(), 0);
}

TEST_F(RingctlMigrationTest, APersonSeesTheForecastAndHowManyDataCentersChange) {
  Forecast("ams", 0.13, 7);
  const std::vector<std::string> command = {"migration", "set", "--all", "--percent", "25"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_EQ(declined.exit_code, 1);
  EXPECT_THAT(
      declined.out,
      AllOf(HasSubstr("13."),
            HasSubstr("Change the share of v2 in 3 data centers (ams, fra, lhr) to 25%? [y/N] "),
            HasSubstr("nothing was changed: not confirmed")));
  EXPECT_THAT(fake_.sets, IsEmpty());
  const Completed confirmed = RunAsked(command, "y\n");
  EXPECT_EQ(confirmed.exit_code, 0) << confirmed.out;
  ASSERT_THAT(fake_.sets, SizeIs(1));
  EXPECT_TRUE(fake_.sets[0].selector().all());
}

TEST_F(RingctlMigrationTest, BeyondTenDataCentersTheQuestionCountsTheOthers) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) Add(name, "", 0, 1);
  const Completed declined = RunAsked({"migration", "set", "--all", "--percent", "1"}, "n\n");
  EXPECT_THAT(declined.out, HasSubstr("in 12 data centers (a, ams, b, c, d, e, f, fra, g, h and 2 "
                                      "more) to 1%? [y/N] "));
}

TEST_F(RingctlMigrationTest, WithoutAForecastAPersonIsAskedAllTheSame) {
  fake_.forecast_status = {grpc::StatusCode::UNIMPLEMENTED, ""};
  const std::vector<std::string> command = {"migration", "set",       "--data-center",
                                            "ams",       "--percent", "25"};
  const Completed confirmed = RunAsked(command, "y\n");
  EXPECT_EQ(confirmed.exit_code, 0) << confirmed.out;
  EXPECT_THAT(confirmed.out, AllOf(HasSubstr("warning: there is no forecast of this change: "),
                                   HasSubstr("from 10% to 25%? [y/N] ")));
  const Completed told =
      Run({"migration", "set", "--data-center", "ams", "--percent", "30", "--yes"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.err, AllOf(StartsWith("ringctl: warning: there is no forecast of this change: " +
                                         fake_.address() + " answered UNIMPLEMENTED; "),
                              HasSubstr("going on, because of --yes")));
  EXPECT_THAT(fake_.sets, SizeIs(2));
  fake_.forecast_status = {grpc::StatusCode::DEADLINE_EXCEEDED, ""};
  const Completed late = RunAsked(command, "n\n");
  EXPECT_THAT(late.out, AllOf(HasSubstr("there is no forecast of this change: no answer from " +
                                        fake_.address() + " within 30s"),
                              HasSubstr("to 25%? [y/N] ")));
}

TEST_F(RingctlMigrationTest, WithALimitOnTheChurnThereMustBeAForecast) {
  fake_.forecast_status = {grpc::StatusCode::UNIMPLEMENTED, ""};
  const std::vector<std::string> command = {
      "migration", "set", "--data-center", "ams", "--percent", "25", "--max-churn", "2%", "--yes"};
  const Completed none = Run(command);
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.err, HasSubstr("nothing was changed, because there is no forecast to hold "
                                  "against --max-churn: "));
  fake_.forecast_status = grpc::Status::OK;
  Forecast("ams", 0, 7);
  fake_.forecast.mutable_forecasts(0)->set_unavailable_reason("v1 is retired");
  const Completed unavailable = Run(command);
  EXPECT_EQ(unavailable.exit_code, 5);
  EXPECT_THAT(unavailable.err, HasSubstr("there is no forecast of ams to hold against --max-churn: "
                                         "v1 is retired"));
  EXPECT_THAT(fake_.sets, IsEmpty());
}

TEST_F(RingctlMigrationTest, MoreChurnThanTheLimitChangesNothing) {
  Forecast("ams", 0.0200001, 7);
  const Completed above = Run({"migration", "set", "--data-center", "ams", "--percent", "25",
                               "--max-churn", "2%", "--yes"});
  EXPECT_EQ(above.exit_code, 5);
  EXPECT_THAT(above.err, HasSubstr("nothing was changed, because 2.0000% of the key space of ams "
                                   "would get another owner, more than the 2% of --max-churn"));
  const Completed dry = Run({"migration", "set", "--data-center", "ams", "--percent", "25",
                             "--max-churn", "2%", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 5);
  EXPECT_THAT(dry.err, HasSubstr("more than the 2% of --max-churn"));
  EXPECT_THAT(fake_.sets, IsEmpty());
  fake_.forecast.mutable_forecasts(0)->set_churn(0.02);
  const Completed at = Run({"migration", "set", "--data-center", "ams", "--percent", "25",
                            "--max-churn", "2%", "--yes"});
  EXPECT_EQ(at.exit_code, 0) << at.err;
  ASSERT_THAT(fake_.sets, SizeIs(1));
  EXPECT_EQ(fake_.sets[0].max_churn_ppm(), 20'000) << "the router looks as well";
}

TEST_F(RingctlMigrationTest, ADryRunChangesNothingAndNeedsNoTerminal) {
  Forecast("ams", 0.13, 7);
  const Completed result =
      Run({"migration", "set", "--data-center", "ams", "--percent", "25", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("ams"), HasSubstr("25%"), Not(HasSubstr("BEFORE"))));
  const Completed json =
      Run({"migration", "set", "--data-center", "ams", "--percent", "25", "--dry-run", "--json"});
  EXPECT_EQ(Member(ParseJsonObject(json.out), "changes").list_value().values_size(), 0);
  EXPECT_THAT(fake_.sets, IsEmpty());
  fake_.forecast_status = {grpc::StatusCode::UNIMPLEMENTED, ""};
  const Completed none =
      Run({"migration", "set", "--data-center", "ams", "--percent", "25", "--dry-run"});
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.err, HasSubstr("UNIMPLEMENTED"));
}

TEST_F(RingctlMigrationTest, AChangeOfOneOfThemMeanwhileNamesItAndWhoMadeIt) {
  fake_.before_set = [this] {
    v1::Migration& fra = fake_.migrations["fra"];
    fra.set_revision(10);
    fra.set_v2_ppm(0);
    fra.set_reason("misses");
    fake_.change = {grpc::StatusCode::ABORTED, "fra has changed"};
  };
  const Completed result =
      Run({"migration", "set", "--tier", "canary", "--percent", "25", "--yes"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("nothing was changed, because fra is at revision 10 and not at 9 any "
                              "more: 0% since 1970-01-01 00:00:00Z, by ops@host, reason "
                              "\"misses\": decide again from there"),
                    Not(HasSubstr("because ams"))));
}

TEST_F(RingctlMigrationTest, OfManyThatChangedMeanwhileTenAreNamedAndTheOthersCounted) {
  for (int i = 0; i < 300; ++i) Add("dc-" + std::to_string(i), "", 0, 1);
  fake_.before_set = [this] {
    for (auto& [name, migration] : fake_.migrations) migration.set_revision(601);
    fake_.change = {grpc::StatusCode::ABORTED, "all have changed"};
  };
  const Completed result = Run({"migration", "set", "--all", "--percent", "25", "--yes"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 11) << result.err;
  EXPECT_THAT(result.err, HasSubstr("and 293 more were changed: look with `ringctl migration list "
                                    "--server " +
                                    fake_.address() + "`"));
}

TEST_F(RingctlMigrationTest, AForecastOfSomethingNewerThanWhatWasReadChangesNothing) {
  Forecast("ams", 0.13, 8);
  fake_.migrations["ams"].set_revision(8);
  const Completed result = Run({"migration", "set", "--data-center", "ams", "--percent", "25",
                                "--yes", "--expect-revision", "7"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("ams is at revision 8 and not at 7 any more"));
  fake_.migrations["ams"].set_revision(7);
  EXPECT_EQ(Run({"migration", "set", "--data-center", "ams", "--percent", "25", "--yes"}).exit_code,
            5);
  EXPECT_THAT(fake_.sets, IsEmpty());
}

TEST_F(RingctlMigrationTest, WhatTheRouterWouldRefuseIsRefusedBeforeAnybodyIsAsked) {
  fake_.migrations["ams"].set_is_frozen(true);
  const Completed frozen = Run({"migration", "set", "--all", "--percent", "25", "--yes"});
  EXPECT_EQ(frozen.exit_code, 5);
  EXPECT_THAT(frozen.err,
              HasSubstr("nothing was changed, because ams is frozen since it was rolled back: "
                        "`ringctl migration unfreeze --data-center ams --server " +
                        fake_.address() + "`"));
  fake_.migrations["ams"].set_is_frozen(false);
  fake_.migrations["fra"].set_balance_warning("the CV is 0.25");
  const Completed uneven = Run({"migration", "set", "--all", "--percent", "25", "--yes"});
  EXPECT_EQ(uneven.exit_code, 5);
  EXPECT_THAT(uneven.err, HasSubstr("because v2 of fra is uneven: the CV is 0.25: give it more "
                                    "points, or accept that with --accept-imbalance"));
  EXPECT_THAT(fake_.sets, IsEmpty());
  const Completed lowered =
      Run({"migration", "set", "--data-center", "fra", "--percent", "5", "--yes"});
  EXPECT_EQ(lowered.exit_code, 0) << lowered.err;
  const Completed accepted =
      Run({"migration", "set", "--all", "--percent", "25", "--yes", "--accept-imbalance"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  ASSERT_THAT(fake_.sets, SizeIs(2));
  EXPECT_TRUE(fake_.sets[1].accept_imbalance());
}

TEST_F(RingctlMigrationTest, AShareThatIsNotInForceYetHasItsReason) {
  fake_.migrations["ams"].set_effective_reason("ring v2 is being built");
  const Completed result =
      Run({"migration", "set", "--data-center", "ams", "--percent", "25", "--yes"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("ams             10%    25%        10%"),
                                HasSubstr("\n\nams answers with 10%: ring v2 is being built\n")));
}

TEST_F(RingctlMigrationTest, ExactlyOneSelectorIsGiven) {
  for (const auto& [selector, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "no data center is named"},
           {{"--all", "--tier", "canary"}, "exclude each other"},
           {{"--data-center", "ams", "--all"}, "exclude each other"}}) {
    for (std::vector<std::string> command : std::vector<std::vector<std::string>>{
             {"migration", "set", "--percent", "1", "--yes"},
             {"migration", "rollback"},
             {"migration", "unfreeze", "--yes"},
             {"migration", "override", "--percent", "1", "--reason", "r", "--yes"},
             {"migration", "clear"},
             {"migration", "retire", "--ring", "v1", "--yes"},
             {"migration", "restore"}}) {
      command.insert(command.end(), selector.begin(), selector.end());
      const Completed result = Run(command);
      EXPECT_EQ(result.exit_code, 2) << command[1];
      EXPECT_THAT(result.err, AllOf(HasSubstr(what), HasSubstr("see `ringctl migration " +
                                                               command[1] + " --help`")));
    }
  }
}

TEST_F(RingctlMigrationTest, AnUnknownNameOrTierIsARefusalThatNamesTheKnownOnes) {
  const Completed name = Run({"migration", "retire", "--data-center", "ams", "--data-center",
                              "nope", "--ring", "v1", "--yes"});
  EXPECT_EQ(name.exit_code, 5);
  EXPECT_THAT(name.err, HasSubstr("NOT_FOUND: unknown"));
  const Completed tier = Run({"migration", "set", "--tier", "nope", "--percent", "1", "--yes"});
  EXPECT_EQ(tier.exit_code, 5);
  EXPECT_THAT(tier.err, HasSubstr("no data center of tier nope is served; tiers: canary, large"));
  EXPECT_THAT(fake_.retires, IsEmpty());
  EXPECT_THAT(fake_.sets, IsEmpty());
}

TEST_F(RingctlMigrationTest, ASetUnderAnOverrideSaysThatNothingMovesYet) {
  Forecast("ams", 0.1, 7);
  fake_.migrations["ams"].mutable_share_override()->set_v2_ppm(500'000);
  const Completed result =
      Run({"migration", "set", "--data-center", "ams", "--percent", "25", "--yes"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: ams answers with an override of 50% on "),
                                HasSubstr("no key moves there before `ringctl migration clear`")));
}

TEST_F(RingctlMigrationTest, ARollbackAsksNothingAndFreezes) {
  fake_.rollback.set_durability(v1::DURABILITY_DURABLE);
  const Completed result =
      Run({"migration", "rollback", "--tier", "canary", "--reason", "misses above budget"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("\nams             10%     0%         0%  frozen"));
  ASSERT_THAT(fake_.rollbacks, SizeIs(1));
  EXPECT_EQ(fake_.rollbacks[0].selector().tier(), "canary");
  EXPECT_EQ(fake_.rollbacks[0].reason(), "misses above budget");
  EXPECT_THAT(fake_.rollbacks[0].requested_by(), HasSubstr("@"));
  EXPECT_THAT(fake_.forecasts, IsEmpty());
}

TEST_F(RingctlMigrationTest, ARollbackThatTheStoreDoesNotHaveHasACodeOfItsOwn) {
  fake_.rollback.set_durability(v1::DURABILITY_APPLIED_NOT_DURABLE);
  fake_.rollback.set_store_error("disk full");
  const Completed result = Run({"migration", "rollback", "--all"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.out, HasSubstr("\nams             10%     0%         0%  frozen"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("in force on " + fake_.address() +
                                          ", and not in its store: a restart would bring the old "
                                          "share back: disk full: do not restart the router"),
                                HasSubstr("`ringctl migration list --server ")));
  const Completed json = Run({"migration", "rollback", "--all", "--json"});
  EXPECT_EQ(json.exit_code, 7);
  const auto object = ParseJsonObject(json.out);
  EXPECT_EQ(Member(object, "durability").string_value(), "applied_not_durable");
  EXPECT_EQ(Member(object, "store_error").string_value(), "disk full");
  EXPECT_EQ(Member(object, "changes").list_value().values_size(), 3);
  EXPECT_EQ(Member(object, "without_v1").list_value().values_size(), 0);
}

TEST_F(RingctlMigrationTest, WhatHasNoV1IsRefusedByNameAndLeftOutOtherwise) {
  v1::Migration& lhr = fake_.migrations["lhr"];
  lhr.set_has_v1(false);
  lhr.set_v2_ppm(1'000'000);
  const std::string why = "lhr has no ring v1: v2 answers every request: leave it out";
  const Completed dry =
      Run({"migration", "set", "--data-center", "lhr", "--percent", "9", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_THAT(dry.err, HasSubstr("warning: the router would refuse this, because " + why));
  const Completed set =
      Run({"migration", "set", "--data-center", "lhr", "--percent", "9", "--yes"});
  EXPECT_EQ(set.exit_code, 5);
  EXPECT_THAT(set.err, HasSubstr("nothing was changed, because " + why));
  EXPECT_THAT(fake_.sets, IsEmpty());
  EXPECT_EQ(Run({"migration", "set", "--all", "--percent", "9", "--yes"}).exit_code, 0);
  EXPECT_THAT(fake_.sets, SizeIs(1));
}

TEST_F(RingctlMigrationTest, WhatHasNoV1IsNamedAndNotRolledBack) {
  fake_.rollback.set_durability(v1::DURABILITY_DURABLE);
  fake_.has_no_v1 = {"lhr"};
  const Completed some = Run({"migration", "rollback", "--all"});
  EXPECT_EQ(some.exit_code, 0);
  EXPECT_THAT(some.err, HasSubstr("warning: lhr: not rolled back, because there is no ring v1"));
  const Completed none = Run({"migration", "rollback", "--data-center", "lhr"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("nothing was rolled back: name data centers that have a ring"));
  EXPECT_EQ(none.out, "");
}

TEST_F(RingctlMigrationTest, ARollbackLeavesOutWhatIsNotServedAndSaysSo) {
  fake_.rollback.set_durability(v1::DURABILITY_DURABLE);
  fake_.rollback.add_unknown("amx");
  const Completed result = Run({"migration", "rollback", "--data-center", "ams", "--yes"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("\nams             10%     0%         0%  frozen"));
  EXPECT_THAT(result.err, HasSubstr("warning: amx: not rolled back, because "));
}

TEST_F(RingctlMigrationTest, ARollbackThatWaitsForItsRingHasACodeOfItsOwn) {
  fake_.rollback.set_durability(v1::DURABILITY_NOT_IN_FORCE);
  fake_.migrations["ams"].set_effective_reason("ring v1 is being built");
  const Completed result = Run({"migration", "rollback", "--data-center", "ams"});
  EXPECT_EQ(result.exit_code, 8);
  EXPECT_THAT(result.err, HasSubstr("in the store, and not in force everywhere yet"));
  EXPECT_THAT(result.err,
              HasSubstr("warning: ams still answers with 10%: ring v1 is being built\n"));
}

TEST_F(RingctlMigrationTest, ARollbackThatIsNeitherInForceNorInTheStoreSaysBoth) {
  fake_.rollback.set_durability(v1::DURABILITY_APPLIED_NOT_DURABLE);
  fake_.rollback.set_store_error("disk full");
  fake_.migrations["ams"].set_effective_reason("ring v1 is being built");
  const Completed result = Run({"migration", "rollback", "--all"});
  EXPECT_EQ(result.exit_code, 8);
  EXPECT_THAT(result.err,
              HasSubstr("warning: ams still answers with 10%: ring v1 is being built\n"));
  EXPECT_THAT(result.err, HasSubstr("this is not in the store of " + fake_.address() +
                                    ", and for ams not in force there either: a ring v1 is being "
                                    "built, and a restart would keep the old share: "
                                    "disk full: do not restart the router"));
  EXPECT_THAT(result.err, Not(HasSubstr("this is in force on")));
}

TEST_F(RingctlMigrationTest, UnfreezeAsksFirst) {
  fake_.migrations["ams"].set_is_frozen(true);
  const std::vector<std::string> command = {"migration", "unfreeze", "--data-center",
                                            "ams",       "--reason", "mended"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_EQ(declined.exit_code, 1);
  EXPECT_THAT(declined.out, HasSubstr("Let the share of ams be changed again?"));
  EXPECT_THAT(fake_.unfreezes, IsEmpty());
  const Completed done = RunAsked(command, "y\n");
  EXPECT_EQ(done.exit_code, 0) << done.out;
  ASSERT_THAT(fake_.unfreezes, SizeIs(1));
  EXPECT_EQ(fake_.unfreezes[0].reason(), "mended");
  const Completed json = Run({"migration", "unfreeze", "--data-center", "ams", "--yes", "--json"});
  const auto migrations = Member(ParseJsonObject(json.out), "migrations").list_value();
  ASSERT_EQ(migrations.values_size(), 1);
  EXPECT_FALSE(Member(migrations.values(0).struct_value(), "is_frozen").bool_value());
}

TEST_F(RingctlMigrationTest, AnOverrideSaysThatItIsThisRouterAlone) {
  const std::vector<std::string> command = {"migration", "override", "--data-center", "ams",
                                            "--percent", "0",        "--reason",      "store down"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_THAT(declined.out, HasSubstr("Have " + fake_.address() + " ALONE answer 0% of the "));
  EXPECT_THAT(fake_.overrides, IsEmpty());
  std::vector<std::string> told = command;
  told.emplace_back("--yes");
  const Completed result = Run(told);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("override"),
                                HasSubstr("\nams answers with 0%: overridden: store down\n")));
  EXPECT_THAT(result.err, HasSubstr("warning: this is " + fake_.address() +
                                    " ALONE: no other router does it, the store does not have it"));
  ASSERT_THAT(fake_.overrides, SizeIs(1));
  EXPECT_TRUE(fake_.overrides[0].has_v2_ppm()) << "0 is a value";
  EXPECT_EQ(fake_.overrides[0].reason(), "store down");
  const Completed no_reason =
      Run({"migration", "override", "--data-center", "ams", "--percent", "0", "--yes"});
  EXPECT_EQ(no_reason.exit_code, 2);
  EXPECT_THAT(no_reason.err, HasSubstr("--reason"));
  const Completed cleared = Run({"migration", "clear", "--data-center", "ams", "--json"});
  EXPECT_EQ(cleared.exit_code, 0) << cleared.err;
  EXPECT_THAT(cleared.out, HasSubstr("\"share_override\":null"));
  ASSERT_THAT(fake_.clears, SizeIs(1));
}

TEST_F(RingctlMigrationTest, RetireAsksAndSaysHowMuchMemoryItWas) {
  fake_.retired_bytes = 1'610'612'736;
  const std::vector<std::string> command = {"migration", "retire", "--data-center", "ams",
                                            "--ring",    "v1",     "--min-age",     "1500ms"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_THAT(declined.out, HasSubstr("Drop ring v1 of ams?"));
  EXPECT_THAT(fake_.retires, IsEmpty());
  const Completed done = RunAsked(command, "y\n");
  EXPECT_EQ(done.exit_code, 0) << done.out;
  EXPECT_THAT(done.out, AllOf(HasSubstr("v1 retired"), HasSubstr("took 1.5 GiB.")));
  ASSERT_THAT(fake_.retires, SizeIs(1));
  EXPECT_EQ(fake_.retires[0].ring_version(), v1::RING_VERSION_V1);
  EXPECT_EQ(fake_.retires[0].min_age_seconds(), 2) << "never less than what was asked for";
  EXPECT_EQ(fake_.retires[0].base_revision(), 7);
  const Completed json = Run({"migration", "retire", "--data-center", "ams", "--ring", "v2",
                              "--min-age", "0s", "--yes", "--json"});
  const auto object = ParseJsonObject(json.out);
  EXPECT_EQ(Member(object, "ring_memory_bytes").number_value(), 1'610'612'736.0);
  const auto migration = Member(object, "migrations").list_value().values(0).struct_value();
  EXPECT_EQ(Member(migration, "retired_ring").string_value(), "v2");
  EXPECT_TRUE(fake_.retires[1].has_min_age_seconds()) << "0 is a value";
  EXPECT_FALSE(
      Run({"migration", "retire", "--data-center", "ams", "--ring", "v1", "--yes"}).exit_code);
  EXPECT_FALSE(fake_.retires[2].has_min_age_seconds());
}

TEST_F(RingctlMigrationTest, WhatRetireCannotMeanIsAUsageError) {
  for (const auto& [option, value, what] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--ring", "v3", "\"v3\" is none of v1, v2"},
           {"--min-age", "-1h", "\"-1h\" is not an age"},
           {"--min-age", "inf", "\"inf\" is not an age"}}) {
    std::vector<std::string> command = {"migration", "retire", "--all", "--yes", option, value};
    if (option != "--ring") command.insert(command.end(), {"--ring", "v1"});
    const Completed result = Run(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(what));
  }
  EXPECT_THAT(fake_.retires, IsEmpty());
}

TEST_F(RingctlMigrationTest, RestoreAsksNothing) {
  fake_.migrations["ams"].set_retired_ring(v1::RING_VERSION_V1);
  const Completed result =
      Run({"migration", "restore", "--data-center", "ams", "--reason", "drill"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_THAT(fake_.restores, SizeIs(1));
  EXPECT_EQ(fake_.restores[0].reason(), "drill");
  EXPECT_FALSE(fake_.restores[0].has_base_revision());
}

TEST_F(RingctlMigrationTest, TheDefaultShareIsShownAndChanged) {
  EXPECT_EQ(Run({"migration", "get-default"}).out,
            "New data centers start at 0%, as nobody has changed it\n");
  const std::vector<std::string> command = {"migration", "set-default", "--percent",
                                            "100",       "--reason",    "all moved"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_THAT(declined.out, HasSubstr("new data centers start at from 0% to 100%?"));
  EXPECT_THAT(fake_.default_shares, IsEmpty());
  std::vector<std::string> told = command;
  told.emplace_back("--yes");
  EXPECT_EQ(Run(told).out, "default share: 0% -> 100%, revision 1\n");
  ASSERT_THAT(fake_.default_shares, SizeIs(1));
  EXPECT_TRUE(fake_.default_shares[0].has_base_revision());
  EXPECT_EQ(fake_.default_shares[0].base_revision(), 0);
  EXPECT_EQ(Run({"migration", "get-default", "--json"}).out,
            "{\"v2_ppm\":1000000,\"revision\":1}\n");
  const Completed json = Run({"migration", "set-default", "--percent", "0", "--yes", "--json"});
  EXPECT_EQ(json.out,
            "{\"previous_v2_ppm\":1000000,\"default_share\":{\"v2_ppm\":0,\"revision\":2}}\n");
}

TEST_F(RingctlMigrationTest, WhatTheRouterRefusesChangedNothingAndWhatIsOpenIsSaid) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"migration", "set", "--data-center", "ams", "--percent", "1", "--yes"},
       "the share of ams was changed"},
      {{"migration", "rollback", "--data-center", "ams"}, "ams was rolled back"},
      {{"migration", "unfreeze", "--data-center", "ams", "--yes"}, "ams was unfrozen"},
      {{"migration", "override", "--data-center", "ams", "--percent", "1", "--reason", "r",
        "--yes"},
       "the share of ams was overridden"},
      {{"migration", "clear", "--data-center", "ams"}, "the override of ams has ended"},
      {{"migration", "retire", "--data-center", "ams", "--ring", "v1", "--yes"},
       "ring v1 of ams was retired"},
      {{"migration", "restore", "--data-center", "ams"}, "the retired ring of ams was called back"},
      {{"migration", "set-default", "--percent", "1", "--yes"}, "the default share was changed"}};
  for (const auto& [command, done] : commands) {
    fake_.change = {grpc::StatusCode::FAILED_PRECONDITION, "of the test"};
    const Completed refused = Run(command);
    EXPECT_EQ(refused.exit_code, 5) << command[1];
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("FAILED_PRECONDITION: of the test"), Not(HasSubstr("not known"))));
    EXPECT_EQ(refused.out, "");
    fake_.change = {grpc::StatusCode::INTERNAL, "of the test"};
    const Completed open = Run(command);
    EXPECT_EQ(open.exit_code, 6) << command[1];
    EXPECT_THAT(open.err, HasSubstr("it is not known whether " + done +
                                    ": look with `ringctl migration get"));
  }
}

TEST_F(RingctlMigrationTest, ARouterThatIsNotThereIsUnreachableAndNothingIsUnknown) {
  for (std::vector<std::string> command : std::vector<std::vector<std::string>>{
           {"migration", "set", "--all", "--percent", "1", "--yes"},
           {"migration", "set", "--all", "--percent", "1", "--dry-run"},
           {"migration", "rollback", "--all"},
           {"migration", "unfreeze", "--all", "--yes"},
           {"migration", "override", "--all", "--percent", "1", "--reason", "r", "--yes"},
           {"migration", "clear", "--all"},
           {"migration", "retire", "--all", "--ring", "v1", "--yes"},
           {"migration", "restore", "--all"},
           {"migration", "get-default"},
           {"migration", "set-default", "--percent", "1", "--yes"},
           {"migration", "watch"},
           {"top"}}) {
    command.insert(command.end(), {"--server", "127.0.0.1:1"});
    const Completed result = Ringctl(command);
    EXPECT_EQ(result.exit_code, 4) << command[1] << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("cannot reach 127.0.0.1:1"), Not(HasSubstr("known"))));
  }
}

TEST_F(RingctlMigrationTest, WithoutATerminalNothingChangesUnlessTold) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"migration", "set", "--all", "--percent", "1"},
           {"migration", "unfreeze", "--all"},
           {"migration", "override", "--all", "--percent", "1", "--reason", "r"},
           {"migration", "retire", "--all", "--ring", "v1"},
           {"migration", "set-default", "--percent", "1"}}) {
    const Completed result = Run(command);
    EXPECT_EQ(result.exit_code, 1) << command[1];
    EXPECT_THAT(result.err, HasSubstr("nothing was changed: there is no terminal to ask on"));
  }
  EXPECT_THAT(fake_.sets, IsEmpty());
  EXPECT_THAT(fake_.unfreezes, IsEmpty());
  EXPECT_THAT(fake_.overrides, IsEmpty());
  EXPECT_THAT(fake_.retires, IsEmpty());
  EXPECT_THAT(fake_.default_shares, IsEmpty());
}

// A response of WatchMigrations with one migration.
v1::WatchMigrationsResponse Watched(v1::Migration migration, int ppm, int revision,
                                    const std::string& cursor) {
  v1::WatchMigrationsResponse response;
  migration.set_v2_ppm(ppm);
  migration.set_effective_v2_ppm(ppm);
  migration.set_revision(revision);
  *response.add_migrations() = std::move(migration);
  response.set_cursor(cursor);
  return response;
}

TEST_F(RingctlMigrationTest, AWatchComesBackWithItsCursorAndEndsOnCtrlC) {
  v1::Migration ams = fake_.migrations["ams"];
  ams.mutable_update_time()->set_seconds(1'769'860'800);
  v1::WatchMigrationsResponse first = Watched(ams, 100'000, 7, "c1");
  first.set_is_snapshot(true);
  ams.set_reason("\033[31mnext");
  // A call that ends is no news, two are.
  fake_.watch = {{first, Watched(ams, 250'000, 10, "c2")}, {}, {Watched(ams, 0, 11, "c3")}};
  testing::Process watch({Binary("ringctl"), "migration", "watch", "--server", fake_.address()});
  ASSERT_TRUE(watch.WaitForStderr("is there again"));
  ASSERT_TRUE(watch.WaitForStdout("25% -> 0%"));
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.WaitForExit(), 0);
  EXPECT_EQ(watch.Stdout(),
            "2026-01-31 12:00:00Z  ams  10%, by ops@host\n"
            "2026-01-31 12:00:00Z  ams  10% -> 25%, by ops@host: \\x1b[31mnext\n"
            "2026-01-31 12:00:00Z  ams  25% -> 0%, by ops@host: \\x1b[31mnext\n");
  EXPECT_THAT(watch.Stderr(), HasSubstr("answered UNAVAILABLE: stopping; trying again"));
  ASSERT_THAT(fake_.watches, SizeIs(3));
  EXPECT_EQ(fake_.watches[0].cursor(), "");
  EXPECT_EQ(fake_.watches[1].cursor(), "c2");
  EXPECT_EQ(fake_.watches[2].cursor(), "c2");
}

TEST_F(RingctlMigrationTest, AWatchInJsonIsALineAChange) {
  v1::WatchMigrationsResponse first = Watched(fake_.migrations["ams"], 100'000, 7, "c1");
  first.set_is_snapshot(true);
  v1::WatchMigrationsResponse gone;
  gone.add_removed("ams");
  gone.set_cursor("c3");
  fake_.watch = {{first, Watched(fake_.migrations["ams"], 0, 8, "c2"), gone}, {}};
  testing::Process watch(
      {Binary("ringctl"), "migration", "watch", "--json", "--server", fake_.address()});
  ASSERT_TRUE(watch.WaitForStdout("removed"));
  watch.Signal(SIGTERM);
  EXPECT_EQ(watch.WaitForExit(), 0);
  EXPECT_EQ(watch.Stderr(), "");
  const std::string out = watch.Stdout();
  const std::size_t second = out.find('\n') + 1;
  const std::size_t third = out.find('\n', second) + 1;
  const auto present = ParseJsonObject(out.substr(0, second));
  EXPECT_EQ(Member(present, "event").string_value(), "present");
  const auto changed = ParseJsonObject(out.substr(second, third - second));
  EXPECT_EQ(Member(changed, "event").string_value(), "changed");
  EXPECT_EQ(Member(changed, "previous_v2_ppm").number_value(), 100'000);
  EXPECT_EQ(Member(Member(changed, "migration").struct_value(), "v2_ppm").number_value(), 0);
  EXPECT_EQ(out.substr(third), "{\"event\":\"removed\",\"data_center\":\"ams\"}\n");
}

TEST_F(RingctlMigrationTest, AWatchThatIsRefusedEnds) {
  const Completed result = Run({"migration", "watch"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("PERMISSION_DENIED: not for you"));
}

class RingctlTopTest : public RingctlMigrationTest {
 protected:
  RingctlTopTest() {
    fake_.status.set_phase(v1::ROUTER_PHASE_SERVING);
    fake_.status.mutable_store()->set_is_up(true);
    fake_.status.set_ring_memory_bytes(3'145'728);
    v1::Migration& ams = fake_.migrations["ams"];
    ams.set_measured_v2_ppm(250'000);
    ams.set_requests_per_second(4000);
    ams.set_errors_per_second(2.5);
    ams.mutable_v1_outcomes()->set_hit(95);
    ams.mutable_v1_outcomes()->set_origin(5);
    ams.mutable_v2_outcomes()->set_hit(80);
    ams.mutable_v2_outcomes()->set_origin(10);
    ams.mutable_v2_outcomes()->set_connect_error(10);
    ams.set_is_frozen(true);
    v1::DataCenterSummary& summary = fake_.data_centers.emplace_back();
    summary.set_name("ams");
    summary.add_rings()->set_memory_bytes(1'048'576);
    summary.add_rings()->set_memory_bytes(1'048'576);
  }

  // On a terminal of `columns` columns.
  Completed OnTerminal(int columns, const std::string& arguments) const {
    return RunOnTerminal(
        {"/bin/sh", "-c",
         "stty cols " + std::to_string(columns) + " rows 20 && exec " + Binary("ringctl") +
             " top --server " + fake_.address() + " " + arguments},
        [] { return ""; });
  }
};

TEST_F(RingctlTopTest, WithoutATerminalItIsOneTable) {
  const Completed result = Run({"top"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("serving  store up  4,000 keys/s  rings 3.0 MiB\n"),
                                HasSubstr("DATA CENTER"), Not(HasSubstr("\033"))));
  EXPECT_THAT(result.out, HasSubstr("ams          10%        10%       25%  frozen  3,000  1,000  "
                                    "  2.5      5.00%     10.00%           0%       10.00%  "
                                    "2.0 MiB  [##"));
}

TEST_F(RingctlTopTest, JsonHasALineForEachLook) {
  const Completed result = Run({"top", "--json", "--count", "2", "--interval", "1ms"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::size_t end = result.out.find('\n') + 1;
  for (const std::string& line : {result.out.substr(0, end), result.out.substr(end)}) {
    const auto json = ParseJsonObject(line);
    const auto ams = Member(json, "data_centers").list_value().values(0).struct_value();
    EXPECT_EQ(Member(ams, "v1_per_second").number_value(), 3000);
    EXPECT_EQ(Member(ams, "v2_per_second").number_value(), 1000);
    EXPECT_EQ(Member(ams, "ring_memory_bytes").number_value(), 2'097'152);
    const auto migration = Member(ams, "migration").struct_value();
    EXPECT_EQ(Member(migration, "errors_per_second").number_value(), 2.5);
    const auto outcomes = Member(migration, "v2_outcomes").struct_value();
    EXPECT_EQ(Member(outcomes, "connect_error").number_value(), 10);
  }
}

TEST_F(RingctlTopTest, ARouterThatDoesNotAnswerAnyMoreLeavesTheLastTable) {
  fake_.after_list = [this] { fake_.lists = {grpc::StatusCode::UNAVAILABLE, "stopping"}; };
  const Completed result = Run({"top", "--count", "2", "--interval", "1ms"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string second = result.out.substr(result.out.find("\n\n", result.out.find("fra ")));
  EXPECT_THAT(second, AllOf(HasSubstr("NOT NEWER: " + fake_.address() +
                                      " answered UNAVAILABLE: stopping\n"),
                            HasSubstr("\nams          10%")));
  const Completed first = Run({"top"});
  EXPECT_EQ(first.exit_code, 5) << "at first it is an error";
  EXPECT_THAT(first.err, HasSubstr("UNAVAILABLE: stopping"));
}

TEST_F(RingctlTopTest, OnATerminalItDrawsInPlaceAndGivesTheTerminalBack) {
  const Completed result = OnTerminal(100, "--count 3 --interval 1ms");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, StartsWith("\033[?1049h\033[?25l\033[?7l\033[H"));
  // The last table stays.
  const std::size_t back = result.out.find("\033[?7h\033[?25h\033[?1049l");
  ASSERT_NE(back, std::string::npos) << result.out;
  EXPECT_THAT(result.out.substr(back), HasSubstr("DATA CENTER"));
  EXPECT_THAT(result.out.substr(back + 21), Not(HasSubstr("\033")));
}

TEST_F(RingctlTopTest, CtrlCEndsItAndGivesTheTerminalBack) {
  // It is typed once what the terminal waits for is on the screen.
  fake_.migrations["ams"].set_effective_reason("[y/N] ");
  const Completed result =
      RunOnTerminal(WithServer({Binary("ringctl"), "top"}), [] { return "\x03"; });
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("\033[?7h\033[?25h\033[?1049l"));
}

TEST_F(RingctlTopTest, ANarrowTerminalHasFewerColumnsAndNoLineIsLonger) {
  const Completed result = OnTerminal(50, "--count 1");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  const std::string table = result.out.substr(result.out.find("\033[?1049l") + 8);
  EXPECT_THAT(table, AllOf(HasSubstr("STATE"), Not(HasSubstr("MEMORY"))));
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = table.find("\r\n", begin);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - begin, 50U) << table.substr(begin, end - begin);
    begin = end + 2;
  }
}

}  // namespace
}  // namespace ringshift
