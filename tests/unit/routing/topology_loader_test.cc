#include "routing/topology_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "routing/data_center.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Data center `ams` with `nodes` in a flow list, and `more` keys.
std::string Ams(const std::string& nodes, const std::string& more = "") {
  return absl::StrCat("data_centers:\n- name: ams\n  nodes: [", nodes, "]\n", more);
}

const char kNode[] = R"({name: a, address: "10.0.0.1:443", weight: 100})";

// `count` nodes, each on a line of its own.
std::vector<std::string> NodeLines(std::size_t count, std::size_t weight) {
  std::vector<std::string> lines;
  for (std::size_t i = 1; i <= count; ++i) {
    lines.push_back(absl::StrCat("  - {name: n", i, ", address: \"10.", i / 65536, ".",
                                 i / 256 % 256, ".", i % 256, ":443\", weight: ", weight, "}\n"));
  }
  return lines;
}
std::string AmsOfLines(const std::vector<std::string>& lines, const std::string& more = "") {
  return absl::StrCat("data_centers:\n- name: ams\n  nodes:\n", absl::StrJoin(lines, ""), more);
}

TEST(ParseTopologyTest, EveryKeyIsRead) {
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(R"(%YAML 1.2
---
# A comment.
data_centers:
  - name: ams-1
    tier: canary
    identity_style: nginx
    nodes:
      - {name: c1, address: "[2001:DB8::1]", weight: 100000, features: [f, ssd.v2], zone: r1}
      - name: 123
        address: 'h.example:443'
        weight: 1
        ring_identity: 10.0.0.2:443
    pools:
      - {name: F_1, required_features: [f, ssd.v2]}
    rings:
      v1: {points_per_weight: 161, layout: packed}
      v2: {points_per_weight: 200, layout: wide}
  - name: sin
    nodes: [{name: c1, address: "[fe80::1%eth0]:443", weight: 625}]
    pools: []
    rings:
      v1: none
)",
                                                                  "t.yaml"));
  EXPECT_THAT(loaded.warnings, IsEmpty());
  ASSERT_EQ(loaded.topology.data_centers.size(), 2u);

  const DataCenterSpec& ams = loaded.topology.data_centers[0];
  EXPECT_EQ(ams.name, "ams-1");
  EXPECT_EQ(ams.tier, "canary");
  EXPECT_EQ(ams.identity_style, IdentityStyle::kNginx);
  ASSERT_EQ(ams.nodes.size(), 2u);
  EXPECT_EQ(ams.nodes[0].name, "c1");
  EXPECT_EQ(ams.nodes[0].address, "[2001:DB8::1]");
  EXPECT_EQ(ams.nodes[0].weight, 100'000u);
  EXPECT_THAT(ams.nodes[0].features, ElementsAre("f", "ssd.v2"));
  EXPECT_EQ(ams.nodes[0].zone, "r1");
  EXPECT_EQ(ams.nodes[0].ring_identity, std::nullopt);
  EXPECT_EQ(ams.nodes[1].name, "123");
  EXPECT_EQ(ams.nodes[1].ring_identity, "10.0.0.2:443");
  ASSERT_EQ(ams.pools.size(), 1u);
  EXPECT_EQ(ams.pools[0].name, "F_1");
  EXPECT_THAT(ams.pools[0].required_features, ElementsAre("f", "ssd.v2"));
  EXPECT_EQ(ams.v1, (RingParameters{RingVersion::kV1, 161, RingLayout::kPacked}));
  EXPECT_EQ(ams.v2, (RingParameters{RingVersion::kV2, 200, RingLayout::kWide}));

  const DataCenterSpec& sin = loaded.topology.data_centers[1];
  EXPECT_EQ(sin.v1, std::nullopt);
  EXPECT_EQ(sin.v2, DefaultRingParameters(RingVersion::kV2));
  EXPECT_EQ(sin.nodes[0].address, "[fe80::1%eth0]:443");
}

