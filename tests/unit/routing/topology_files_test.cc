// The topologies that users start from, and what becomes of damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ring/node_set.h"
#include "routing/data_center.h"
#include "routing/topology_loader.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::StatusIs;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kSample[] = RINGSHIFT_SOURCE_DIR "/deploy/sample-topology.yaml";
const char kDocument[] = RINGSHIFT_SOURCE_DIR "/docs/topology.md";

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The blocks of the document that are fenced as `language`.
std::vector<std::string> Blocks(const std::string& document, const std::string& language) {
  const std::string fence = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (std::size_t begin = 0; (begin = document.find(fence, begin)) != std::string::npos;) {
    begin += fence.size();
    const std::size_t end = document.find("```", begin);
    blocks.push_back(document.substr(begin, end - begin));
    begin = end;
  }
  return blocks;
}

TEST(SampleTopologyTest, HasThreeTiersAndNothingToWarnAbout) {
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, LoadTopologyFile(kSample));
  EXPECT_THAT(loaded.warnings, IsEmpty());
  struct Expected {
    std::string name;
    std::string tier;
    std::size_t nodes;
    std::uint64_t total_weight;
  };
  const std::vector<Expected> expected = {
      {"ams", "canary", 12, 1'200}, {"sin", "small", 24, 2'400}, {"iad", "large", 60, 6'500}};
  ASSERT_THAT(loaded.topology.data_centers, SizeIs(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const DataCenterSpec& spec = loaded.topology.data_centers[i];
    EXPECT_EQ(spec.name, expected[i].name);
    EXPECT_EQ(spec.tier, expected[i].tier);
    EXPECT_EQ(spec.v1, DefaultRingParameters(RingVersion::kV1));
    EXPECT_EQ(spec.v2, DefaultRingParameters(RingVersion::kV2));
    ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
    EXPECT_EQ(data_center->node_set().size(), expected[i].nodes);
    EXPECT_EQ(data_center->node_set().total_weight(), expected[i].total_weight);
    for (const DataCenter::Pool& pool : data_center->pools()) EXPECT_GT(pool.nodes.count(), 0u);
    EXPECT_TRUE(data_center->FindPool("fedramp").has_value());
  }
}

TEST(TopologyDocumentTest, ItsExampleIsATopologyWithoutWarnings) {
  const std::vector<std::string> yaml = Blocks(ReadFile(kDocument), "yaml");
  ASSERT_THAT(yaml, SizeIs(2));
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(yaml[0], "docs/topology.md"));
  EXPECT_THAT(loaded.warnings, IsEmpty());
  ASSERT_THAT(loaded.topology.data_centers, SizeIs(2));
  // What it calls defaults are the defaults.
  const DataCenterSpec& ams = loaded.topology.data_centers[0];
  EXPECT_EQ(ams.v1, DefaultRingParameters(RingVersion::kV1));
  EXPECT_EQ(ams.v2, DefaultRingParameters(RingVersion::kV2));
  EXPECT_EQ(ams.identity_style, DataCenterSpec().identity_style);
  EXPECT_FALSE(loaded.topology.data_centers[1].v1.has_value());
}

TEST(TopologyDocumentTest, ItsRefusalIsTheOneThatIsGiven) {
  const std::string document = ReadFile(kDocument);
  const std::vector<std::string> yaml = Blocks(document, "yaml");
  const std::vector<std::string> text = Blocks(document, "text");
  ASSERT_THAT(yaml, SizeIs(2));
  ASSERT_THAT(text, SizeIs(1));
  const std::string message = text[0].substr(0, text[0].find('\n'));
  EXPECT_THAT(ParseTopology(yaml[1], "topology.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument, Eq(message)));
}

// "t.yaml:LINE:COLUMN: " of a place in, or just behind, `yaml`.
bool BeginsWithAPlace(std::string_view message, std::string_view yaml) {
  constexpr std::string_view kFile = "t.yaml:";
  if (!message.starts_with(kFile)) return false;
  const std::string rest(message.substr(kFile.size()));
  int line = 0;
  int column = 0;
  int length = 0;
  if (std::sscanf(rest.c_str(), "%d:%d: %n", &line, &column, &length) != 2 || length == 0)
    return false;
  const auto lines =
      1 + std::count_if(yaml.begin(), yaml.end(), [](char c) { return c == '\n' || c == '\r'; });
  return line >= 1 && line <= lines && column >= 1 && column <= static_cast<int>(yaml.size()) + 1;
}

// Puts one damage into `yaml`.
void Mutate(std::string& yaml, std::mt19937& random) {
  static const std::vector<std::string> kTokens = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ":",
                                                   ": ",
                                                   ",",
                                                   "- ",
                                                   "\n",
                                                   "\n\n",
                                                   "#",
                                                   "\"",
                                                   "'",
                                                   "|\n",
                                                   ">\n",
                                                   "&a ",
                                                   "*a",
                                                   "!!int ",
                                                   "!",
                                                   "? ",
                                                   "~",
                                                   "null",
                                                   "none",
                                                   "0",
                                                   "-1",
                                                   "99999999999999999999",
                                                   "1e3",
                                                   "---\n",
                                                   "...\n",
                                                   "%YAML 1.2\n",
                                                   "%",
                                                   "@",
                                                   "`",
                                                   "\t",
                                                   "\r",
                                                   "\\",
                                                   "\"\\x",
                                                   "\xC3\xA9",
                                                   "\xFF",
                                                   "\xEF\xBB\xBF",
                                                   std::string(1, '\0'),
                                                   "\x04",
                                                   "<<: ",
                                                   "default",
                                                   "dense",
                                                   "[[[[[[[[",
                                                   "? ? ? "};
  const auto pick = [&random](std::size_t count) {
    return count == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  const std::size_t at = pick(yaml.size() + 1);
  switch (pick(5)) {
    case 0:
      if (at < yaml.size()) yaml[at] = static_cast<char>(pick(256));
      break;
    case 1:
      yaml.erase(at, 1 + pick(40));
      break;
    case 2:
      yaml.insert(at, yaml.substr(pick(yaml.size() + 1), 1 + pick(100)));
      break;
    case 3:
      yaml.insert(at, kTokens[pick(kTokens.size())]);
      break;
    default:
      yaml.resize(at);
  }
}

TEST(DamagedTopologyTest, IsATopologyOrIsRefusedWithAPlace) {
  const std::string sample = ReadFile(kSample);
  const std::string example = Blocks(ReadFile(kDocument), "yaml").at(0);
  // The sample's first data center: small enough for many rounds.
  const std::string first = sample.substr(0, sample.find("  # A data center on IPv6."));
  ASSERT_LT(first.size(), sample.size());
  const auto seed = std::mt19937::default_seed;
  std::mt19937 random(seed);
  int accepted = 0;
  constexpr int kRounds = 6'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string yaml = round % 20 == 0 ? sample : round % 2 == 0 ? first : example;
    const std::size_t damages = 1 + random() % 3;
    for (std::size_t i = 0; i < damages; ++i) Mutate(yaml, random);
    const auto loaded = ParseTopology(yaml, "t.yaml");
    if (!loaded.ok()) {
      ASSERT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument) << loaded.status();
      const std::string message(loaded.status().message());
      ASSERT_TRUE(BeginsWithAPlace(message, yaml)) << message << "\n" << yaml;
      ASSERT_LT(message.size(), 2'000u) << message;
      continue;
    }
    ++accepted;
    for (const std::string& warning : loaded->warnings) {
      ASSERT_TRUE(BeginsWithAPlace(warning, yaml)) << warning;
    }
    // What the loader accepts never fails later for a reason that is the file's.
    for (const DataCenterSpec& spec : loaded->topology.data_centers) {
      const auto nodes = MakeNodeSet(spec);
      ASSERT_TRUE(nodes.ok()) << nodes.status() << "\n" << yaml;
      ASSERT_TRUE(Ring::Measure(**nodes, spec.v2).ok());
      ASSERT_TRUE(!spec.v1 || Ring::Measure(**nodes, *spec.v1).ok());
      for (const PoolSpec& pool : spec.pools) {
        ASSERT_TRUE(MakePoolMask(spec, **nodes, pool.name).ok());
      }
    }
  }
  // Both outcomes are common, so both were tested.
  EXPECT_GT(accepted, kRounds / 50);
  EXPECT_LT(accepted, kRounds * 9 / 10);
}

}  // namespace
}  // namespace ringshift
