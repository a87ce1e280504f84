// ringctl's commands for the admin port against one that answers what a test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

constexpr char kChecksum[] = "0123456789abcdef";
constexpr char kWhyHeld[] = "moves 23.4512% of the key space (pool default), above 10%";

v1::TopologyChange Change(const std::string& data_center, v1::ReloadOutcome outcome) {
  v1::TopologyChange change;
  change.set_data_center(data_center);
  change.set_outcome(outcome);
  if (outcome == v1::RELOAD_OUTCOME_HELD) change.set_reason(kWhyHeld);
  if (outcome == v1::RELOAD_OUTCOME_FAILED) change.set_reason("no memory for a ring");
  return change;
}

class RingctlAdminTest : public ::testing::Test {
 protected:
  RingctlAdminTest() {
    v1::Migration& old = fake_.migrations["old"];
    old.set_data_center("old");
    old.set_v2_ppm(125'000);
    old.set_revision(7);
    old.set_actor("ops@host");
    old.set_is_orphaned(true);
    v1::Migration& ams = fake_.migrations["ams"];
    ams.set_data_center("ams");
    ams.set_v2_ppm(500'000);
    ams.set_effective_v2_ppm(500'000);
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

  // The router holds ams and fra.
  void Hold() {
    v1::ReloadStatus& reload = *fake_.status.mutable_reload();
    reload.set_checksum(kChecksum);
    for (const char* name : {"ams", "fra"}) {
      *reload.add_held() = Change(name, v1::RELOAD_OUTCOME_HELD);
    }
  }
  // What the next reload or accept does, by data center.
  void Answer(const std::vector<std::pair<std::string, v1::ReloadOutcome>>& outcomes) {
    fake_.reload.Clear();
    fake_.reload.mutable_status()->set_checksum(kChecksum);
    for (const auto& [name, outcome] : outcomes) {
      *fake_.reload.add_changes() = Change(name, outcome);
    }
  }

  FakeAdmin fake_;
};

TEST_F(RingctlAdminTest, AReloadOfWhichAllServesIsDone) {
  Answer({{"ams", v1::RELOAD_OUTCOME_APPLIED}, {"fra", v1::RELOAD_OUTCOME_UNCHANGED}});
  const Completed result = Run({"topology", "reload"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nams          applied"),
                                HasSubstr("\n1 data center is as before.\n")));
  EXPECT_EQ(result.err, "");
  ASSERT_THAT(fake_.reloads, SizeIs(1));
  EXPECT_THAT(fake_.reloads[0].requested_by(), HasSubstr("@"));
}

TEST_F(RingctlAdminTest, AReloadThatIsHeldSaysHowToAcceptIt) {
  Answer({{"ams", v1::RELOAD_OUTCOME_HELD}, {"fra", v1::RELOAD_OUTCOME_APPLIED}});
  const Completed result = Run({"topology", "reload"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr(std::string("\nams: ") + kWhyHeld + "\n"));
  EXPECT_THAT(result.err, HasSubstr("accept it with `ringctl topology accept " +
                                    std::string(kChecksum) + " --server " + fake_.address() + "`"));
}

TEST_F(RingctlAdminTest, ADataCenterThatCouldNotBeChangedIsARefusal) {
  Answer({{"ams", v1::RELOAD_OUTCOME_HELD}, {"fra", v1::RELOAD_OUTCOME_FAILED}});
  const Completed result = Run({"topology", "reload"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.out, HasSubstr("\nfra: no memory for a ring\n"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("a data center could not be changed"),
                                HasSubstr("ringctl topology accept")));
}

TEST_F(RingctlAdminTest, WhatTheStoreDoesNotHaveIsAWarning) {
  Answer({{"ams", v1::RELOAD_OUTCOME_APPLIED}});
  fake_.reload.mutable_status()->set_store_error("disk full");
  const Completed result = Run({"topology", "reload"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("ringctl: warning: "), HasSubstr("disk full")));
}

TEST_F(RingctlAdminTest, AReloadInJsonHasEveryDataCenter) {
  Answer({{"ams", v1::RELOAD_OUTCOME_HELD}, {"fra", v1::RELOAD_OUTCOME_UNCHANGED}});
  const Completed result = Run({"topology", "reload", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const auto json = ParseJsonObject(result.out);
  const auto changes = Member(json, "changes").list_value();
  ASSERT_EQ(changes.values_size(), 2);
  EXPECT_EQ(Member(changes.values(1).struct_value(), "outcome").string_value(), "unchanged");
  EXPECT_EQ(Member(Member(json, "topology").struct_value(), "checksum").string_value(), kChecksum);
}

TEST_F(RingctlAdminTest, ABadFileIsARefusalAndTheFileIsWhatToCorrect) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND,
        grpc::StatusCode::PERMISSION_DENIED, grpc::StatusCode::FAILED_PRECONDITION}) {
    fake_.change = {code, "topology.yaml:3:5: a node needs a name"};
    const Completed result = Run({"topology", "reload"});
    EXPECT_EQ(result.exit_code, 5);
    EXPECT_THAT(result.err, AllOf(HasSubstr("topology.yaml:3:5: a node needs a name: "),
                                  HasSubstr("correct the topology file"),
                                  HasSubstr("until then the router serves as before\n"),
                                  Not(HasSubstr("arguments")), Not(HasSubstr("not known"))));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(RingctlAdminTest, ARefusedAcceptanceSaysWhereToLook) {
  Hold();
  for (const grpc::StatusCode code : {grpc::StatusCode::NOT_FOUND, grpc::StatusCode::ABORTED,
                                      grpc::StatusCode::FAILED_PRECONDITION}) {
    fake_.change = {code, "it has changed"};
    const Completed result = Run({"topology", "accept", kChecksum, "--yes"});
    EXPECT_EQ(result.exit_code, 5);
    EXPECT_THAT(result.err, HasSubstr("it has changed: look with `ringctl status --server " +
                                      fake_.address() + "` at what is held"));
  }
}

TEST_F(RingctlAdminTest, ARouterWithTooMuchToDoIsAskedAgainLater) {
  Hold();
  fake_.change = {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many wait"};
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"topology", "reload"}, {"topology", "accept", kChecksum, "--yes"}}) {
    const Completed result = Run(command);
    EXPECT_EQ(result.exit_code, 5);
    EXPECT_THAT(result.err, HasSubstr("too many wait: try again later\n"));
  }
}

TEST_F(RingctlAdminTest, AfterErrorsThatLeaveItOpenItIsNotKnownWhetherSomethingChanged) {
  Hold();
  for (const grpc::StatusCode code : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::INTERNAL,
                                      grpc::StatusCode::DEADLINE_EXCEEDED}) {
    fake_.change = {code, "of the test"};
    for (const auto& [arguments, what, look] :
         std::vector<std::tuple<std::vector<std::string>, std::string, std::string>>{
             {{"topology", "reload"}, "the topology was reloaded", "ringctl status"},
             {{"topology", "accept", kChecksum, "--yes"},
              "the topology was accepted",
              "ringctl status"},
             {{"migration", "forget", "old", "--yes"},
              "old was forgotten",
              "ringctl migration get --data-center old"},
             {{"migration", "rename", "old", "new", "--yes"},
              "new got the migration of old",
              "ringctl migration get --data-center new"}}) {
      const Completed result = Run(arguments);
      EXPECT_EQ(result.exit_code, 6) << result.err;
      EXPECT_THAT(result.err, HasSubstr("it is not known whether " + what + ": look with `" + look +
                                        " --server " + fake_.address() + "`"));
      EXPECT_EQ(result.out, "");
    }
  }
}

TEST_F(RingctlAdminTest, ARouterThatIsNotThereIsUnreachableAndNothingIsUnknown) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"topology", "show"},
                                             {"topology", "show", "--data-center", "ams"},
                                             {"topology", "reload"},
                                             {"topology", "accept", kChecksum, "--yes"},
                                             {"migration", "history"},
                                             {"migration", "forget", "old", "--yes"},
                                             {"migration", "rename", "old", "new", "--yes"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--server", "127.0.0.1:1"});
    const Completed result = Ringctl(arguments);
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("cannot reach 127.0.0.1:1"), Not(HasSubstr("known"))));
  }
}