TEST(ParseTopologyTest, WhatIsLeftOutHasItsDefault) {
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded,
                       ParseTopology(Ams(R"({name: a, address: "10.0.0.1:443"})",
                                         "  rings: {v1: {layout: dense}}\n"),
                                     "t.yaml"));
  const DataCenterSpec& ams = loaded.topology.data_centers.at(0);
  EXPECT_EQ(ams.tier, "");
  EXPECT_EQ(ams.identity_style, IdentityStyle::kCanonical);
  EXPECT_EQ(ams.nodes[0].weight, 1u);
  EXPECT_THAT(ams.nodes[0].features, IsEmpty());
  EXPECT_EQ(ams.nodes[0].zone, "");
  EXPECT_THAT(ams.pools, IsEmpty());
  EXPECT_EQ(ams.v1, (RingParameters{RingVersion::kV1, 160, RingLayout::kDense}));
  EXPECT_EQ(ams.v2, DefaultRingParameters(RingVersion::kV2));
}

TEST(ParseTopologyTest, TheNodesMayComeInAnyOrderAndTheDataCenterIsTheSame) {
  std::vector<std::string> lines = NodeLines(20, 100);
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(AmsOfLines(lines), "t.yaml"));
  ASSERT_OK_AND_ASSIGN(const auto first, DataCenter::Build(loaded.topology.data_centers.at(0)));
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(lines.begin(), lines.end(), random);
    ASSERT_OK_AND_ASSIGN(const LoadedTopology again, ParseTopology(AmsOfLines(lines), "t.yaml"));
    ASSERT_OK_AND_ASSIGN(const auto other, DataCenter::Build(again.topology.data_centers.at(0)));
    EXPECT_EQ(first->checksum(), other->checksum());
  }
}

// A topology that is refused at the place of '@', which is no part of it.
struct Refusal {
  std::string name;
  std::string yaml;
  std::string found;
  std::string expected;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesThePlaceWhatWasFoundAndWhatWasExpected) {
  std::string yaml = GetParam().yaml;
  const std::size_t at = yaml.find('@');
  ASSERT_NE(at, std::string::npos);
  yaml.erase(at, 1);
  const std::string before = yaml.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;
  EXPECT_THAT(
      ParseTopology(yaml, "t.yaml"),
      StatusIs(kInvalid, AllOf(StartsWith(absl::StrCat("t.yaml:", line, ":", column, ": ")),
                               HasSubstr(GetParam().found), HasSubstr(GetParam().expected))))
      << yaml;
}

std::string RefusalName(const ::testing::TestParamInfo<Refusal>& param) { return param.param.name; }

const char kNodeKeys[] =
    "expected the keys name (required), address (required), weight, features, zone, ring_identity";
const char kWeight[] = "; expected a whole number from 1 to 100000";
const char kPoints[] = "; expected a whole number from 1 to 1000000";
const char kLabel[] = "; expected 1 to 63 of A-Z, a-z, 0-9, ., _ and -";
const char kGroup[] = "; expected 1 to 63 of a-z, 0-9 and -";
const char kToken[] = "; expected 1 to 253 printable ASCII characters without spaces";
const char kAnAddress[] = "; expected 1 to 512 printable ASCII characters without spaces";
const char kRoot[] = "; expected a topology: a map with the key data_centers";

INSTANTIATE_TEST_SUITE_P(
    Yaml, RefusalTest,
    ::testing::Values(
        Refusal{"Empty", "@", "found nothing", kRoot},
        Refusal{"OnlyAComment", "@# nothing\n", "found nothing", kRoot},
        Refusal{"NotClosed", "data_centers: [\n@", "not YAML", kRoot},
        Refusal{"BadIndentation", "data_centers:\n- name: ams\n @nodes: []\n", "not YAML", kRoot},
        Refusal{"SecondDocument", Ams(kNode) + "@---\ndata_centers: []\n", "a second YAML document",
                "; expected one document in a file"},
        Refusal{"AliasOfNothing", "data_centers: @*x\n", "anchor is not defined", kRoot},
        Refusal{"Anchor", Ams("@&x {name: a}"), "found an anchor",
                "; expected a value without one"},
        Refusal{"Tag", Ams("{name: a, address: h:1, weight: @!!int 1}"), "found a tag",
                "; expected a value without one"},
        Refusal{"NulByte", std::string("data_centers: @\0", 16), "control character 0x00",
                "; expected text without control characters"},
        Refusal{"EndOfTransmission", Ams(kNode) + "@\x04junk", "control character 0x04",
                "; expected text without control characters"},
        Refusal{"Delete", "# \xC3\xA9 @\x7F", "control character 0x7f",
                "; expected text without control characters"},
        Refusal{"Latin1", "data_centers:\n- name: caf@\xE9\n", "byte 0xe9 is not UTF-8",
                "; expected UTF-8 text"},
        Refusal{"Utf16",
                "@\xFF\xFE"
                "d",
                "byte 0xff is not UTF-8", "; expected UTF-8 text"},
        Refusal{"OverlongUtf8", "@\xC0\xAF", "byte 0xc0 is not UTF-8", "; expected UTF-8 text"},
        Refusal{"Surrogate", "@\xED\xA0\x80", "byte 0xed is not UTF-8", "; expected UTF-8 text"},
        Refusal{"BeyondUnicode", "@\xF4\x90\x80\x80", "byte 0xf4 is not UTF-8",
                "; expected UTF-8 text"},
        Refusal{"CutUtf8", "@\xE2\x82", "byte 0xe2 is not UTF-8", "; expected UTF-8 text"}),
    RefusalName);

