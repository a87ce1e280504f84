// `ringctl ring balance` and `ringctl ring plan` as people and scripts run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/testing/document.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Completed;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::ReadFile;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kTopology = R"(data_centers:
  - name: ams
    nodes:
      - {name: a, address: "10.0.0.1:443", weight: 100, features: [fedramp]}
      - {name: b, address: "10.0.0.2:443", weight: 100}
      - {name: c, address: "10.0.0.3:443", weight: 100, features: [fedramp]}
      - {name: d, address: "10.0.0.4:443", weight: 100}
    pools:
      - {name: fedramp, required_features: [fedramp]}
      - {name: nowhere, required_features: [antarctica]}
  - name: new
    nodes:
      - {name: n, address: "10.1.0.1:443", weight: 100}
      - {name: m, address: "10.1.0.2:443", weight: 50}
    rings:
      v1: none
)";

class RingctlPlanningTest : public ::testing::Test {
 protected:
  // `ringctl ring COMMAND` on the topology.
  Completed Ring(const std::string& command, const std::string& data_center,
                 std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"ring", command, "--topology", topology_, "--data-center", data_center});
    return Ringctl(more);
  }

  struct Wrong {
    std::string data_center;
    std::vector<std::string> more;
    int exit_code;
    std::string message;
  };
  void ExpectRefused(const std::string& command, const std::vector<Wrong>& cases) const {
    for (const Wrong& wrong : cases) {
      const Completed done = Ring(command, wrong.data_center, wrong.more);
      EXPECT_EQ(done.exit_code, wrong.exit_code) << wrong.message;
      EXPECT_THAT(done.err, HasSubstr(wrong.message));
      EXPECT_EQ(done.out, "");
    }
  }

  TempDir dir_;
  const std::string topology_ = dir_.Write("topology.yaml", kTopology);
};

