// ringctl's commands for topologies against a real ringshiftd: a change that is held, accepted, and
// what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/integration/router_process.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Completed;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::RouterProcess;
using ::ringshift::testing::SmallTopology;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RingctlTopologyTest : public ::testing::Test {
 protected:
  RingctlTopologyTest()
      : file_(dir_.Write("topology.yaml", SmallTopology())), router_(file_, dir_.File("state.db")) {
    router_.WaitUntilReady();
  }

  Completed Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--server", router_.admin_address()});
    return Ringctl(std::move(arguments));
  }
  google::protobuf::Struct RunJson(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const Completed result = Run(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return ParseJsonObject(result.out);
  }
  // The topology without data center `fra`, or rather with one named `name` in its place.
  void WriteWithoutFra(const std::string& name = "") const {
    std::string yaml = SmallTopology();
    const std::size_t begin = yaml.find("  - name: fra\n");
    const std::size_t end = yaml.find("  - name: new\n");
    if (name.empty()) {
      yaml.erase(begin, end - begin);
    } else {
      yaml.replace(begin, std::string("  - name: fra\n").size(), "  - name: " + name + "\n");
    }
    dir_.Write("topology.yaml", yaml);
  }
  std::string HeldChecksum() const {
    return Member(Member(RunJson({"status"}), "topology").struct_value(), "checksum")
        .string_value();
  }

  const TempDir dir_;
  const std::string file_;
  RouterProcess router_;
};

TEST_F(RingctlTopologyTest, StatusHasTheWholeRouter) {
  const Completed screen = Run({"status"});
  EXPECT_EQ(screen.exit_code, 0) << screen.err;
  EXPECT_THAT(screen.out,
              AllOf(HasSubstr("serving, up since"), HasSubstr("state.db, up"), HasSubstr(file_),
                    HasSubstr("by start: all of it serves"), HasSubstr("of 3 data centers"),
                    HasSubstr("\nams          canary"), HasSubstr("\nfra          large")));
  const auto json = RunJson({"status"});
  EXPECT_EQ(Member(json, "data_centers").list_value().values_size(), 3);
  EXPECT_EQ(Member(json, "incomplete_reason").string_value(), "");
  EXPECT_GT(Member(json, "ring_memory_bytes").number_value(), 0);
}

TEST_F(RingctlTopologyTest, ShowHasEveryNodeAndPool) {
  const Completed all = Run({"topology", "show"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("\nams "), HasSubstr("\nfra "), HasSubstr("\nnew ")));
  const Completed ams = Run({"topology", "show", "--data-center", "ams"});
  EXPECT_EQ(ams.exit_code, 0) << ams.err;
  EXPECT_THAT(ams.out, AllOf(HasSubstr("\ncache-9  10.0.0.9:443"),
                             HasSubstr("\nfedramp      4  fedramp\n")));
  const auto json = RunJson({"topology", "show", "--data-center", "new"});
  EXPECT_EQ(Member(json, "nodes").list_value().values_size(), 3);
  const auto rings = Member(Member(json, "summary").struct_value(), "rings").list_value();
  ASSERT_EQ(rings.values_size(), 1);
  EXPECT_EQ(Member(rings.values(0).struct_value(), "ring_version").string_value(), "v2");
  const Completed unknown = Run({"topology", "show", "--data-center", "nope"});
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("NOT_FOUND"));
}