INSTANTIATE_TEST_SUITE_P(
    Structure, RefusalTest,
    ::testing::Values(
        Refusal{"RootIsAList", "@- a\n", "the topology: found a list",
                "; expected a map with the keys data_centers (required)"},
        Refusal{"RootIsEmpty", "@{}\n", "the key data_centers of the topology is missing",
                "; expected the keys data_centers (required)"},
        Refusal{"UnknownTopKey", Ams(kNode) + "@version: 1\n",
                "unknown key of the topology: \"version\"",
                "; expected the keys data_centers (required)"},
        Refusal{"NoDataCenters", "data_centers: @[]\n", "data_centers: found an empty list",
                "; expected a list of at least one data center"},
        Refusal{"NullDataCenters", "@data_centers:\n", "data_centers: found nothing",
                "; expected a list of at least one data center"},
        Refusal{"DataCenterIsText", "data_centers:\n- @ams\n", "a data center: found \"ams\"",
                "; expected a map with the keys name (required), tier, identity_style, nodes "
                "(required), pools, rings"},
        Refusal{"DataCenterWithoutName", "data_centers:\n- @nodes: []\n",
                "the key name of a data center is missing", "; expected the keys name (required)"},
        Refusal{"DataCenterWithoutNodes", "data_centers:\n- @name: ams\n",
                "the key nodes of a data center is missing", "nodes (required)"},
        Refusal{"NoNodes", "data_centers:\n- name: ams\n  nodes: @[]\n",
                "nodes of data center ams: found an empty list",
                "; expected a list of at least one node"},
        Refusal{"NodesAreAMap", "data_centers:\n- name: ams\n  nodes: @{a: 1}\n",
                "nodes of data center ams: found a map", "; expected a list of at least one node"},
        Refusal{"UnknownNodeKey", Ams("{name: a, address: h:1, @wieght: 1}"),
                "unknown key of a node: \"wieght\"", kNodeKeys},
        Refusal{"MergeKey", Ams("{name: a, address: h:1, @<<: {weight: 1}}"),
                "unknown key of a node: \"<<\"", kNodeKeys},
        Refusal{"KeyIsAList", Ams("{name: a, address: h:1, @[x]: 1}"),
                "unknown key of a node: a list", kNodeKeys},
        Refusal{"KeyIsNull", Ams("{name: a, address: h:1, @~: 1}"),
                "unknown key of a node: nothing", kNodeKeys},
        Refusal{"RepeatedKey", Ams("{name: a, weight: 1, address: h:1, @weight: 2}"),
                "repeated key of a node: \"weight\", first given at t.yaml:3:21",
                "; expected each key once"},
        Refusal{"NodeWithoutAddress", Ams("@{name: a}"), "the key address of a node is missing",
                kNodeKeys},
        Refusal{"NodeIsNull", Ams("@~"), "a node: found nothing",
                "; expected a map with the keys name"},
        Refusal{"PoolsAreText", Ams(kNode, "  pools: @x\n"),
                "pools of data center ams: found \"x\"", "; expected a list of pools"},
        Refusal{"PoolWithoutFeatures", Ams(kNode, "  pools: [@{name: p}]\n"),
                "the key required_features of a pool is missing",
                "; expected the keys name (required), required_features (required)"},
        Refusal{"PoolOfNoFeature", Ams(kNode, "  pools: [{name: p, required_features: @[]}]\n"),
                "required_features of pool p: found an empty list",
                "; expected at least one feature"},
        Refusal{"RingsAreNull", Ams(kNode, "  @rings:\n"), "rings: found nothing",
                "; expected a map with the keys v1, v2"},
        Refusal{"UnknownRing", Ams(kNode, "  rings: {@v3: {}}\n"), "unknown key of rings: \"v3\"",
                "; expected the keys v1, v2"},
        Refusal{"UnknownRingKey", Ams(kNode, "  rings: {v1: {@points: 1}}\n"),
                "unknown key of ring v1 (or the word none): \"points\"",
                "; expected the keys points_per_weight, layout"},
        Refusal{"V1IsAnotherWord", Ams(kNode, "  rings: {v1: @off}\n"),
                "ring v1 (or the word none): found \"off\"", "; expected a map with the keys"},
        Refusal{"V1IsNull", Ams(kNode, "  rings: {@v1: }\n"),
                "ring v1 (or the word none): found nothing", "; expected a map with the keys"},
        Refusal{"V2IsNone", Ams(kNode, "  rings: {v2: @none}\n"), "ring v2: found \"none\"",
                "; expected a map with the keys points_per_weight, layout"}),
    RefusalName);