TEST_F(RingctlPlanningTest, BalanceShowsBothRingsAndAgreesWithStats) {
  const Completed text = Ring("balance", "ams");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("\nv1, the load of each node"),
                              HasSubstr("\nv2, the load of each node")));
  const Completed json = Ring("balance", "ams", {"--pool", "fedramp", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const Completed stats = Ring("stats", "ams", {"--json"});
  const auto balanced = Member(ParseJsonObject(json.out), "rings").list_value();
  const auto measured = Member(ParseJsonObject(stats.out), "rings").list_value();
  ASSERT_EQ(balanced.values_size(), 2);
  for (int ring = 0; ring < 2; ++ring) {
    const auto fedramp =
        Member(measured.values(ring).struct_value(), "pools").list_value().values(1).struct_value();
    EXPECT_EQ(Member(fedramp, "pool").string_value(), "fedramp");
    for (const char* name : {"cv", "max_ratio", "min_ratio"}) {
      EXPECT_EQ(Member(balanced.values(ring).struct_value(), name).number_value(),
                Member(fedramp, name).number_value());
    }
  }
}

TEST_F(RingctlPlanningTest, BalanceOfOneRingIsPlotted) {
  const std::string plot = dir_.File("out.svg");
  const Completed done = Ring("balance", "ams", {"--ring", "v2", "--plot", plot});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(ReadFile(plot), AllOf(StartsWith("<svg "), EndsWith("</svg>\n"), HasSubstr("v2: ")));
  EXPECT_THAT(ReadFile(plot), ::testing::Not(HasSubstr("v1: ")));
  EXPECT_THAT(Ring("balance", "new", {"--plot", plot}).err, IsEmpty());
}

TEST_F(RingctlPlanningTest, APictureThatCannotBeWrittenIsAnErrorAfterTheChart) {
  const Completed done = Ring("balance", "ams", {"--plot", "/no/such/place.svg"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.out, HasSubstr("the load of each node"));
  EXPECT_THAT(done.err, HasSubstr("cannot write /no/such/place.svg"));
}

TEST_F(RingctlPlanningTest, BalanceSaysWhatIsWrong) {
  ExpectRefused("balance", {
                               {"fra", {}, 3, "unknown data center \"fra\"; known: ams, new"},
                               {"ams", {"--pool", "x"}, 3, "unknown pool \"x\""},
                               {"ams", {"--pool", "nowhere"}, 3, "pool nowhere has no node"},
                               {"new", {"--ring", "v1"}, 3, "data center new has no ring v1"},
                               {"ams", {"--ring", "v3"}, 2, "\"v3\" is none of v1, v2"},
                           });
}

TEST_F(RingctlPlanningTest, PlanRecommendsFirstWhatMovesNoKey) {
  const Completed text = Ring("plan", "ams");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("\nRecommended: v1 with 160 points a weight, layout "));
  EXPECT_THAT(text.out, HasSubstr(", and no key moves.\n\n    rings:\n      v1: {"));
  EXPECT_THAT(text.err, HasSubstr("warning: "));
  const Completed json = Ring("plan", "ams", {"--json"});
  const auto recommended = Member(ParseJsonObject(json.out), "recommended").struct_value();
  EXPECT_EQ(Member(recommended, "ring_version").string_value(), "v1");
  EXPECT_EQ(Member(recommended, "moved_ratio").number_value(), 0);
  EXPECT_NE(Member(recommended, "layout").string_value(), "wide");
}

// The lines that it recommends are taken into the file: a second plan has the same ring today.
TEST_F(RingctlPlanningTest, WhatIsRecommendedCanBeServed) {
  const Completed before = Ring("plan", "new", {"--target-cv", "0.5%", "--json"});
  ASSERT_EQ(before.exit_code, 0) << before.err;
  const auto recommended = Member(ParseJsonObject(before.out), "recommended").struct_value();
  const auto points = static_cast<int>(Member(recommended, "points_per_weight").number_value());
  std::string topology(kTopology);
  topology += "      v2: {points_per_weight: " + std::to_string(points) +
              ", layout: " + Member(recommended, "layout").string_value() + "}\n";
  dir_.Write("topology.yaml", topology);
  const Completed after = Ring("plan", "new", {"--target-cv", "0.005"});
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_THAT(after.out, HasSubstr("today, recommended"));
  EXPECT_THAT(after.out, HasSubstr("as it is, no layout is smaller"));
}

TEST_F(RingctlPlanningTest, PlanIsOneForWhatCannotBeReached) {
  const Completed memory = Ring("plan", "ams", {"--max-memory", "64"});
  EXPECT_EQ(memory.exit_code, 1);
  EXPECT_THAT(memory.out, HasSubstr("Wanted: at most 64 B"));
  EXPECT_THAT(memory.err, HasSubstr("reaches the goal, at most 64 B: allow more memory"));
  const Completed cv = Ring("plan", "ams", {"--target-cv", "0.0000001", "--json"});
  EXPECT_EQ(cv.exit_code, 1);
  EXPECT_EQ(Member(ParseJsonObject(cv.out), "recommended").kind_case(),
            google::protobuf::Value::kNullValue);
}

TEST_F(RingctlPlanningTest, PlanSaysWhatIsWrong) {
  ExpectRefused("plan",
                {
                    {"fra", {}, 3, "unknown data center \"fra\"; known: ams, new"},
                    {"new", {"--ring", "v1"}, 3, "data center new has no ring v1"},
                    {"ams", {"--target-cv", "2"}, 2, "\"2\" is not a CV above 0 and up to 1"},
                    {"ams", {"--target-cv", "0"}, 2, "\"0\" is not a CV above 0 and up to 1"},
                    {"ams", {"--target-cv", "nan"}, 2, "\"nan\" is not a CV above 0 and up to 1"},
                    {"ams", {"--max-memory", "1MB"}, 2, "\"1MB\" is not a number of bytes above 0"},
                    {"ams", {"--target-cv", "2%", "--max-memory", "1MiB"}, 2, "exclude each other"},
                });
}

}  // namespace
}  // namespace ringshift
