// ringctl against a real ringshiftd, and against servers that never answer.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/integration/router_process.h"
#include "tests/integration/terminal.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Binary;
using ::ringshift::testing::Completed;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::RouterProcess;
using ::ringshift::testing::RunOnTerminal;
using ::ringshift::testing::SmallTopology;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class RingctlOnlineTest : public ::testing::Test {
 protected:
  RingctlOnlineTest()
      : router_(dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db"),
                {"--outcome-reporters=loopback"}) {
    router_.WaitUntilReady();
  }

  // `ringctl migration ACTION --data-center ams ...`.
  Completed Migration(const std::string& action, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"migration", action, "--server", router_.admin_address()});
    return Ringctl(std::move(arguments));
  }
  Completed Set(const std::string& percent, std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.end(),
                     {"--data-center", "ams", "--percent", percent, "--reason", "test", "--yes"});
    return Migration("set", std::move(arguments));
  }
  // A person is asked and types what `answer` returns.
  Completed SetTo10OnTerminal(const std::function<std::string()>& answer) const {
    return RunOnTerminal({Binary("ringctl"), "migration", "set", "--server",
                          router_.admin_address(), "--data-center", "ams", "--percent", "10"},
                         answer);
  }
  google::protobuf::Struct GetAms() const {
    const Completed got = Migration("get", {"--data-center", "ams", "--json"});
    EXPECT_EQ(got.exit_code, 0) << got.err;
    return ParseJsonObject(got.out);
  }
  Completed Route(std::vector<std::string> arguments, std::string input = "") const {
    arguments.insert(arguments.begin(), {"route", "--server", router_.public_address()});
    return Ringctl(std::move(arguments), std::move(input));
  }

  const TempDir dir_;
  RouterProcess router_;
};

TEST_F(RingctlOnlineTest, SharesReadBackExactly) {
  for (const auto& [percent, ppm] : std::vector<std::pair<std::string, int>>{{"0.29", 2900},
                                                                             {"1.15", 11500},
                                                                             {"33.33", 333300},
                                                                             {"0.0001", 1},
                                                                             {"100", 1000000},
                                                                             {"0", 0}}) {
    const Completed set = Set(percent, {"--json"});
    ASSERT_EQ(set.exit_code, 0) << set.err;
    EXPECT_THAT(set.out, HasSubstr("\"v2_ppm\":" + std::to_string(ppm) + ","));
    EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), ppm);
    const Completed table = Migration("get", {"--data-center", "ams"});
    EXPECT_THAT(table.out, HasSubstr("share of v2  " + percent + "%  ["));
  }
}

TEST_F(RingctlOnlineTest, AShareOfZeroIsPrinted) {
  EXPECT_THAT(Migration("get", {"--data-center", "ams", "--json"}).out, HasSubstr("\"v2_ppm\":0,"));
  EXPECT_THAT(Migration("list", {"--json"}).out, HasSubstr("\"v2_ppm\":0,"));
  ASSERT_EQ(Set("7").exit_code, 0);
  const Completed back = Set("0", {"--json"});
  EXPECT_THAT(back.out, AllOf(HasSubstr("\"v2_ppm\":0,"), HasSubstr("\"previous_v2_ppm\":70000,")));
}

TEST_F(RingctlOnlineTest, SetSaysFromAndTo) {
  ASSERT_EQ(Set("12.5").exit_code, 0);
  const Completed set = Set("25");
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_THAT(set.out, HasSubstr("\nams           12.5%    25%        25%  "));
}

TEST_F(RingctlOnlineTest, AChangeRemembersWhoAndWhy) {
  ASSERT_EQ(Migration("set", {"--data-center", "ams", "--percent", "5", "--reason",
                              "with \033[31mcolour\nand a second line", "--yes"})
                .exit_code,
            0);
  const auto ams = GetAms();
  EXPECT_EQ(Member(ams, "reason").string_value(), "with \033[31mcolour\nand a second line");
  EXPECT_THAT(Member(ams, "actor").string_value(), HasSubstr("@"));
  EXPECT_THAT(Member(ams, "update_time").string_value(),
              MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:]+\\.[0-9]{6}Z"));
  for (const Completed& table :
       {Migration("get", {"--data-center", "ams"}), Migration("list", {})}) {
    EXPECT_THAT(table.out, HasSubstr("with \\x1b[31mcolour\\nand a second line"));
    EXPECT_THAT(table.out, Not(HasSubstr("\033")));
  }
}