INSTANTIATE_TEST_SUITE_P(
    Values, RefusalTest,
    ::testing::Values(
        Refusal{"CapitalInDataCenter", "data_centers:\n- name: @Ams\n  nodes: []\n",
                "name of a data center: found \"Ams\"", kGroup},
        Refusal{"ReservedDataCenterName", "data_centers:\n- name: @other\n  nodes: []\n",
                "the name other, under which metrics count unknown ones",
                "; expected another name"},
        Refusal{"EmptyDataCenterName", "data_centers:\n- name: @''\n  nodes: []\n",
                "name of a data center: found the quoted text \"\"", kGroup},
        Refusal{"LongDataCenterName",
                absl::StrCat("data_centers:\n- name: @", std::string(64, 'a'), "\n  nodes: []\n"),
                "name of a data center: found \"aaa", kGroup},
        Refusal{"BadTier", Ams(kNode, "  tier: @big_one\n"), "tier: found \"big_one\"", kGroup},
        Refusal{"TierIsNull", Ams(kNode, "  @tier: ~\n"), "tier: found nothing", kGroup},
        Refusal{"BadIdentityStyle", Ams(kNode, "  identity_style: @pingora\n"),
                "identity_style: found \"pingora\"", "; expected canonical or nginx"},
        Refusal{"NameWithASpace", Ams("{name: @a b, address: h:1}"),
                "name of a node: found \"a b\"", kToken},
        Refusal{"NameBeyondAscii", Ams("{name: @caf\xC3\xA9, address: h:1}"),
                "name of a node: found \"caf\\xc3\\xa9\"", kToken},
        Refusal{"LongName", Ams(absl::StrCat("{name: @", std::string(254, 'a'), ", address: h:1}")),
                "name of a node: found \"aaa", kToken},
        Refusal{"NameIsNull", Ams("{@name: null, address: h:1}"), "name of a node: found nothing",
                kToken},
        Refusal{"NameIsAList", Ams("{name: @[a], address: h:1}"), "name of a node: found a list",
                kToken},
        Refusal{"AddressWithoutPort", Ams("{name: a, address: @10.0.0.1}"),
                "address of node a: address \"10.0.0.1\"", "expected"},
        Refusal{"AddressWithABadPort", Ams("{name: a, address: @'10.0.0.1:0'}"),
                "address of node a: address \"10.0.0.1:0\"", "port of 1 to 65535"},
        Refusal{"AddressWithASpace", Ams("{name: a, address: @10.0.0.1 :1}"),
                "address of node a: found \"10.0.0.1 :1\"", kAnAddress},
        Refusal{"LongAddress",
                Ams(absl::StrCat("{name: a, address: @", std::string(600, 'h'), ":1}")),
                "address of node a: found \"hhh", kAnAddress},
        Refusal{"BadAddressBehindAGoodIdentity",
                Ams("{name: a, address: @\"10.0.0.1\", ring_identity: \"10.0.0.2:443\"}"),
                "address of node a: address \"10.0.0.1\"", "expected"},
        Refusal{"BadRingIdentity", Ams("{name: a, address: \"h:1\", ring_identity: @h}"),
                "ring_identity of node a: address \"h\"", "expected"},
        Refusal{"WeightIsText", Ams("{name: a, address: h:1, weight: @heavy}"),
                "weight of node a: found \"heavy\"", kWeight},
        Refusal{"WeightIsQuoted", Ams("{name: a, address: h:1, weight: @\"10\"}"),
                "weight of node a: found the quoted text \"10\"", kWeight},
        Refusal{"WeightIsNull", Ams("{name: a, address: h:1, @weight: }"),
                "weight of node a: found nothing", kWeight},
        Refusal{"WeightHasAnExponent", Ams("{name: a, address: h:1, weight: @1e3}"),
                "found \"1e3\"", kWeight},
        Refusal{"WeightIsHexadecimal", Ams("{name: a, address: h:1, weight: @0x10}"),
                "found \"0x10\"", kWeight},
        Refusal{"WeightHasAFraction", Ams("{name: a, address: h:1, weight: @1.5}"), "found \"1.5\"",
                kWeight},
        Refusal{"WeightIsNegative", Ams("{name: a, address: h:1, weight: @-1}"), "found \"-1\"",
                kWeight},
        Refusal{"WeightHasASign", Ams("{name: a, address: h:1, weight: @+1}"), "found \"+1\"",
                kWeight},
        Refusal{"WeightHasALeadingZero", Ams("{name: a, address: h:1, weight: @08}"),
                "found \"08\"", kWeight},
        Refusal{
            "WeightIsZero", Ams("{name: drained, address: h:1, weight: @0}"),
            "weight of node drained: found 0, which is 0 points on ring v1 and 0 points on ring v2",
            kWeight},
        Refusal{"WeightIsAboveTheLimit", Ams("{name: a, address: h:1, weight: @100001}"),
                "found 100001, which is 16000160 points on ring v1 and 1600016 points on ring v2",
                kWeight},
        Refusal{"WeightThatWrapsIn32Bits", Ams("{name: a, address: h:1, weight: @26843546}"),
                "found 26843546, which is 4294967360 points on ring v1", kWeight},
        Refusal{"WeightAboveTheLimitWithoutV1",
                Ams("{name: a, address: h:1, weight: @268435456}", "  rings: {v1: none}\n"),
                "found 268435456, which is 4294967296 points on ring v2", kWeight},
        Refusal{"WeightThatWrapsIn64Bits",
                Ams("{name: a, address: h:1, weight: @18446744073709551617}"),
                "found \"18446744073709551617\"", kWeight},
        Refusal{"WeightWhosePointsWrapIn64Bits",
                Ams("{name: a, address: h:1, weight: @18446744073709551615}"),
                "found \"18446744073709551615\"", kWeight},
        Refusal{"FeaturesAreText", Ams("{name: a, address: h:1, features: @ssd}"),
                "features of node a: found \"ssd\"", "; expected a list of features"},
        Refusal{"BadFeature", Ams("{name: a, address: h:1, features: [ssd, @a/b]}"),
                "features of node a: found \"a/b\"", kLabel},
        Refusal{"NullFeature", Ams("{name: a, address: h:1, features: [@~]}"),
                "features of node a: found nothing", kLabel},
        Refusal{"RepeatedFeature", Ams("{name: a, address: h:1, features: [ssd, @ssd]}"),
                "a second feature called ssd, first at t.yaml:3:46", "; expected another name"},
        Refusal{"BadZone", Ams("{name: a, address: h:1, zone: @r 1}"),
                "zone of node a: found \"r 1\"", kLabel},
        Refusal{"BadPoolName", Ams(kNode, "  pools: [{name: @a b, required_features: [x]}]\n"),
                "name of a pool: found \"a b\"", kLabel},
        Refusal{"ReservedPoolName",
                Ams(kNode, "  pools: [{name: @default, required_features: [x]}]\n"),
                "the pool default, which every data center has", "; expected another name"},
        Refusal{"PointsOfZero", Ams(kNode, "  rings: {v2: {points_per_weight: @0}}\n"),
                "points_per_weight: found \"0\"", kPoints},
        Refusal{"PointsAboveTheLimit", Ams(kNode, "  rings: {v1: {points_per_weight: @1000001}}\n"),
                "points_per_weight: found \"1000001\"", kPoints},
        Refusal{"PointsOf2To32", Ams(kNode, "  rings: {v2: {points_per_weight: @4294967296}}\n"),
                "points_per_weight: found \"4294967296\"", kPoints},
        Refusal{"UnknownLayout", Ams(kNode, "  rings: {v2: {layout: @narrow}}\n"),
                "layout: found \"narrow\"", "; expected wide, packed or dense"},
        Refusal{"LayoutIsNull", Ams(kNode, "  rings: {v2: {@layout: }}\n"), "layout: found nothing",
                "; expected wide, packed or dense"}),
    RefusalName);