TEST_F(RingctlAdminTest, APersonSeesWhatIsHeldBeforeAccepting) {
  Hold();
  Answer({{"ams", v1::RELOAD_OUTCOME_APPLIED}});
  const std::vector<std::string> command = {"topology", "accept",   "--data-center", "ams",
                                            kChecksum,  "--reason", "r1 is gone"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_EQ(declined.exit_code, 1);
  EXPECT_THAT(declined.out, AllOf(HasSubstr(std::string("ams: ") + kWhyHeld), Not(HasSubstr("fra")),
                                  HasSubstr("Serve this? [y/N] "),
                                  HasSubstr("nothing was changed: not confirmed")));
  EXPECT_THAT(fake_.accepts, IsEmpty());

  const Completed accepted = RunAsked(command, "y\n");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out;
  EXPECT_THAT(accepted.out, HasSubstr("ams          applied"));
  ASSERT_THAT(fake_.accepts, SizeIs(1));
  EXPECT_EQ(fake_.accepts[0].checksum(), kChecksum);
  EXPECT_THAT(fake_.accepts[0].data_centers(), ElementsAre("ams"));
  EXPECT_EQ(fake_.accepts[0].reason(), "r1 is gone");
  EXPECT_THAT(fake_.accepts[0].requested_by(), HasSubstr("@"));
}

TEST_F(RingctlAdminTest, WithoutATerminalNothingChangesUnlessTold) {
  Hold();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"topology", "accept", kChecksum},
                                             {"migration", "forget", "old"},
                                             {"migration", "rename", "old", "new"}}) {
    const Completed result = Run(command);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("nothing was changed: there is no terminal to ask on"));
  }
  EXPECT_THAT(fake_.accepts, IsEmpty());
  EXPECT_THAT(fake_.forgets, IsEmpty());
  EXPECT_THAT(fake_.renames, IsEmpty());
}