TEST_F(RingctlOnlineTest, ListHasEveryDataCenter) {
  const Completed table = Migration("list", {});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(StartsWith("DATA CENTER"), HasSubstr("\nams "), HasSubstr("canary"),
                               HasSubstr("\nfra "), HasSubstr("\nnew ")));
  const auto migrations =
      Member(ParseJsonObject(Migration("list", {"--json"}).out), "migrations").list_value();
  ASSERT_EQ(migrations.values_size(), 3);
  const auto& without_v1 = migrations.values(2).struct_value();
  EXPECT_EQ(Member(without_v1, "data_center").string_value(), "new");
  EXPECT_EQ(Member(without_v1, "v2_ppm").number_value(), 1000000);
  EXPECT_FALSE(Member(without_v1, "has_v1").bool_value());
}

TEST_F(RingctlOnlineTest, AStaleRevisionChangesNothingAndSaysWhoWasThere) {
  const std::string seen =
      std::to_string(static_cast<int>(Member(GetAms(), "revision").number_value()));
  ASSERT_EQ(Migration("set", {"--data-center", "ams", "--percent", "30", "--reason",
                              "somebody else", "--yes"})
                .exit_code,
            0);
  const Completed stale = Set("40", {"--expect-revision", seen});
  EXPECT_EQ(stale.exit_code, 5);
  EXPECT_THAT(stale.err, AllOf(HasSubstr("nothing was changed"), HasSubstr("not at " + seen),
                               HasSubstr("30%"), HasSubstr("somebody else"), HasSubstr("@")));
  EXPECT_EQ(stale.out, "");
  EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 300000);
}

TEST_F(RingctlOnlineTest, WithoutATerminalNothingChangesUnlessTold) {
  const Completed refused =
      Migration("set", {"--data-center", "ams", "--percent", "10", "--reason", "no terminal"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("nothing was changed: there is no terminal to ask on"),
                                 HasSubstr("--yes")));
  EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 0);
}

TEST_F(RingctlOnlineTest, AChangeNeedsNoReason) {
  const Completed set = Migration("set", {"--data-center", "ams", "--percent", "10", "--yes"});
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 100000);
  EXPECT_EQ(Member(GetAms(), "reason").string_value(), "");
}

TEST_F(RingctlOnlineTest, OnATerminalAPersonDecides) {
  for (const char* no : {"n\n", "\n", "yep\n", "\x04"}) {
    const Completed declined = SetTo10OnTerminal([&] { return no; });
    EXPECT_EQ(declined.exit_code, 1) << declined.out;
    EXPECT_THAT(declined.out,
                AllOf(HasSubstr("Change the share of v2 in ams from 0% to 10%? [y/N] "),
                      HasSubstr("nothing was changed: not confirmed")));
    EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 0);
  }
  const Completed confirmed = SetTo10OnTerminal([] { return "y\n"; });
  EXPECT_EQ(confirmed.exit_code, 0) << confirmed.out;
  EXPECT_THAT(confirmed.out, HasSubstr("\nams              0%    10%        10%  "));
  EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 100000);
}

TEST_F(RingctlOnlineTest, AChangeWhileThePersonThinksIsNotOverwritten) {
  const Completed late = SetTo10OnTerminal([&] {
    EXPECT_EQ(Set("30").exit_code, 0);
    return "y\n";
  });
  EXPECT_EQ(late.exit_code, 5) << late.out;
  EXPECT_THAT(late.out, AllOf(HasSubstr("nothing was changed"), HasSubstr("30%")));
  EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 300000);
}