INSTANTIATE_TEST_SUITE_P(
    Names, RefusalTest,
    ::testing::Values(
        Refusal{"DataCenter", Ams(kNode) + "- name: @ams\n  nodes: []\n",
                "a second data center called ams, first at t.yaml:2:9", "; expected another name"},
        Refusal{"Node", Ams("{name: a, address: h:1}, {name: @a, address: h:2}"),
                "a second node called a, first at t.yaml:3:18", "; expected another name"},
        Refusal{"Pool",
                Ams(kNode,
                    "  pools:\n  - {name: p, required_features: [x]}\n"
                    "  - {name: @p, required_features: [y]}\n"),
                "a second pool called p, first at t.yaml:5:12", "; expected another name"},
        Refusal{"Identity", Ams("{name: a, address: h:1}, {name: b, address: @h:1}"),
                "node b has the ring identity of node a (h:1), which stands at t.yaml:3:30",
                "; expected another address, or a ring_identity on one of the two"},
        Refusal{"IdentityInOtherText",
                Ams("{name: a, address: \"[2001:db8::1]:443\"}, "
                    "{name: b, address: @\"[2001:DB8:0::0:1]:443\"}"),
                "node b has the ring identity of node a ([2001:db8::1]:443)", "ring_identity"},
        Refusal{"IdentityOfTwoScopes",
                Ams("{name: a, address: \"[fe80::1%1]:443\"}, "
                    "{name: b, address: @\"[fe80::1%2]:443\"}"),
                "node b has the ring identity of node a", "ring_identity"},
        Refusal{"IdentityThatIsAnothersAddress",
                Ams("{name: a, address: h:1}, {name: b, address: h:2, ring_identity: @h:1}"),
                "node b has the ring identity of node a (h:1), which stands at t.yaml:3:30",
                "ring_identity"}),
    RefusalName);

