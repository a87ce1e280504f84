#include "client/ringctl/balance_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "client/ringctl/balance_plot.h"
#include "ring/ownership.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/client/ringctl/offline_testing.h"
#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeDataCenter;
using ::ringshift::testing::Printed;
using ::ringshift::testing::StatusIs;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kPools =
    "    pools:\n      - {name: fast, required_features: [ssd]}\n"
    "      - {name: nowhere, required_features: [antarctica]}\n";

OfflineDataCenter ThreeNodes() {
  return MakeDataCenter({R"({name: a, address: "10.0.0.1:443", weight: 10, features: [ssd]})",
                         R"({name: b, address: "10.0.0.2:443", weight: 20, features: [ssd]})",
                         R"({name: "c<&", address: "10.0.0.3:443", weight: 30})"},
                        std::string(kPools));
}

OfflineDataCenter Nodes(int count) {
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    nodes.push_back("{name: n" + n + ", address: \"10.0.1." + n + ":443\", weight: 10}");
  }
  return MakeDataCenter(nodes);
}

BalanceReport Report(const OfflineDataCenter& data_center, std::string_view pool = "") {
  BalanceReport report = StartBalance(data_center, pool).value();
  for (const RingParameters& parameters : {*data_center.spec.v1, data_center.spec.v2}) {
    const auto ring = Ring::Build(data_center.nodes, parameters).value();
    report.rings.push_back(MeasureBalance(data_center, *ring, pool).value());
  }
  return report;
}

std::string Text(const BalanceReport& report) {
  return Printed([&](Output& output) { PrintBalance(report, output); });
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(BalanceReportTest, SharesAreExactAndTheMostLoadedComesFirst) {
  const OfflineDataCenter data_center = ThreeNodes();
  const BalanceReport report = Report(data_center);
  EXPECT_EQ(report.total_weight, 60U);
  ASSERT_EQ(report.rings.size(), 2U);
  for (const RingBalance& ring : report.rings) {
    ASSERT_EQ(ring.nodes.size(), 3U);
    EXPECT_EQ(ring.nodes.front().load, ring.max_ratio);
    EXPECT_EQ(ring.nodes.back().load, ring.min_ratio);
    std::uint64_t sum = 0;
    for (const NodeShare& node : ring.nodes) {
      sum += node.positions;
      EXPECT_DOUBLE_EQ(node.load, static_cast<double>(node.positions) / 4294967296.0 * 60 /
                                      static_cast<double>(node.weight));
    }
    EXPECT_EQ(sum, std::uint64_t{1} << 32);
    EXPECT_EQ(ring.predicted.cv, PredictBalance(*data_center.nodes, ring.parameters).cv);
  }
}

TEST(BalanceReportTest, OfAPoolOnlyItsNodesCountAndTheoryIsThePools) {
  const BalanceReport report = Report(ThreeNodes(), "fast");
  EXPECT_EQ(report.pool, "fast");
  EXPECT_EQ(report.nodes, 2U);
  EXPECT_EQ(report.total_weight, 30U);
  const OfflineDataCenter pool =
      MakeDataCenter({R"({name: a, address: "10.0.0.1:443", weight: 10})",
                      R"({name: b, address: "10.0.0.2:443", weight: 20})"});
  const BalanceReport alone = Report(pool);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(report.rings[i].cv, alone.rings[i].cv);
    EXPECT_EQ(report.rings[i].predicted.cv, alone.rings[i].predicted.cv);
    EXPECT_EQ(report.rings[i].nodes[0].name, alone.rings[i].nodes[0].name);
  }
}