TEST_F(RingctlOnlineTest, WhatTheRouterRefusesHasItsCodeAndReason) {
  const Completed unknown = Migration("get", {"--data-center", "nope"});
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("NOT_FOUND"), HasSubstr("ams")));
  const Completed no_v1 =
      Migration("set", {"--data-center", "new", "--percent", "10", "--reason", "test", "--yes"});
  EXPECT_EQ(no_v1.exit_code, 5);
  EXPECT_THAT(no_v1.err, HasSubstr("nothing was changed, because new has no ring v1"));
  const Completed long_reason = Migration("set", {"--data-center", "ams", "--percent", "10",
                                                  "--reason", std::string(1025, 'r'), "--yes"});
  EXPECT_EQ(long_reason.exit_code, 5);
  EXPECT_THAT(long_reason.err, AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("1024")));
  const Completed wrong_port = Ringctl({"migration", "list", "--server", router_.public_address()});
  EXPECT_EQ(wrong_port.exit_code, 5);
  EXPECT_THAT(wrong_port.err, AllOf(HasSubstr("UNIMPLEMENTED"), HasSubstr("admin address")));
  const Completed no_node = Route({"--data-center", "ams", "--pool", "nowhere", "key"});
  EXPECT_EQ(no_node.exit_code, 5) << no_node.err;
  EXPECT_THAT(no_node.err, AllOf(HasSubstr("key 1: "), HasSubstr("UNAVAILABLE")));
}

TEST_F(RingctlOnlineTest, PercentsAreExactOrRefused) {
  const double revision = Member(GetAms(), "revision").number_value();
  for (const char* percent : {"100.0001", "-1", "0.00001", "1e1", "", " 5", "5 %", "abc"}) {
    const Completed result = Set(percent);
    EXPECT_EQ(result.exit_code, 2) << percent;
    EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: "), HasSubstr("--percent")));
  }
  EXPECT_EQ(Member(GetAms(), "revision").number_value(), revision) << "something was changed";
}

TEST_F(RingctlOnlineTest, RouteNamesOwnersAndReplicas) {
  const Completed table = Route({"--data-center", "ams", "--replicas", "3", "/img/1.jpg", "k2"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out,
              MatchesRegex("KEY +RING +OWNER +ADDRESS +REPLICAS +PREVIOUS OWNER\n"
                           "/img/1.jpg  v1    cache-[0-9]  10.0.0.[0-9]:443  10.0.0.[0-9]:443 "
                           "10.0.0.[0-9]:443\n"
                           "k2          v1    cache-[0-9]  10.0.0.[0-9]:443  10.0.0.[0-9]:443 "
                           "10.0.0.[0-9]:443\n"));
  ASSERT_EQ(Set("100").exit_code, 0);
  const auto answer = ParseJsonObject(
      Route({"--data-center", "ams", "--replicas", "16", "--pool", "fedramp", "--json", "k"}).out);
  EXPECT_EQ(Member(answer, "key").string_value(), "k");
  EXPECT_EQ(Member(answer, "data_center").string_value(), "ams");
  EXPECT_EQ(Member(answer, "ring_version").string_value(), "v2");
  EXPECT_THAT(Member(Member(answer, "owner").struct_value(), "name").string_value(),
              MatchesRegex("cache-[0369]"));
  EXPECT_EQ(Member(answer, "replicas").list_value().values_size(), 3);
  EXPECT_TRUE(Member(answer, "is_short").bool_value());
  EXPECT_EQ(Member(answer, "table_checksum").string_value().size(), 16U);
  EXPECT_EQ(Member(answer, "migration_revision").number_value(),
            Member(GetAms(), "revision").number_value());
  EXPECT_EQ(Member(answer, "v2_ppm").number_value(), 1'000'000);
  // There also when it is 0.
  EXPECT_THAT(Route({"--data-center", "fra", "--json", "k"}).out, HasSubstr(",\"v2_ppm\":0}"));
}

TEST_F(RingctlOnlineTest, RouteTakesKeysOfAnyForm) {
  // What a command-line parser may take for something else.
  const std::vector<std::string> keys = {"[a,b]",  "{}", "%%",  "lookup",
                                         "--help", "-",  "a b", "x=y"};
  std::vector<std::string> arguments = {"--data-center", "ams", "--json", "--"};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  const Completed result = Route(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::string_view rest = result.out;
  for (const std::string& key : keys) {
    const std::size_t end = rest.find('\n');
    EXPECT_EQ(Member(ParseJsonObject(std::string(rest.substr(0, end))), "key").string_value(), key);
    rest.remove_prefix(end + 1);
  }
  EXPECT_EQ(rest, "");
  EXPECT_THAT(Route({"--data-center", "ams", "--json", "--hex", "00FF"}).out,
              StartsWith("{\"key_hex\":\"00ff\","));
  EXPECT_THAT(Route({"--data-center", "ams", "--json"}, "\xff\n").out,
              StartsWith("{\"key_hex\":\"ff\","));
  EXPECT_THAT(Route({"--data-center", "ams"}, "a\033[31mb\n").out,
              AllOf(HasSubstr("a\\x1b[31mb"), Not(HasSubstr("\033"))));
}

TEST_F(RingctlOnlineTest, RouteAnswersManyKeysInTheirOrder) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) input += std::to_string(i) + "\n";
  const Completed result = Route({"--data-center", "ams", "--json"}, input);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::string_view rest = result.out;
  for (int i = 0; i < 20'000; ++i) {
    const std::string start = "{\"key\":\"" + std::to_string(i) + "\",";
    ASSERT_EQ(rest.substr(0, start.size()), start);
    rest.remove_prefix(rest.find('\n') + 1);
  }
  EXPECT_EQ(rest, "");
}