TEST(ParseTopologyTest, RingIdentitiesTellNodesOfOneAddressApart) {
  EXPECT_THAT(ParseTopology(Ams("{name: a, address: 'h:1', weight: 10}, "
                                "{name: b, address: 'h:1', weight: 10, ring_identity: 'h2:1'}, "
                                "{name: c, address: '10.0.0.1:1', weight: 10}, "
                                "{name: d, address: '[::ffff:10.0.0.1]:1', weight: 10}"),
                            "t.yaml"),
              IsOk());
}

TEST(ParseTopologyTest, OneNameInTwoDataCentersIsTwoNodes) {
  EXPECT_THAT(ParseTopology("data_centers:\n"
                            "- {name: ams, nodes: [{name: a, address: 'h:1'}]}\n"
                            "- {name: sin, nodes: [{name: a, address: 'h:1'}]}\n",
                            "t.yaml"),
              IsOk());
}

TEST(ParseTopologyTest, AByteOrderMarkAndCarriageReturnsAreYaml) {
  EXPECT_THAT(ParseTopology("\xEF\xBB\xBF"
                            "data_centers:\r\n- name: ams\r\n  nodes:\r\n"
                            "  - {name: a, address: 'h:1'}\r\n",
                            "t.yaml"),
              IsOk());
}

