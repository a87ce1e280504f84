#include "client/ringctl/ring_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/client/ringctl/offline_testing.h"
#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeDataCenter;
using ::ringshift::testing::ScratchFile;
using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;
constexpr std::string_view kPool = "    pools:\n      - {name: fast, required_features: [ssd]}\n";

RingDiff Diff(const OfflineDataCenter& from, const OfflineDataCenter& to,
              std::string_view pool = "") {
  const auto from_ring = Ring::Build(from.nodes, from.spec.v2).value();
  const auto to_ring = Ring::Build(to.nodes, to.spec.v2).value();
  return DiffRings({"old.yaml", from, *from_ring}, {"new.yaml", to, *to_ring}, pool).value();
}

const NodeDiff& Find(const RingDiff& diff, const std::string& to) {
  for (const NodeDiff& node : diff.nodes) {
    if (node.to == to) return node;
  }
  ADD_FAILURE() << "no node " << to;
  return diff.nodes.front();
}

TEST(RingDiffTest, FromOneNodeToTwoMovesWhatTheNewOneOwns) {
  const OfflineDataCenter one =
      MakeDataCenter({R"({name: a, address: "10.0.0.1:443", weight: 9})"});
  const OfflineDataCenter two =
      MakeDataCenter({R"({name: a, address: "10.0.0.1:443", weight: 9})",
                      R"({name: b, address: "10.0.0.2:443", weight: 9})"});
  const RingDiff diff = Diff(one, two);
  ASSERT_EQ(diff.nodes.size(), 2U);
  const NodeDiff& a = Find(diff, "a");
  const NodeDiff& b = Find(diff, "b");
  EXPECT_NEAR(diff.moved_ratio(), 0.5, 0.2);
  EXPECT_EQ(diff.moved, b.to_positions);
  EXPECT_EQ(b.gained, b.to_positions);
  EXPECT_EQ(a.lost, diff.moved);
  EXPECT_EQ(a.from_positions, kPositions);
  EXPECT_EQ(a.to_positions, kPositions - diff.moved);
  EXPECT_EQ(a.gained + b.lost + b.from_positions, 0U);
  EXPECT_EQ(diff.moved_between_survivors, 0U);
  EXPECT_EQ(b.from, "");
}

TEST(RingDiffTest, ANodeIsTheSameByItsIdentityAndThenByItsName) {
  const OfflineDataCenter from =
      MakeDataCenter({R"({name: a, address: "10.0.0.1:443", weight: 9})",
                      R"({name: b, address: "10.0.0.2:443", weight: 9})",
                      R"({name: c, address: "10.0.0.3:443", weight: 9})"});
  const OfflineDataCenter to = MakeDataCenter(
      {R"({name: renamed, address: "10.0.9.9:443", ring_identity: "10.0.0.1:443", weight: 9})",
       R"({name: b, address: "10.0.0.22:443", weight: 9})",
       R"({name: d, address: "10.0.0.4:443", weight: 8})"});
  const RingDiff diff = Diff(from, to);
  ASSERT_EQ(diff.nodes.size(), 4U);
  EXPECT_EQ(Find(diff, "renamed").from, "a");
  EXPECT_EQ(Find(diff, "b").from, "b");
  EXPECT_EQ(Find(diff, "d").from, "");
  EXPECT_EQ(Find(diff, "").from, "c");
  EXPECT_EQ(Find(diff, "d").to_weight, 8U);
  std::uint64_t lost = 0, gained = 0;
  for (std::size_t i = 0; i < diff.nodes.size(); ++i) {
    const NodeDiff& node = diff.nodes[i];
    lost += node.lost;
    gained += node.gained;
    EXPECT_EQ(node.to_positions, node.from_positions - node.lost + node.gained);
    if (i > 0) {
      EXPECT_LE(node.lost + node.gained, diff.nodes[i - 1].lost + diff.nodes[i - 1].gained);
    }
  }
  EXPECT_EQ(lost, diff.moved);
  EXPECT_EQ(gained, diff.moved);
}

TEST(RingDiffTest, AnotherOrderOfNodesMovesNothing) {
  const std::string a = R"({name: a, address: "10.0.0.1:443", weight: 9})";
  const std::string b = R"({name: b, address: "10.0.0.2:443", weight: 9})";
  const RingDiff diff = Diff(MakeDataCenter({a, b}), MakeDataCenter({b, a}));
  EXPECT_EQ(diff.moved, 0U);
  EXPECT_EQ(diff.from.checksum, diff.to.checksum);

  const ScratchFile file;
  Output output(file.fd());
  PrintDiff(diff, output);
  output.Flush();
  EXPECT_THAT(file.Contents(), HasSubstr("2 nodes keep exactly what they have."));
}

TEST(RingDiffTest, OfAPoolOnlyItsNodesCount) {
  const std::string a = R"({name: a, address: "10.0.0.1:443", weight: 9, features: [ssd]})";
  const std::string b = R"({name: b, address: "10.0.0.2:443", weight: 5, features: [ssd]})";
  const std::string plain_b = R"({name: b, address: "10.0.0.2:443", weight: 5})";
  const std::string c = R"({name: c, address: "10.0.0.3:443", weight: 7})";
  const RingDiff diff = Diff(MakeDataCenter({a, b, c}, std::string(kPool)),
                             MakeDataCenter({a, plain_b, c}, std::string(kPool)), "fast");
  EXPECT_EQ(diff.pool, "fast");
  EXPECT_EQ(diff.from.nodes, 2U);
  EXPECT_EQ(diff.from.total_weight, 14U);
  EXPECT_EQ(diff.to.nodes, 1U);
  ASSERT_EQ(diff.nodes.size(), 2U);
  const NodeDiff& gone = Find(diff, "");
  EXPECT_EQ(gone.from, "b");
  EXPECT_EQ(gone.lost, diff.moved);
  EXPECT_EQ(gone.from_positions, diff.moved);
  EXPECT_EQ(Find(diff, "a").to_positions, kPositions);
}

TEST(RingDiffTest, APoolThatOneSideDoesNotHaveIsNotFoundInItsFile) {
  const OfflineDataCenter with = MakeDataCenter(
      {R"({name: a, address: "10.0.0.1:443", features: [ssd]})"}, std::string(kPool));
  const OfflineDataCenter without = MakeDataCenter({R"({name: a, address: "10.0.0.1:443"})"});
  const auto ring = Ring::Build(with.nodes, with.spec.v2).value();
  EXPECT_THAT(DiffRings({"old.yaml", with, *ring}, {"new.yaml", without, *ring}, "fast"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("new.yaml: unknown pool \"fast\"; known: default")));
}

TEST(RingDiffTest, JsonHasExactCounts) {
  const OfflineDataCenter one = MakeDataCenter({R"({name: a, address: "10.0.0.1:443"})"});
  const OfflineDataCenter other = MakeDataCenter({R"({name: b, address: "10.0.0.2:443"})"});
  JsonWriter json;
  WriteDiff(Diff(one, other), json);
  const std::string text = json.TakeLine();
  EXPECT_THAT(text, HasSubstr("\"moved_positions\":4294967296,\"moved_ratio\":1,"));
  EXPECT_THAT(text, HasSubstr(R"({"from":"a","to":"","state":"gone","from_weight":1,"to_weight":0,)"
                              R"("from_positions":4294967296,"to_positions":0,"from_ratio":1,)"
                              R"("to_ratio":0,"lost_positions":4294967296,"gained_positions":0})"));
  EXPECT_THAT(text, HasSubstr(R"({"from":"","to":"b","state":"new",)"));
}

}  // namespace
}  // namespace ringshift