TEST_F(RingctlTopologyTest, WhatIsHeldIsAcceptedAndLeavesAnOrphanThatIsForgotten) {
  ASSERT_EQ(
      Run({"migration", "set", "--data-center", "fra", "--percent", "12.5", "--yes"}).exit_code, 0);
  WriteWithoutFra();
  const Completed held = Run({"topology", "reload"});
  EXPECT_EQ(held.exit_code, 1) << held.err;
  EXPECT_THAT(held.out, AllOf(HasSubstr("\nfra          held     4 -> 0"), HasSubstr("\nfra: ")));
  const std::string checksum = HeldChecksum();
  EXPECT_THAT(held.err, HasSubstr("ringctl topology accept " + checksum));
  EXPECT_THAT(Run({"status"}).out,
              AllOf(HasSubstr("HELD, see below"), HasSubstr("ringctl topology accept " + checksum),
                    HasSubstr("\nfra          held     4 -> 0")));
  EXPECT_EQ(Run({"migration", "forget", "fra", "--yes"}).exit_code, 5);

  const Completed accepted =
      Run({"topology", "accept", checksum, "--yes", "--reason", "fra is turned off"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_THAT(Run({"status"}).out, AllOf(HasSubstr("of 2 data centers"), HasSubstr("\nORPHAN"),
                                         HasSubstr("\nfra     12.5%")));
  EXPECT_THAT(Run({"migration", "list"}).out,
              HasSubstr("\nfra is orphaned: this router does not serve the data center\n"));
  EXPECT_THAT(Run({"migration", "history", "--data-center", "fra"}).out,
              AllOf(HasSubstr("topology"), HasSubstr("fra is turned off")));

  const Completed set =
      Run({"migration", "set", "--data-center", "fra", "--percent", "5", "--yes"});
  EXPECT_EQ(set.exit_code, 5);
  EXPECT_THAT(set.err, HasSubstr("nothing was changed, because fra is orphaned: this router does "
                                 "not serve the data center: leave it out"));
  EXPECT_EQ(Run({"migration", "set", "--all", "--percent", "5", "--yes"}).exit_code, 0);

  const Completed forgotten = Run({"migration", "forget", "fra", "--yes", "--reason", "gone"});
  EXPECT_EQ(forgotten.exit_code, 0) << forgotten.err;
  EXPECT_EQ(forgotten.out, "fra: forgotten, was at 12.5%\n");
  EXPECT_THAT(Run({"status"}).out, Not(HasSubstr("ORPHAN")));
  const auto newest =
      Member(RunJson({"migration", "history", "--limit", "1"}), "changes").list_value();
  ASSERT_EQ(newest.values_size(), 1);
  const auto& change = newest.values(0).struct_value();
  EXPECT_EQ(Member(change, "kind").string_value(), "forgotten");
  EXPECT_EQ(Member(change, "from_v2_ppm").number_value(), 125'000);
  EXPECT_EQ(Member(change, "to_v2_ppm").kind_case(), google::protobuf::Value::kNullValue);
  EXPECT_EQ(Member(change, "reason").string_value(), "gone");
}

TEST_F(RingctlTopologyTest, ADataCenterKeepsItsShareUnderAnotherName) {
  ASSERT_EQ(
      Run({"migration", "set", "--data-center", "fra", "--percent", "12.5", "--yes"}).exit_code, 0);
  const Completed renamed = Run({"migration", "rename", "fra", "fra-1", "--yes"});
  EXPECT_EQ(renamed.exit_code, 0) << renamed.err;
  EXPECT_THAT(renamed.out, HasSubstr("fra-1: 12.5%, revision "));
  WriteWithoutFra("fra-1");
  EXPECT_EQ(Run({"topology", "reload"}).exit_code, 1);
  ASSERT_EQ(Run({"topology", "accept", HeldChecksum(), "--yes"}).exit_code, 0);
  const auto migration = RunJson({"migration", "get", "--data-center", "fra-1"});
  EXPECT_EQ(Member(migration, "effective_v2_ppm").number_value(), 125'000);
  EXPECT_EQ(Member(migration, "salt").string_value(), "fra");
  const Completed again = Run({"migration", "rename", "ams", "fra-1", "--yes"});
  EXPECT_EQ(again.exit_code, 5);
  EXPECT_THAT(again.err, HasSubstr("ALREADY_EXISTS"));
}

TEST_F(RingctlTopologyTest, ABadFileIsRefusedWithItsPlace) {
  dir_.Write("topology.yaml", "data_centers:\n  - nodes: []\n");
  const Completed result = Run({"topology", "reload"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("topology.yaml:2:"),
                                HasSubstr("correct the topology file and reload")));
  EXPECT_THAT(Run({"status"}).out, HasSubstr("FAILED, INVALID_ARGUMENT: "));
}

}  // namespace
}  // namespace ringshift
