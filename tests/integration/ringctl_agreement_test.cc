// What ringctl says with a router's own files is what it says of the router that serves them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "migration/sqlite_store.h"
#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Completed;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::RouterProcess;
using ::ringshift::testing::SmallTopology;
using ::ringshift::testing::TempDir;
using ::testing::HasSubstr;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

// `json` without a member that has others behind it: a number, null, a string or an object of
// those.
std::string Without(std::string json, const std::string& name) {
  const std::string member = "\"" + name + "\":";
  const std::size_t begin = json.find(member);
  if (begin == std::string::npos) return json;
  const char first = json.at(begin + member.size());
  const std::string end = first == '"' ? "\"," : first == '{' ? "}," : ",";
  json.erase(begin, json.find(end, begin + member.size() + 1) + end.size() - begin);
  return json;
}

// Without where the object may still be warm: a topology file does not know what answered before.
std::string WithoutHistory(std::string explanation) {
  for (const char* name : {"previous_owner", "previous_owner_reason", "v1_warm_from_ppm",
                           "v1_warm_below_ppm", "v2_warm_from_ppm", "v2_warm_below_ppm"}) {
    explanation = Without(std::move(explanation), name);
  }
  return explanation;
}

std::vector<std::string> Joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class RingctlAgreementTest : public ::testing::Test {
 protected:
  RingctlAgreementTest() : router_(topology_, dir_.File("state.db")) {
    router_.WaitUntilReady();
    for (int i = 0; i < 1000; ++i) keys_.push_back("/img/" + std::to_string(i) + ".jpg");
  }

  void SetShare(const std::string& data_center, const std::string& percent) const {
    const Completed result = Ringctl({"migration", "set", "--server", router_.admin_address(),
                                      "--data-center", data_center, "--percent", percent, "--yes"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  const TempDir dir_;
  const std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  RouterProcess router_;
  std::vector<std::string> keys_;
};

TEST_F(RingctlAgreementTest, ExplainOfflineIsExplainOnlineForEveryKey) {
  SetShare("ams", "37.5");
  const std::vector<std::vector<std::string>> requests = {
      {"--data-center", "ams"},
      {"--data-center", "ams", "--pool", "fedramp", "--replicas", "16"},
      {"--data-center", "fra", "--replicas", "3"},
      {"--data-center", "new"}};
  for (const std::vector<std::string>& request : requests) {
    const std::vector<std::string> command = Joined(Joined({"explain", "--json"}, request), keys_);
    const Completed online =
        Ringctl(Joined(command, {"--server", router_.public_address(), "--timeout", "60s"}));
    const std::string percent = request[1] == "ams" ? "37.5" : request[1] == "fra" ? "0" : "100";
    const Completed offline =
        Ringctl(Joined(command, {"--topology", topology_, "--percent", percent}));
    ASSERT_EQ(online.exit_code, 0) << online.err;
    ASSERT_EQ(offline.exit_code, 0) << offline.err;
    const std::vector<std::string> online_lines = Lines(online.out);
    std::vector<std::string> offline_lines = Lines(offline.out);
    ASSERT_EQ(online_lines.size(), keys_.size());
    ASSERT_EQ(offline_lines.size(), keys_.size());
    const auto revision = static_cast<int>(
        Member(ParseJsonObject(online_lines[0]), "migration_revision").number_value());
    EXPECT_GE(revision, 1);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const std::string none = "\"migration_revision\":0,";
      const std::size_t at = offline_lines[i].find(none);
      ASSERT_NE(at, std::string::npos);
      offline_lines[i].replace(at, none.size(),
                               "\"migration_revision\":" + std::to_string(revision) + ",");
      ASSERT_EQ(WithoutHistory(online_lines[i]), WithoutHistory(offline_lines[i]));
    }
  }
}

TEST_F(RingctlAgreementTest, ExplainNamesTheOwnersThatRouteNames) {
  SetShare("ams", "50");
  const std::vector<std::string> request =
      Joined({"--server", router_.public_address(), "--timeout", "60s", "--data-center", "ams",
              "--json", "--replicas", "3", "--pool", "fedramp"},
             keys_);
  const Completed routed = Ringctl(Joined({"route"}, request));
  const Completed explained = Ringctl(Joined({"explain"}, request));
  ASSERT_EQ(routed.exit_code, 0) << routed.err;
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const std::vector<std::string> routes = Lines(routed.out);
  const std::vector<std::string> explanations = Lines(explained.out);
  ASSERT_EQ(routes.size(), keys_.size());
  ASSERT_EQ(explanations.size(), keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto route = ParseJsonObject(routes[i]);
    const auto explanation = ParseJsonObject(explanations[i]);
    for (const char* name : {"key", "ring_version", "owner", "replicas", "is_short",
                             "table_checksum", "migration_revision"}) {
      ASSERT_EQ(Member(route, name).DebugString(), Member(explanation, name).DebugString());
    }
  }
}

TEST_F(RingctlAgreementTest, ExplainShowsTheRevisionOfTheRouter) {
  SetShare("ams", "50");
  const Completed result = Ringctl(
      {"explain", "--server", router_.public_address(), "--data-center", "ams", "/img/1.jpg"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  revision   "));
  const Completed unknown =
      Ringctl({"explain", "--server", router_.public_address(), "--data-center", "nope", "a", "b"});
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("key 1: "));
}

TEST_F(RingctlAgreementTest, RingStatsOfTheRouterAreThoseOfItsFile) {
  for (const std::string data_center : {"ams", "fra", "new"}) {
    const std::vector<std::string> command = {"ring", "stats", "--data-center", data_center};
    const std::vector<std::string> of_router = {"--server", router_.admin_address()};
    const std::vector<std::string> of_file = {"--topology", topology_};
    const Completed online = Ringctl(Joined(Joined(command, of_router), {"--json"}));
    const Completed offline = Ringctl(Joined(Joined(command, of_file), {"--json"}));
    ASSERT_EQ(online.exit_code, 0) << online.err;
    ASSERT_EQ(offline.exit_code, 0) << offline.err;
    // Nothing but the time of the build may differ.
    auto online_object = ParseJsonObject(online.out);
    auto offline_object = ParseJsonObject(offline.out);
    for (auto* object : {&online_object, &offline_object}) {
      for (auto& ring :
           *(*object->mutable_fields())["rings"].mutable_list_value()->mutable_values()) {
        EXPECT_EQ(ring.mutable_struct_value()->mutable_fields()->erase("build_seconds"), 1U);
      }
    }
    EXPECT_EQ(online_object.DebugString(), offline_object.DebugString());

    // The table of how many nodes carry which load, too.
    const auto loads = [](const std::string& out) {
      return out.substr(out.find("LOAD OF A NODE"));
    };
    EXPECT_EQ(loads(Ringctl(Joined(command, of_router)).out),
              loads(Ringctl(Joined(command, of_file)).out));
  }
  const Completed unknown =
      Ringctl({"ring", "stats", "--server", router_.admin_address(), "--data-center", "nope"});
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("NOT_FOUND"));
}

TEST_F(RingctlAgreementTest, AStoreIsCopiedWhileItsRouterRuns) {
  SetShare("ams", "12.5");
  SetShare("fra", "25");
  const Completed copied = Ringctl(
      {"store", "copy", "sqlite:" + dir_.File("state.db"), "sqlite:" + dir_.File("copy.db")});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_THAT(copied.out, HasSubstr(": 3 migrations, 3 topologies and "));
  ASSERT_OK_AND_ASSIGN(const StoreContents from, SqliteStore::ReadContents(dir_.File("state.db")));
  ASSERT_OK_AND_ASSIGN(const StoreContents to, SqliteStore::ReadContents(dir_.File("copy.db")));
  EXPECT_EQ(from, to);
  // The router goes on; the copy stays as it is, and is not replaced.
  SetShare("ams", "50");
  const Completed again = Ringctl(
      {"store", "copy", "sqlite:" + dir_.File("state.db"), "sqlite:" + dir_.File("copy.db")});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("there is a file at " + dir_.File("copy.db") + " already"));

  // A router that starts on the copy serves its shares.
  RouterProcess second(topology_, dir_.File("copy.db"), {"--store-must-exist"});
  second.WaitUntilReady();
  const Completed list = Ringctl(
      {"migration", "get", "--server", second.admin_address(), "--data-center", "ams", "--json"});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  EXPECT_EQ(Member(ParseJsonObject(list.out), "v2_ppm").number_value(), 125000);
}

}  // namespace
}  // namespace ringshift