TEST_F(RingctlOnlineTest, RouteStopsAtTheFirstKeyThatIsRefused) {
  const Completed result = Route({"--data-center", "ams"}, "a\nb\n\nc\n");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: line 3: "), HasSubstr("INVALID_ARGUMENT")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("\na "), HasSubstr("\nb "), Not(HasSubstr("\nc "))));
  const Completed bad_hex = Route({"--data-center", "ams", "--hex", "00", "0"});
  EXPECT_EQ(bad_hex.exit_code, 2);
  EXPECT_THAT(bad_hex.err, HasSubstr("key 2: an odd number of hex digits"));
  EXPECT_EQ(Route({"--data-center", "ams", "--hex"}, "00\n0\n").exit_code, 3);
}

TEST_F(RingctlOnlineTest, AMigrationGoesToItsEndAndBack) {
  const auto run = [this](const std::string& action, std::vector<std::string> arguments) {
    if (action.find("default") == std::string::npos) {
      arguments.insert(arguments.end(), {"--data-center", "ams"});
    }
    const Completed done = Migration(action, std::move(arguments));
    EXPECT_EQ(done.exit_code, 0) << action << "\n" << done.err;
    return done;
  };
  run("override", {"--percent", "30", "--reason", "drill", "--yes"});
  EXPECT_EQ(Member(GetAms(), "v2_ppm").number_value(), 0);
  EXPECT_EQ(Member(GetAms(), "effective_v2_ppm").number_value(), 300'000);
  EXPECT_EQ(Member(Member(GetAms(), "share_override").struct_value(), "reason").string_value(),
            "drill");
  run("clear", {});
  EXPECT_EQ(Member(GetAms(), "effective_v2_ppm").number_value(), 0);

  EXPECT_THAT(run("set", {"--percent", "100", "--yes"}).out, HasSubstr("100%"));
  const Completed young = Migration("retire", {"--data-center", "ams", "--ring", "v1", "--yes"});
  EXPECT_EQ(young.exit_code, 5);
  EXPECT_THAT(young.err, HasSubstr("FAILED_PRECONDITION"));
  EXPECT_THAT(run("retire", {"--ring", "v1", "--min-age", "0s", "--yes"}).out,
              HasSubstr("The dropped rings took "));
  EXPECT_EQ(Member(GetAms(), "retired_ring").string_value(), "v1");
  run("restore", {});
  EXPECT_EQ(Member(GetAms(), "retired_ring").kind_case(), google::protobuf::Value::kNullValue);

  const Completed rolled_back =
      Migration("rollback", {"--data-center", "ams", "--reason", "misses"});
  EXPECT_THAT(rolled_back.exit_code, AnyOf(0, 8)) << rolled_back.err;  // 8 until v1 is there
  EXPECT_THAT(rolled_back.out, HasSubstr("frozen"));
  EXPECT_TRUE(Member(GetAms(), "is_frozen").bool_value());
  EXPECT_EQ(Set("10").exit_code, 5);
  run("unfreeze", {"--yes"});
  EXPECT_EQ(Set("10").exit_code, 0);
  run("set-default", {"--percent", "5", "--yes"});
  EXPECT_THAT(run("get-default", {"--json"}).out, HasSubstr("\"v2_ppm\":50000,"));
  EXPECT_THAT(Migration("history", {}).out,
              AllOf(HasSubstr("default_share"), HasSubstr("unfrozen"), HasSubstr("rolled_back"),
                    HasSubstr("restored"), HasSubstr("retired")));
}

TEST_F(RingctlOnlineTest, AChangeOfATierIsOneRevision) {
  const Completed all = Migration("rollback", {"--all"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, HasSubstr("new: not rolled back"));
  const auto migrations =
      Member(ParseJsonObject(Migration("list", {"--json"}).out), "migrations").list_value();
  ASSERT_EQ(migrations.values_size(), 3);
  EXPECT_EQ(Member(migrations.values(0).struct_value(), "revision").number_value(),
            Member(migrations.values(1).struct_value(), "revision").number_value());
  const Completed tier = Migration("set", {"--tier", "nope", "--percent", "1", "--yes"});
  EXPECT_EQ(tier.exit_code, 5);
  EXPECT_THAT(tier.err, HasSubstr("tiers: canary"));
}

TEST_F(RingctlOnlineTest, AWatchShowsWhatIsAndEveryChange) {
  testing::Process watch(
      {Binary("ringctl"), "migration", "watch", "--server", router_.admin_address()});
  ASSERT_TRUE(watch.WaitForStdout("  new  100%, by "));
  ASSERT_EQ(Set("12.5").exit_code, 0);
  ASSERT_TRUE(watch.WaitForStdout("  ams  0% -> 12.5%, by "));
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.WaitForExit(), 0);
}

TEST_F(RingctlOnlineTest, TopShowsWhatIsRefusedAndWhatEdgesReport) {
  const auto routing = v1::RoutingService::NewStub(router_.PublicChannel());
  EXPECT_THAT(Ringctl({"top", "--count", "1", "--server", router_.admin_address()}).out,
              AllOf(HasSubstr("ERR/S"), Not(HasSubstr("ORIGIN"))));
  {
    grpc::ClientContext context;
    v1::RouteBatchRequest request;
    request.set_data_center("ams");
    request.set_pool("nowhere");
    for (int i = 0; i < 1000; ++i) request.add_keys(std::to_string(i));
    v1::RouteBatchResponse response;
    EXPECT_FALSE(routing->RouteBatch(&context, request, &response).ok());
  }
  {
    grpc::ClientContext context;
    v1::ReportOutcomesResponse counted;
    const auto report = routing->ReportOutcomes(&context, &counted);
    v1::ReportOutcomesRequest request;
    for (const auto& [version, kind, count] :
         {std::tuple(v1::RING_VERSION_V1, v1::OUTCOME_HIT, 900),
          std::tuple(v1::RING_VERSION_V1, v1::OUTCOME_ORIGIN, 100),
          std::tuple(v1::RING_VERSION_V2, v1::OUTCOME_ORIGIN, 10),
          std::tuple(v1::RING_VERSION_V2, v1::OUTCOME_CONNECT_ERROR, 30)}) {
      v1::OutcomeCount& outcome = *request.add_outcomes();
      outcome.set_data_center("ams");
      outcome.set_ring_version(version);
      outcome.set_outcome(kind);
      outcome.set_count(count);
    }
    ASSERT_TRUE(report->Write(request));
    report->WritesDone();
    ASSERT_TRUE(report->Finish().ok());
  }
  // The router looks at its counters once a second.
  const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
  Completed top;
  do {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << top.out;
    top = Ringctl({"top", "--count", "1", "--server", router_.admin_address()});
    ASSERT_EQ(top.exit_code, 0) << top.err;
  } while (top.out.find("     10.00%     25.00%           0%       75.00%  ") == std::string::npos);
  const auto ams = GetAms();
  EXPECT_GT(Member(ams, "errors_per_second").number_value(), 0);
  EXPECT_EQ(Member(ams, "requests_per_second").number_value(), 0);
  const auto v1_outcomes = Member(ams, "v1_outcomes").struct_value();
  EXPECT_GT(Member(v1_outcomes, "hit").number_value(), 0);
  EXPECT_EQ(Member(v1_outcomes, "connect_error").number_value(), 0);
  const auto listed =
      Member(ParseJsonObject(Migration("list", {"--json"}).out), "migrations").list_value();
  const auto fra = listed.values(1).struct_value();
  EXPECT_EQ(Member(fra, "v2_outcomes").kind_case(), google::protobuf::Value::kNullValue);
  EXPECT_THAT(Migration("get", {"--data-center", "ams"}).out,
              HasSubstr("requests/s: 0% hit, 0% previous owner hit, 25.00% origin, 75.00% connect "
                        "error, 0% error\n"));
}

TEST_F(RingctlOnlineTest, HoldersHaveTheOwnerAndWhereTheKeyWasBefore) {
  const auto before = ParseJsonObject(Route({"--data-center", "ams", "--json", "k"}).out);
  ASSERT_EQ(Set("100").exit_code, 0);
  const auto after = ParseJsonObject(Route({"--data-center", "ams", "--json", "k"}).out);
  const Completed result = Ringctl(
      {"holders", "--server", router_.public_address(), "--data-center", "ams", "--json", "k"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto name = [](const google::protobuf::Value& node) {
    return Member(node.struct_value(), "name").string_value();
  };
  std::vector<std::string> holders;
  const auto listed = Member(ParseJsonObject(result.out), "holders").list_value();
  for (const auto& holder : listed.values()) {
    holders.push_back(name(Member(holder.struct_value(), "node")));
  }
  ASSERT_FALSE(holders.empty());
  EXPECT_EQ(holders.front(), name(Member(after, "owner")));
  EXPECT_THAT(holders, ::testing::Contains(name(Member(before, "owner"))));
}

TEST_F(RingctlOnlineTest, ARouterThatWasKilledIsUnreachable) {
  router_.process().Signal(SIGKILL);
  ASSERT_TRUE(router_.process().WaitForExit().has_value());
  for (const Completed& result :
       {Set("10"), Migration("list", {}), Route({"--data-center", "ams", "key"})}) {
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.err, HasSubstr("cannot reach 127.0.0.1:"));
    EXPECT_EQ(result.out, "");
  }
}

// A router that answers every change with an error.
class RefusingRouter : public v1::MigrationService::Service {
 public:
  explicit RefusingRouter(grpc::StatusCode code) : code_(code) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  const std::string& address() const { return address_; }

 private:
  grpc::Status GetMigration(grpc::ServerContext*, const v1::GetMigrationRequest*,
                            v1::GetMigrationResponse* response) override {
    response->mutable_migration()->set_data_center("ams");
    response->mutable_migration()->set_revision(1);
    response->mutable_migration()->set_has_v1(true);
    return grpc::Status::OK;
  }
  grpc::Status SetMigration(grpc::ServerContext*, const v1::SetMigrationRequest*,
                            v1::SetMigrationResponse*) override {
    return {code_, "of the test"};
  }

  const grpc::StatusCode code_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;  // last: it ends before what its calls use
};

Completed SetOn(const RefusingRouter& router) {
  return Ringctl({"migration", "set", "--data-center", "ams", "--percent", "1", "--yes", "--server",
                  router.address(), "--timeout", "60s"});
}

TEST(RingctlSetTest, ARefusalChangedNothing) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND,
        grpc::StatusCode::ALREADY_EXISTS, grpc::StatusCode::ABORTED,
        grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::RESOURCE_EXHAUSTED,
        grpc::StatusCode::PERMISSION_DENIED, grpc::StatusCode::UNAUTHENTICATED,
        grpc::StatusCode::UNIMPLEMENTED}) {
    const RefusingRouter router(code);
    const Completed result = SetOn(router);
    EXPECT_EQ(result.exit_code, 5) << code;
    EXPECT_THAT(result.err, Not(HasSubstr("not known"))) << code;
    EXPECT_EQ(result.out, "");
  }
}

