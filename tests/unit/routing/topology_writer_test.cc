#include "routing/topology_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "routing/topology_loader.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeNode;
using ::ringshift::testing::MakeSpec;
using ::testing::IsEmpty;
using ::testing::Not;

Topology One(DataCenterSpec spec) {
  Topology topology;
  topology.data_centers.push_back(std::move(spec));
  return topology;
}

void ExpectReadBack(const Topology& topology) {
  const std::string text = WriteTopology(topology);
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(text, "stored"));
  EXPECT_TRUE(loaded.topology.data_centers == topology.data_centers) << text;
  EXPECT_EQ(WriteTopology(loaded.topology), text);
}

TEST(TopologyWriterTest, WritesEverythingInTheOrderOfTheTopology) {
  DataCenterSpec ams = MakeSpec(2, 625);
  ams.tier = "canary";
  ams.nodes[0].features = {"ssd", "fedramp"};
  ams.nodes[0].zone = "r1";
  ams.nodes[1].ring_identity = "10.9.9.9:80";
  ams.pools = {{"fedramp", {"fedramp"}}, {"both", {"ssd", "fedramp"}}};
  DataCenterSpec sin = MakeSpec(1, 625);
  sin.name = "sin";
  sin.identity_style = IdentityStyle::kNginx;
  sin.v1.reset();
  sin.v2 = {RingVersion::kV2, 20, RingLayout::kWide};
  Topology topology;
  topology.data_centers = {ams, sin};
  EXPECT_EQ(WriteTopology(topology),
            R"(data_centers:
  - name: "ams"
    tier: "canary"
    identity_style: canonical
    nodes:
      - {name: "n1", address: "10.0.0.1:443", weight: 625, features: ["ssd", "fedramp"], zone: "r1"}
      - {name: "n2", address: "10.0.0.2:443", weight: 625, features: [], ring_identity: "10.9.9.9:80"}
    pools:
      - {name: "fedramp", required_features: ["fedramp"]}
      - {name: "both", required_features: ["ssd", "fedramp"]}
    rings:
      v1: {points_per_weight: 160, layout: wide}
      v2: {points_per_weight: 16, layout: dense}
  - name: "sin"
    identity_style: nginx
    nodes:
      - {name: "n1", address: "10.0.0.1:443", weight: 625, features: []}
    pools: []
    rings:
      v1: none
      v2: {points_per_weight: 20, layout: wide}
)");
  ExpectReadBack(topology);
}

TEST(TopologyWriterTest, NamesThatYamlWouldTakeForSomethingElseAreReadBack) {
  DataCenterSpec spec = MakeSpec(0);
  for (const char* name :
       {"null",  "~",  "true", "no",  "0x10", "1e3",   "-",   "---",   "...",  "?",
        ":",     "a:", "#",    "a#b", "&a",   "*a",    "!a",  "!!str", "|",    ">",
        "%YAML", "@a", "`a",   "'",   "\"",   "\\",    "\\n", "''",    "\"\"", "a\"b\\c'd",
        "[",     "]",  "{",    "}",   ",",    "{{x}}", "<<",  "="}) {
    NodeSpec node = MakeNode(spec.nodes.size() + 1, 100);
    node.name = name;
    spec.nodes.push_back(node);
  }
  spec.name = "null";
  spec.tier = "-";
  spec.nodes[0].features = {"null", "true", "1.5", "-"};
  spec.nodes[0].zone = "...";
  spec.pools = {{"no", {"null"}}, {"-", {"-", "true"}}, {"---", {"1.5"}}};
  ExpectReadBack(One(spec));
}

TEST(TopologyWriterTest, EveryPrintableCharacterOfANameAndOfAnNginxAddressIsReadBack) {
  DataCenterSpec spec = MakeSpec(0);
  spec.identity_style = IdentityStyle::kNginx;
  for (char c = '!'; c <= '~'; ++c) {
    NodeSpec node = MakeNode(spec.nodes.size() + 1, 100);
    node.name = std::string(1, c);
    node.address = std::string("h") + c + "x:80";
    node.ring_identity = std::string("unix:/run/") + c + c;
    spec.nodes.push_back(node);
  }
  spec.nodes[0].name = std::string(253, '"');
  spec.nodes[1].address = "h" + std::string(511, '\\');
  ExpectReadBack(One(spec));
}