TEST(BalanceReportTest, APoolWithoutNodesOrOfNoNameIsAnError) {
  EXPECT_THAT(StartBalance(ThreeNodes(), "nowhere"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nowhere has no node")));
  EXPECT_THAT(StartBalance(ThreeNodes(), "slow"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown pool \"slow\"")));
}

TEST(BalanceReportTest, AFewNodesHaveALineEachWithABarToTheirSide) {
  const std::string text = Text(Report(ThreeNodes()));
  EXPECT_THAT(text, HasSubstr("pool default: 3 nodes, total weight 60"));
  for (const char* name : {"a ", "b ", "c<&"}) EXPECT_EQ(Count(text, std::string("\n") + name), 2U);
  // The node that is farthest from the ideal has a full bar; the others have shorter ones.
  EXPECT_EQ(Count(text, std::string(24, '#')), 2U) << text;
  EXPECT_THAT(text, ContainsRegex("16\\.6667%  1[0-9.]+%  0\\.[0-9]+ +#+\\|\n"));
}

TEST(BalanceReportTest, ManyNodesShareTheLinesOfTheChart) {
  const std::string few = Text(Report(Nodes(48)));
  EXPECT_THAT(few, HasSubstr("\nn47 "));
  const std::string many = Text(Report(Nodes(49)));
  EXPECT_THAT(many, Not(HasSubstr("\nn")));
  EXPECT_THAT(many, ContainsRegex("\n +48 to 49  "));
  EXPECT_EQ(Count(many, "\n"), 2U * 36 + 5)  // titles, and 32 lines for each ring
  ;
}

TEST(BalanceReportTest, ASingleNodeIsIdeal) {
  const BalanceReport report = Report(Nodes(1));
  EXPECT_EQ(report.rings[0].nodes[0].load, 1);
  EXPECT_THAT(Text(report), ContainsRegex("n0 +10 +100\\.0000% +100\\.0000% +1\\.0000 +\\|\n"));
  EXPECT_THAT(BalanceAsSvg(report), Not(ContainsRegex("nan|inf")));
}

TEST(BalanceReportTest, JsonHasEveryNode) {
  BalanceReport report = Report(ThreeNodes());
  report.rings.resize(1);
  report.rings[0].nodes = {{"c<&", 30, std::uint64_t{1} << 31, 1}};
  const std::string json = BalanceAsJson(report);
  EXPECT_THAT(json, HasSubstr(R"({"data_center":"ams","pool":"default","nodes":3,)"
                              R"("total_weight":60,"rings":[{"ring_version":"v1",)"
                              R"("points_per_weight":160,"points":9600,"cv":0.)"));
  EXPECT_THAT(json, HasSubstr(R"("nodes":[{"node":"c<&","weight":30,"ideal_ratio":0.5,)"
                              R"("ratio":0.5,"positions":2147483648,"load":1}]}]})"));
}

TEST(BalancePlotTest, AFewNodesAreBarsUnderTheirNames) {
  const std::string svg = BalanceAsSvg(Report(ThreeNodes()));
  EXPECT_THAT(svg, HasSubstr("pool default: 3 nodes</title>"));
  EXPECT_THAT(svg, HasSubstr(">c&lt;&amp;</text>"));
  EXPECT_THAT(svg, HasSubstr(">v2: 16 points a weight, 960 points, CV "));
  EXPECT_THAT(svg, HasSubstr(">ideal</text>"));
  EXPECT_THAT(svg, HasSubstr(">node, by its load on the first ring</text>"));
  // One in the legend and one for each node.
  EXPECT_EQ(Count(svg, "fill=\"#0072b2\""), 4U);
  EXPECT_EQ(Count(svg, "fill=\"#d55e00\""), 4U);
  EXPECT_EQ(Count(svg, "<polyline"), 0U);
}

TEST(BalancePlotTest, ManyNodesAreACurveForEachRing) {
  const std::string svg = BalanceAsSvg(Report(Nodes(49)));
  EXPECT_EQ(Count(svg, "<polyline"), 2U);
  EXPECT_THAT(svg, HasSubstr(">nodes, the most loaded first</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">n1</text>")));
}

}  // namespace
}  // namespace ringshift