TEST(RingctlSetTest, AfterEveryOtherErrorTheChangeMayHaveBeenMade) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::CANCELLED, grpc::StatusCode::UNKNOWN, grpc::StatusCode::DEADLINE_EXCEEDED,
        grpc::StatusCode::OUT_OF_RANGE, grpc::StatusCode::INTERNAL, grpc::StatusCode::DATA_LOSS}) {
    const RefusingRouter router(code);
    const Completed result = SetOn(router);
    EXPECT_EQ(result.exit_code, 6) << code;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("it is not known whether the share of ams was changed: look with "
                                "`ringctl migration get --data-center ams --server " +
                                router.address() + "`"),
                      Not(HasSubstr("refused"))));
    EXPECT_EQ(result.out, "");
  }
}

TEST(RingctlSetTest, AfterUnavailableTheShareInForceIsAsBeforeAndTheStoreMayHaveTheNewOne) {
  const RefusingRouter router(grpc::StatusCode::UNAVAILABLE);
  const Completed result = SetOn(router);
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(" answered UNAVAILABLE: of the test: try again later"),
                    HasSubstr("the share of ams that is in force on " + router.address() +
                              " is as before, but it is not known whether its store has the new "
                              "one: look with `ringctl migration get --data-center ams --server " +
                              router.address() + "`")));
  EXPECT_EQ(result.out, "");
}