TEST(TopologyWriterTest, ATopologyThatIsWarnedAboutIsReadBack) {
  DataCenterSpec spec = MakeSpec(3, 1);
  spec.nodes[1].address = "10.104.166.234:1145";  // a stuck chain
  spec.pools = {{"nobody", {"f"}}};
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded,
                       ParseTopology(WriteTopology(One(spec)), "stored"));
  EXPECT_THAT(loaded.warnings, Not(IsEmpty()));
  ExpectReadBack(One(spec));
}

TEST(TopologyWriterTest, RandomTopologiesAreReadBack) {
  std::mt19937 random(1);
  const auto pick = [&random](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  const auto word = [&](char low, char high, std::size_t longest) {
    std::string text;
    for (std::size_t left = 1 + random() % longest; left > 0; --left) {
      text += static_cast<char>(
          pick(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high)));
    }
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    Topology topology;
    for (std::uint32_t dc = 1; dc <= pick(1, 3); ++dc) {
      DataCenterSpec spec = MakeSpec(0);
      spec.name = "dc-" + std::to_string(dc);
      if (pick(0, 1)) spec.tier = word('a', 'z', 63);
      if (pick(0, 1)) spec.identity_style = IdentityStyle::kNginx;
      for (std::uint32_t i = 1; i <= pick(1, 20); ++i) {
        NodeSpec node = MakeNode(i, pick(1, 100));
        node.name = std::to_string(i) + word('!', '~', 100);
        if (pick(0, 2) == 0) node.address = "[2001:DB8::" + std::to_string(i) + "]:80";
        if (pick(0, 2) == 0) node.ring_identity = "Host-" + std::to_string(i) + ":8080";
        if (pick(0, 1)) node.zone = word('A', 'Z', 63);
        for (std::uint32_t f = 1; f <= pick(0, 3); ++f) {
          node.features.push_back("f" + std::to_string(f) + word('0', '9', 20));
        }
        spec.nodes.push_back(node);
      }
      for (std::uint32_t p = 1; p <= pick(0, 3); ++p) {
        spec.pools.push_back({"p" + std::to_string(p), {"f1" + word('0', '9', 1), "f2"}});
      }
      if (pick(0, 3) == 0) {
        spec.v1.reset();
      } else {
        spec.v1 = {RingVersion::kV1, pick(1, 1000), kRingLayouts[pick(0, 2)]};
      }
      spec.v2 = {RingVersion::kV2, pick(1, 1000), kRingLayouts[pick(0, 2)]};
      topology.data_centers.push_back(spec);
    }
    ExpectReadBack(topology);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(TopologyWriterTest, ADifferenceAnywhereIsADifferenceOfTheText) {
  DataCenterSpec base = MakeSpec(3);
  base.nodes[0].features = {"a", "b"};
  base.pools = {{"p", {"a"}}};
  std::vector<DataCenterSpec> specs(17, base);
  specs[1].name = "sin";
  specs[2].tier = "t";
  specs[3].identity_style = IdentityStyle::kNginx;
  specs[4].nodes[0].name = "x";
  specs[5].nodes[0].address = "10.0.0.9:443";
  specs[6].nodes[0].weight = 99;
  specs[7].nodes[0].features = {"b", "a"};
  specs[8].nodes[0].zone = "z";
  specs[9].nodes[0].ring_identity = base.nodes[0].address;
  specs[10].pools[0].name = "q";
  specs[11].pools[0].required_features = {"b"};
  specs[12].v1.reset();
  specs[13].v1->points_per_weight = 161;
  specs[14].v1->layout = RingLayout::kPacked;
  specs[15].v2.layout = RingLayout::kWide;
  std::swap(specs[16].nodes[0], specs[16].nodes[1]);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(WriteTopology(One(specs[i])), WriteTopology(One(specs[j]))) << i << " " << j;
    }
  }
}

TEST(TopologyWriterTest, TheLargestDataCenterIsReadBack) {
  DataCenterSpec spec = MakeSpec(NodeSet::kMaxNodes);
  spec.nodes.back().address = "[2001:db8::1]:443";  // behind the last of 10.0.0.0/16
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    spec.nodes[i].features = {"fedramp", "ssd"};
    spec.nodes[i].zone = "rack-" + std::to_string(i % 100);
  }
  spec.v1->points_per_weight = spec.v2.points_per_weight = 2;
  ExpectReadBack(One(spec));
}

}  // namespace
}  // namespace ringshift