TEST_F(RingctlAdminTest, WhatIsNotHeldCannotBeAccepted) {
  const Completed nothing = Run({"topology", "accept", kChecksum, "--yes"});
  EXPECT_EQ(nothing.exit_code, 5);
  EXPECT_THAT(nothing.err, HasSubstr("nothing was accepted, because nothing is held: see `ringctl "
                                     "status --server " +
                                     fake_.address() + "`"));
  Hold();
  const Completed other = Run({"topology", "accept", "fedcba9876543210", "--yes"});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.err, HasSubstr("has the checksum 0123456789abcdef, not fedcba9876543210"));
  const Completed name = Run({"topology", "accept", kChecksum, "--data-center", "nyc", "--yes"});
  EXPECT_EQ(name.exit_code, 5);
  EXPECT_THAT(name.err, AllOf(HasSubstr("nyc is not held"), HasSubstr("held: ams, fra")));
  EXPECT_THAT(fake_.accepts, IsEmpty());
}

TEST_F(RingctlAdminTest, SeveralDataCentersMayBeAccepted) {
  Hold();
  const Completed result = Run(
      {"topology", "accept", "--data-center", "fra", "--data-center", "ams", kChecksum, "--yes"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_THAT(fake_.accepts, SizeIs(1));
  EXPECT_THAT(fake_.accepts[0].data_centers(), ElementsAre("fra", "ams"));
}

TEST_F(RingctlAdminTest, APersonSeesTheMigrationBeforeItIsForgotten) {
  const std::vector<std::string> command = {"migration", "forget", "old", "--reason", "turned off"};
  const Completed declined = RunAsked(command, "n\n");
  EXPECT_EQ(declined.exit_code, 1);
  EXPECT_THAT(declined.out,
              HasSubstr("Forget the migration of old (12.5%, revision 7 of 1970-01-01 00:00:00Z by "
                        "ops@host)?"));
  EXPECT_THAT(fake_.forgets, IsEmpty());
  const Completed forgotten = RunAsked(command, "y\n");
  EXPECT_EQ(forgotten.exit_code, 0) << forgotten.out;
  EXPECT_THAT(forgotten.out, HasSubstr("old: forgotten, was at 12.5%"));
  ASSERT_THAT(fake_.forgets, SizeIs(1));
  EXPECT_EQ(fake_.forgets[0].data_center(), "old");
  EXPECT_EQ(fake_.forgets[0].base_revision(), 7);
  EXPECT_EQ(fake_.forgets[0].reason(), "turned off");
  EXPECT_THAT(fake_.forgets[0].requested_by(), HasSubstr("@"));
}

TEST_F(RingctlAdminTest, WhatIsServedIsNotForgotten) {
  const Completed result = Run({"migration", "forget", "ams", "--yes"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("serves ams: take it out of the topology first"));
  EXPECT_THAT(fake_.forgets, IsEmpty());
}

TEST_F(RingctlAdminTest, APersonIsToldWhatARenameDoesToBothNames) {
  const Completed orphan = RunAsked({"migration", "rename", "old", "new"}, "n\n");
  EXPECT_EQ(orphan.exit_code, 1);
  EXPECT_THAT(orphan.out, AllOf(HasSubstr("Give new the migration of old (12.5%, revision 7"),
                                HasSubstr("old is forgotten by that. [y/N] ")));
  const Completed served = RunAsked({"migration", "rename", "ams", "ams-1"}, "n\n");
  EXPECT_THAT(served.out, HasSubstr("ams keeps its migration too. "));
  // `ams` has keys of its own.
  const Completed onto = RunAsked({"migration", "rename", "old", "ams"}, "n\n");
  EXPECT_THAT(onto.out, HasSubstr("old is forgotten by that. ams is being served, at "));
  EXPECT_THAT(onto.out, HasSubstr(": its keys move at once. [y/N] "));
  EXPECT_THAT(fake_.renames, IsEmpty());
  const Completed renamed = Run({"migration", "rename", "ams", "ams-1", "--yes", "--json"});
  EXPECT_EQ(renamed.exit_code, 0) << renamed.err;
  ASSERT_THAT(fake_.renames, SizeIs(1));
  EXPECT_EQ(fake_.renames[0].data_center(), "ams");
  const auto migration = Member(ParseJsonObject(renamed.out), "migration").struct_value();
  EXPECT_EQ(Member(migration, "data_center").string_value(), "ams-1");
}

TEST_F(RingctlAdminTest, AStatusOfARouterThatStartsIsAStatus) {
  fake_.status.set_phase(v1::ROUTER_PHASE_STARTING);
  fake_.lists = {grpc::StatusCode::UNAVAILABLE, "the router is starting"};
  const Completed result = Run({"status"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("starting, up since"),
                    HasSubstr("No list of data centers: UNAVAILABLE: the router is starting")));
  const auto json = ParseJsonObject(Run({"status", "--json"}).out);
  EXPECT_EQ(Member(json, "incomplete_reason").string_value(),
            "UNAVAILABLE: the router is starting");
  EXPECT_EQ(Member(json, "phase").string_value(), "starting");
}

TEST_F(RingctlAdminTest, AStatusShowsTheOrphansAndOnlyThem) {
  const Completed result = Run({"status"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nold     12.5%         7  "), Not(HasSubstr("\nams"))));
}

TEST_F(RingctlAdminTest, WhatAnOldRouterDoesNotKnowNamesTheAdminAddress) {
  fake_.change = {grpc::StatusCode::UNIMPLEMENTED, ""};
  const Completed result = Run({"topology", "reload"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("everything else its admin address"));
}

}  // namespace
}  // namespace ringshift