// A port that takes connections and never says a word.
class BlackHole {
 public:
  BlackHole() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~BlackHole() { ::close(socket_); }
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;

  const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
};

TEST(RingctlTimeoutTest, ABlackHoleTakesNoLongerThanTheTimeout) {
  const BlackHole hole;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"migration", "get", "--data-center", "ams"},
           {"status"},
           {"topology", "show", "--data-center", "ams"},
           {"topology", "reload"},
           {"topology", "accept", "0123456789abcdef", "--yes"},
           {"migration", "list"},
           {"migration", "history"},
           {"migration", "forget", "ams", "--yes"},
           {"migration", "rename", "ams", "ams-1", "--yes"},
           {"migration", "set", "--data-center", "ams", "--percent", "1", "--reason", "r", "--yes"},
           {"migration", "rollback", "--all"},
           {"migration", "unfreeze", "--all", "--yes"},
           {"migration", "override", "--all", "--percent", "1", "--reason", "r", "--yes"},
           {"migration", "clear", "--all"},
           {"migration", "retire", "--all", "--ring", "v1", "--yes"},
           {"migration", "restore", "--all"},
           {"migration", "get-default"},
           {"migration", "watch"},
           {"top"},
           {"holders", "--data-center", "ams", "a"},
           {"route", "--data-center", "ams", "a", "b"},
           {"route", "--data-center", "ams"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--server", hole.address(), "--timeout", "300ms"});
    const auto start = std::chrono::steady_clock::now();
    const Completed result = Ringctl(arguments, "key\n");
    const auto elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.err,
                HasSubstr("no answer from " + hole.address() + " within 300ms: check that"));
    EXPECT_GE(elapsed, std::chrono::milliseconds(300));
    // Far below the next timeout that could end it (gRPC's connection attempt, 20 s), and enough
    // for a loaded machine.
    EXPECT_LT(elapsed, std::chrono::seconds(10));
  }
}