TEST(ParseTopologyTest, DeepNestingIsRefused) {
  for (const char* opening : {"[", "{a: ", "- ", "? ", "{? ", "[{"}) {
    std::string yaml = "data_centers: ";
    if (*opening == '-' || *opening == '?') yaml = "data_centers:\n  ";
    for (int i = 0; i < 100'000; ++i) yaml += opening;
    EXPECT_THAT(ParseTopology(yaml, "t.yaml"),
                StatusIs(kInvalid, AllOf(StartsWith("t.yaml:"), HasSubstr("YAML nested too deeply"),
                                         HasSubstr(kRoot))))
        << opening;
  }
}

TEST(ParseTopologyTest, ALaughingBillionIsRefusedAtItsFirstAnchor) {
  std::string yaml = "a0: &a0 [x]\n";
  for (int i = 1; i < 64; ++i) {
    absl::StrAppend(&yaml, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, "]\n");
  }
  EXPECT_THAT(ParseTopology(yaml, "t.yaml"),
              StatusIs(kInvalid, StartsWith("t.yaml:1:5: found an anchor")));
}

TEST(ParseTopologyTest, ATextAbove64MiBIsRefusedWithItsSize) {
  const std::string yaml((std::size_t{64} << 20) + 1, ' ');
  EXPECT_THAT(
      ParseTopology(yaml, "t.yaml"),
      StatusIs(kInvalid, HasSubstr("t.yaml:1:1: found 67108865 bytes; expected a topology of "
                                   "at most 67108864")));
}

TEST(ParseTopologyTest, AHugeTextIsNotRepeatedInTheMessage) {
  const auto loaded = ParseTopology(Ams("{name: " + std::string(1'000'000, ':') + "}"), "t.yaml");
  ASSERT_THAT(loaded, StatusIs(kInvalid, StartsWith("t.yaml:")));
  EXPECT_LT(loaded.status().message().size(), 1'000u);
}

TEST(ParseTopologyTest, ADataCenterHas65536NodesAndNotOneMore) {
  std::vector<std::string> lines = NodeLines(65'536, 10);
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(AmsOfLines(lines), "t.yaml"));
  EXPECT_EQ(loaded.topology.data_centers.at(0).nodes.size(), 65'536u);
  lines.push_back("  - {name: more, address: \"h:1\"}\n");
  EXPECT_THAT(ParseTopology(AmsOfLines(lines), "t.yaml"),
              StatusIs(kInvalid, StartsWith("t.yaml:4:3: nodes of data center ams: found 65537; "
                                            "expected at most 65536")));
}

TEST(ParseTopologyTest, ARingOfTooManyPointsIsRefusedAtItsPlace) {
  const std::vector<std::string> lines = NodeLines(269, 100'000);
  EXPECT_THAT(ParseTopology(AmsOfLines(lines), "t.yaml"),
              StatusIs(kInvalid, AllOf(StartsWith("t.yaml:2:3: data center ams, ring v1: "),
                                       HasSubstr("4304000000"), HasSubstr("4294967295"))));
  const std::string rings = "  rings:\n    v1: none\n    v2: {points_per_weight: 160}\n";
  EXPECT_THAT(ParseTopology(AmsOfLines(lines, rings), "t.yaml"),
              StatusIs(kInvalid, AllOf(StartsWith("t.yaml:275:9: data center ams, ring v2: "),
                                       HasSubstr("4304000000"), HasSubstr("4294967295"))));
}

TEST(TopologyWarningTest, AFewPointsAreReportedWithTheBalanceAndTheRemedy) {
  std::vector<std::string> lines = NodeLines(11, 2);
  lines.push_back("  - {name: light, address: \"h:1\"}\n");
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(AmsOfLines(lines), "t.yaml"));
  // sqrt(11 / (12 * 16 + 1)) is 0.2387.
  EXPECT_THAT(
      loaded.warnings,
      ElementsAre(
          AllOf(StartsWith("t.yaml:2:3: data center ams, ring v2: the lightest node, light, has 16 "
                           "points; expect CV 17.6 % and max/mean 1."),
                HasSubstr("points_per_weight: 150 gives it 150"))));
}

TEST(TopologyWarningTest, TheRemedyIsEnoughAndNotReported) {
  const std::vector<std::string> lines = NodeLines(12, 7);
  const auto warnings = [&](int points) {
    return ParseTopology(
               AmsOfLines(lines,
                          absl::StrCat("  rings: {v2: {points_per_weight: ", points, "}}\n")),
               "t.yaml")
        ->warnings;
  };
  EXPECT_THAT(warnings(21),
              ElementsAre(AllOf(StartsWith("t.yaml:16:15: "), HasSubstr("has 147 points"),
                                HasSubstr("points_per_weight: 22 gives it 154"))));
  EXPECT_THAT(warnings(22), IsEmpty());
}

TEST(TopologyWarningTest, ALoneNodeNeedsNoBalance) {
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded,
                       ParseTopology(Ams("{name: a, address: 'h:1'}"), "t.yaml"));
  EXPECT_THAT(loaded.warnings, IsEmpty());
}

TEST(TopologyWarningTest, AStuckChainIsReportedWithItsNode) {
  const std::string stuck = "\"10.104.166.234:1145\", weight: 100";
  ASSERT_OK_AND_ASSIGN(
      const LoadedTopology loaded,
      ParseTopology(Ams(absl::StrCat(kNode, ", {name: b, address: ", stuck, "}")), "t.yaml"));
  EXPECT_THAT(loaded.warnings,
              ElementsAre(AllOf(StartsWith("t.yaml:3:79: data center ams: "), HasSubstr("node b"),
                                HasSubstr("10.104.166.234:1145"), HasSubstr("ring_identity"))));
  ASSERT_OK_AND_ASSIGN(
      const LoadedTopology mended,
      ParseTopology(Ams(absl::StrCat("{name: b, address: ", stuck, ", ring_identity: \"h:1\"}")),
                    "t.yaml"));
  EXPECT_THAT(mended.warnings, IsEmpty());
}

TEST(TopologyWarningTest, APoolWithoutNodesIsReported) {
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded,
                       ParseTopology(Ams("{name: a, address: 'h:1', features: [x]}",
                                         "  pools:\n  - {name: p, required_features: [x]}\n"
                                         "  - {name: q, required_features: [x, y]}\n"),
                                     "t.yaml"));
  EXPECT_THAT(loaded.warnings, ElementsAre(AllOf(StartsWith("t.yaml:6:12: data center ams: "),
                                                 HasSubstr("pool q"))));
}

TEST(TopologyWarningTest, WarningsComeInTheOrderOfTheFile) {
  ASSERT_OK_AND_ASSIGN(
      const LoadedTopology loaded,
      ParseTopology("data_centers:\n"
                    "- pools:\n"
                    "  - {name: q, required_features: [x]}\n"
                    "  rings:\n"
                    "    v2: {points_per_weight: 1}\n"
                    "    v1: {points_per_weight: 2}\n"
                    "  name: ams\n"
                    "  nodes: [{name: a, address: 'h:1'}, {name: b, address: 'h:2'}]\n",
                    "t.yaml"));
  EXPECT_THAT(loaded.warnings, ElementsAre(StartsWith("t.yaml:3:12: "), StartsWith("t.yaml:5:9: "),
                                           StartsWith("t.yaml:6:9: ")));
}

class LoadTopologyFileTest : public ::testing::Test {
 protected:
  LoadTopologyFileTest() {
    std::string pattern = ::testing::TempDir() + "/topology.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~LoadTopologyFileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(LoadTopologyFileTest, ReadsTheFileAndNamesItInMessages) {
  const std::string path = folder_ / "t.yaml";
  std::ofstream(path) << Ams(kNode);
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, LoadTopologyFile(path));
  EXPECT_EQ(loaded.topology.data_centers.at(0).nodes.at(0).name, "a");
  std::ofstream(path) << "data_centers: 1\n";
  EXPECT_THAT(LoadTopologyFile(path),
              StatusIs(kInvalid, StartsWith(path + ":1:15: data_centers: found \"1\"")));
}

TEST_F(LoadTopologyFileTest, AMissingFileIsNotFound) {
  const std::string path = folder_ / "none.yaml";
  EXPECT_THAT(LoadTopologyFile(path), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
}

TEST_F(LoadTopologyFileTest, AFolderIsRefused) {
  EXPECT_THAT(LoadTopologyFile(folder_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder_.string()), HasSubstr("directory"))));
}

TEST_F(LoadTopologyFileTest, AFileThatMayNotBeReadIsPermissionDenied) {
  const std::string path = folder_ / "t.yaml";
  std::ofstream(path) << Ams(kNode);
  std::filesystem::permissions(path, std::filesystem::perms::none);
  // Root may read every file, so for a moment this is nobody.
  const uid_t user = geteuid();
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(user == 0 ? seteuid(kNobody) : 0, 0);
  const absl::StatusOr<LoadedTopology> loaded = LoadTopologyFile(path);
  ASSERT_EQ(user == 0 ? seteuid(user) : 0, 0);
  EXPECT_THAT(loaded, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path)));
}

TEST_F(LoadTopologyFileTest, AFileAbove64MiBIsRefusedWithItsSizeUnread) {
  const std::string path = folder_ / "t.yaml";
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  EXPECT_THAT(
      LoadTopologyFile(path),
      StatusIs(kInvalid, HasSubstr(":1:1: found 1099511627776 bytes; expected a topology of at "
                                   "most 67108864")));
}

}  // namespace
}  // namespace ringshift