TEST(RingctlTimeoutTest, TheTimeoutHoldsWhileMoreKeysMayCome) {
  const BlackHole hole;
  const TempDir dir;
  // The writer of the keys stays: only the timeout can end it.
  const Completed result = testing::Run({"sh", "-c",
                                         R"(mkfifo "$2"
              { echo key; exec sleep 1000; } > "$2" 2> /dev/null &
              "$0" route --data-center ams --server "$1" --timeout 300ms < "$2"
              code=$?
              kill $!
              exit $code)",
                                         Binary("ringctl"), hole.address(), dir.File("keys")});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, StartsWith("ringctl: line 1: no answer from "));
}

TEST(RingctlTimeoutTest, ANameThatCannotBeResolvedIsUnreachable) {
  // No resolver asks anybody for this one: a label has at most 63 bytes. (And `invalid` is no
  // domain.)
  const std::string server = std::string(64, 'x') + ".invalid:7401";
  const Completed result = Ringctl({"migration", "list", "--server", server, "--timeout", "2s"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: "), HasSubstr(server)));
}

TEST(RingctlTimeoutTest, WrongServersAndTimeoutsAreUsageErrors) {
  const Completed server = Ringctl({"migration", "list", "--server", "localhost"});
  EXPECT_EQ(server.exit_code, 2);
  EXPECT_THAT(server.err, HasSubstr("--server: \"localhost\" is not a server: write HOST:PORT"));
  const Completed timeout = Ringctl({"migration", "list", "--timeout", "5"});
  EXPECT_EQ(timeout.exit_code, 2);
  EXPECT_THAT(timeout.err, HasSubstr("--timeout: \"5\" is not a duration"));
  const Completed reason = Ringctl(
      {"migration", "set", "--data-center", "ams", "--percent", "1", "--reason", "\xff", "--yes"});
  EXPECT_EQ(reason.exit_code, 2);
  EXPECT_THAT(reason.err, HasSubstr("--reason: \"\\xff\" is not UTF-8"));
}

TEST(RingctlEnvironmentTest, AVariableNamesTheServerAndAnOptionCountsBeforeIt) {
  const auto run = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {"env", "RINGCTL_ADMIN_SERVER=127.0.0.1:1",
                                     "RINGCTL_PUBLIC_SERVER=127.0.0.1:2", Binary("ringctl")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return testing::Run(argv);
  };
  EXPECT_THAT(run({"status"}).err, HasSubstr("cannot reach 127.0.0.1:1:"));
  EXPECT_THAT(run({"route", "--data-center", "ams", "key"}).err,
              HasSubstr("cannot reach 127.0.0.1:2:"));
  EXPECT_THAT(run({"status", "--server", "127.0.0.1:3"}).err,
              HasSubstr("cannot reach 127.0.0.1:3:"));
}

TEST(RingctlEnvironmentTest, AWrongVariableIsAUsageErrorThatNamesIt) {
  const std::string public_server = "RINGCTL_PUBLIC_SERVER";
  const std::string admin_server = "RINGCTL_ADMIN_SERVER";
  for (const auto& [server, command] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {public_server, {"route", "--data-center", "ams", "key"}},
           {public_server, {"explain", "--data-center", "ams", "key"}},
           {public_server, {"holders", "--data-center", "ams", "key"}},
           {admin_server, {"ring", "stats", "--data-center", "ams"}},
           {admin_server, {"status"}},
           {admin_server, {"migration", "list"}},
           {admin_server, {"top"}},
           {admin_server, {"topology", "reload"}}}) {
    for (const auto& [variable, value, wrong] :
         std::vector<std::tuple<std::string, std::string, std::string>>{
             {server, "localhost", "\"localhost\" is not a server"},
             {"RINGCTL_TIMEOUT", "5", "\"5\" is not a duration"}}) {
      std::vector<std::string> argv = {"env", variable + "=" + value, Binary("ringctl")};
      argv.insert(argv.end(), command.begin(), command.end());
      const Completed result = testing::Run(argv);
      EXPECT_EQ(result.exit_code, 2) << command[0];
      EXPECT_THAT(result.err, HasSubstr("ringctl: " + variable + ": " + wrong));
    }
  }
  const Completed help =
      testing::Run({"env", "RINGCTL_TIMEOUT=5", Binary("ringctl"), "migration", "list", "--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
}

}  // namespace
}  // namespace ringshift
