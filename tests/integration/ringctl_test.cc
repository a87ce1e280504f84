// The offline commands of the real ringctl: formats, keys of any bytes, errors and exit codes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ring/ring.h"
#include "routing/topology_loader.h"
#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Binary;
using ::ringshift::testing::Completed;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using namespace std::string_literals;

constexpr std::string_view kTopology = R"(data_centers:
  - name: ams
    nodes:
      - {name: a, address: "10.0.0.1:443", weight: 10, features: [fedramp]}
      - {name: b, address: "10.0.0.2:443", weight: 20}
      - {name: c, address: "cache.example:80", weight: 30, features: [fedramp]}
      - {name: d, address: "[2001:db8::1]:443", weight: 10}
    pools:
      - {name: fedramp, required_features: [fedramp]}
      - {name: nowhere, required_features: [antarctica]}
  - name: new
    nodes:
      - {name: n, address: "10.1.0.1:443", weight: 10}
    rings:
      v1: none
)";

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The lines of an output, which must end with a newline.
std::vector<std::string> Lines(const std::string& output) {
  std::vector<std::string> lines = Split(output, '\n');
  EXPECT_EQ(lines.back(), "") << "the last line does not end";
  lines.pop_back();
  return lines;
}

struct Measured {
  int exit_code = -1;     // -1: ended by a signal
  double peak_bytes = 0;  // of resident memory
};

// Runs a program from file `input` to file `output`, and measures it alone.
Measured RunMeasured(std::vector<std::string> argv, const std::string& input,
                     const std::string& output) {
  std::vector<char*> arguments;
  for (std::string& argument : argv) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(input.c_str(), O_RDONLY), STDIN_FILENO);
    ::dup2(::open(output.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) {
    ADD_FAILURE() << "cannot run " << argv[0] << ": " << std::strerror(errno);
    return {};
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          1024 * static_cast<double>(usage.ru_maxrss)};
}

class RingctlTest : public ::testing::Test {
 protected:
  // `ringctl lookup` in ams.
  Completed Lookup(std::vector<std::string> arguments, std::string input) const {
    arguments.insert(arguments.begin(),
                     {"lookup", "--topology", topology_, "--data-center", "ams"});
    return Ringctl(std::move(arguments), std::move(input));
  }

  const TempDir dir_;
  const std::string topology_ = dir_.Write("topology.yaml", kTopology);
};

TEST_F(RingctlTest, LookupGivesTheOwnersOfTheRing) {
  ASSERT_OK_AND_ASSIGN(const LoadedTopology loaded, ParseTopology(kTopology, "topology.yaml"));
  const DataCenterSpec& spec = *loaded.topology.Find("ams");
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const NodeSet> nodes, MakeNodeSet(spec));
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Ring> ring,
                         Ring::Build(nodes, DefaultRingParameters(version)));
    std::string input;
    std::string expected;
    for (int i = 0; i < 2000; ++i) {
      const std::string key = "/img/" + std::to_string(i) + ".jpg";
      const std::string& owner = (*nodes)[ring->Owner(key)].name;
      const auto node = std::find_if(spec.nodes.begin(), spec.nodes.end(),
                                     [&](const NodeSpec& each) { return each.name == owner; });
      input += key + "\n";
      expected += key + "\t" + node->address + "\n";
    }
    const Completed result = Lookup({"--ring", std::string(RingVersionName(version))}, input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, expected);
    EXPECT_EQ(result.err, "");
  }
}

TEST_F(RingctlTest, LookupPrintsKeysOfAnyBytesAsTheyWereGiven) {
  const std::string input = "plain\n\n\r\nwith\ttab\n\x00\xff\x80\nlast without a newline"s;
  const Completed result = Lookup({"--ring", "v2"}, input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> keys = Split(input, '\n');
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t tab = lines[i].rfind('\t');
    EXPECT_EQ(lines[i].substr(0, tab), keys[i]);
    EXPECT_THAT(lines[i].substr(tab), HasSubstr(":"));
  }
}

TEST_F(RingctlTest, HexIsTheSameKeyInOtherWords) {
  const Completed plain = Lookup({"--ring", "v1"}, "abc\n\n\xff\r\n");
  const Completed hex = Lookup({"--ring", "v1", "--hex"}, "616263\n\nFf0d\n");
  EXPECT_EQ(hex.exit_code, 0) << hex.err;
  const std::vector<std::string> plain_lines = Lines(plain.out);
  const std::vector<std::string> hex_lines = Lines(hex.out);
  ASSERT_EQ(plain_lines.size(), 3U);
  ASSERT_EQ(hex_lines.size(), 3U);
  const std::vector<std::string> texts = {"616263", "", "Ff0d"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(hex_lines[i], texts[i] + plain_lines[i].substr(plain_lines[i].rfind('\t')));
  }
}

TEST_F(RingctlTest, BadHexEndsTheAnswersAtItsLine) {
  const Completed result = Lookup({"--ring", "v2", "--hex"}, "00\n\n0g\n01\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, StartsWith("ringctl: line 3: character 2 is not a hex digit: 'g': "));
  EXPECT_EQ(Lines(result.out).size(), 2U) << result.out;
}

TEST_F(RingctlTest, ReplicasAreDistinctAndStartWithTheOwner) {
  const Completed owners = Lookup({"--ring", "v2"}, "a\nb\nc\n");
  const Completed replicas = Lookup({"--ring", "v2", "--replicas", "3"}, "a\nb\nc\n");
  EXPECT_EQ(replicas.exit_code, 0) << replicas.err;
  const std::vector<std::string> lines = Lines(replicas.out);
  ASSERT_EQ(lines.size(), 3U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], StartsWith(Lines(owners.out)[i] + "\t"));
    const std::vector<std::string> fields = Split(lines[i], '\t');
    EXPECT_EQ(fields.size(), 4U);
    EXPECT_EQ(std::set<std::string>(fields.begin() + 1, fields.end()).size(), 3U) << lines[i];
  }
}

TEST_F(RingctlTest, FewerNodesThanReplicasAreFewerColumns) {
  const Completed all = Lookup({"--ring", "v1", "--replicas", "16"}, "key\n");
  EXPECT_EQ(Split(Lines(all.out).at(0), '\t').size(), 1U + 4U) << all.out;
  const Completed pool = Lookup({"--ring", "v1", "--replicas", "16", "--pool", "fedramp"}, "key\n");
  EXPECT_EQ(Split(Lines(pool.out).at(0), '\t').size(), 1U + 2U) << pool.out;
}

TEST_F(RingctlTest, APoolsKeysStayInThePool) {
  std::string input;
  for (int i = 0; i < 500; ++i) input += std::to_string(i) + "\n";
  const Completed result = Lookup({"--ring", "v2", "--pool", "fedramp"}, input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> owners;
  for (const std::string& line : Lines(result.out)) owners.insert(Split(line, '\t').at(1));
  EXPECT_THAT(owners, ::testing::ElementsAre("10.0.0.1:443", "cache.example:80"));
}

TEST_F(RingctlTest, ALayoutNeverChangesAnOwner) {
  std::string input;
  for (int i = 0; i < 5000; ++i) input += std::to_string(i) + "\n";
  for (const char* ring : {"v1", "v2"}) {
    const Completed wide = Lookup({"--ring", ring, "--layout", "wide", "--replicas", "2"}, input);
    const Completed packed =
        Lookup({"--ring", ring, "--layout", "packed", "--replicas", "2"}, input);
    EXPECT_EQ(wide.exit_code, 0) << wide.err;
    EXPECT_EQ(packed.exit_code, 0) << packed.err;
    EXPECT_EQ(wide.out, packed.out);
  }
}

TEST_F(RingctlTest, AMillionKeysAreAllAnswered) {
  std::string input;
  for (int i = 0; i < 1'000'000; ++i) input += "/object/" + std::to_string(i) + "\n";
  const Completed result = Lookup({"--ring", "v1"}, input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1'000'000);
  EXPECT_THAT(result.out, HasSubstr("\n/object/999999\t"));
}

// A sanitizer's memory is not ringctl's.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMeasuresMemory = false;
#else
constexpr bool kMeasuresMemory = true;
#endif

TEST_F(RingctlTest, LookupPeaksBelowOneAndAHalfTimesTheRing) {
  constexpr int kNodes = 2048;
  constexpr int kWeight = 625;
  constexpr int kPointsPerWeight = kMeasuresMemory ? 16 : 1;
  constexpr double kRingBytes = 8.0 * kNodes * kWeight * kPointsPerWeight;
  std::string yaml = "data_centers:\n  - name: ams\n    rings:\n      v1: {points_per_weight: " +
                     std::to_string(kPointsPerWeight) + ", layout: wide}\n    nodes:\n";
  for (int i = 0; i < kNodes; ++i) {
    yaml += "      - {name: n" + std::to_string(i) + ", address: \"10.0." +
            std::to_string(i / 256) + "." + std::to_string(i % 256) +
            ":443\", weight: " + std::to_string(kWeight) + "}\n";
  }
  const std::string topology = dir_.Write("large.yaml", yaml);
  const Measured result = RunMeasured(
      {Binary("ringctl"), "lookup", "--topology", topology, "--data-center", "ams", "--ring", "v1"},
      dir_.Write("keys", "a\nb\n"), dir_.File("owners"));
  EXPECT_EQ(result.exit_code, 0);
  std::ifstream owners(dir_.File("owners"));
  for (const char* key : {"a", "b"}) {
    std::string line;
    EXPECT_TRUE(std::getline(owners, line));
    EXPECT_THAT(line, StartsWith(key + "\t10.0."s));
  }
  if (!kMeasuresMemory) GTEST_SKIP() << "answered, but not measured";
  EXPECT_GT(result.peak_bytes, kRingBytes);
  EXPECT_LT(result.peak_bytes, 1.5 * kRingBytes);
}

TEST_F(RingctlTest, NoKeysAreNoLines) {
  const Completed result = Lookup({"--ring", "v2"}, "");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
}

TEST_F(RingctlTest, WhatTheTopologyDoesNotHaveIsABadInput) {
  const auto lookup = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"lookup", "--topology", topology_});
    return Ringctl(std::move(arguments), "key\n");
  };
  const Completed data_center = lookup({"--data-center", "nope", "--ring", "v2"});
  EXPECT_EQ(data_center.exit_code, 3);
  EXPECT_THAT(data_center.err, AllOf(HasSubstr("unknown data center \"nope\""), HasSubstr("ams")));
  const Completed pool = lookup({"--data-center", "ams", "--ring", "v2", "--pool", "nope"});
  EXPECT_EQ(pool.exit_code, 3);
  EXPECT_THAT(pool.err, AllOf(HasSubstr("unknown pool \"nope\""), HasSubstr("fedramp")));
  const Completed empty = lookup({"--data-center", "ams", "--ring", "v2", "--pool", "nowhere"});
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_THAT(empty.err, HasSubstr("pool nowhere of data center ams has no node"));
  const Completed v1 = lookup({"--data-center", "new", "--ring", "v1"});
  EXPECT_EQ(v1.exit_code, 3);
  EXPECT_THAT(v1.err, HasSubstr("data center new has no ring v1: use --ring v2"));
  for (const Completed& each : {data_center, pool, empty, v1}) EXPECT_EQ(each.out, "");
}

TEST_F(RingctlTest, ABadTopologyIsRefusedWithItsPlace) {
  const std::string bad = dir_.Write("bad.yaml", "data_centers:\n  - nam: ams\n");
  const Completed result =
      Ringctl({"lookup", "--topology", bad, "--data-center", "ams", "--ring", "v2"}, "key\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: " + bad + ":2:5: "), HasSubstr("nam")));
  const Completed missing = Ringctl(
      {"lookup", "--topology", dir_.File("none.yaml"), "--data-center", "ams", "--ring", "v2"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("none.yaml"));
}

TEST_F(RingctlTest, AWrongCommandLineIsAUsageError) {
  const auto lookup = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"lookup", "--topology", "t", "--data-center", "d"});
    return arguments;
  };
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "see `ringctl --help`"},
      {{"bogus"}, "\"bogus\" is no command or option: see `ringctl --help`"},
      {{"lookup"}, ": see `ringctl lookup --help`"},
      {lookup({"--ring", "v3"}), "--ring: \"v3\" is none of v1, v2: see `ringctl lookup --help`"},
      {lookup({"--ring", "v1", "--layout", "dense"}),
       "--layout: \"dense\" is none of wide, packed: see"},
      {lookup({"--ring", "v1", "--replicas", "0"}),
       "--replicas: \"0\" is not a whole number from 1 to 16: see"},
      {lookup({"--ring", "v1", "--replicas", "17"}),
       "--replicas: \"17\" is not a whole number from 1 to 16: see"},
      {lookup({"--ring", "v1", "--bogus"}), "--bogus: see `ringctl lookup --help`"},
      {{"route", "--data-center", "ams", "--bogus", "key"},
       "\"--bogus\" is no option: see `ringctl route --help`"},
      {{"route", "key"}, "--data-center"},
      // Never the 8 that C makes of it.
      {{"route", "--data-center", "ams", "--replicas", "010", "key"},
       "--replicas: \"010\" is not a whole number from 0 to 2147483647: see"},
      {{"decide", "--salt", "ams", "--percent", "5", "--", "key"},
       "only `ringctl route` takes arguments behind --"},
      {{"migration", "bogus"}, "\"bogus\" is no command or option: see `ringctl migration --help`"},
      {{"migration", "set", "--data-center", "ams", "--percent", "5", "--expect-revision", "seven"},
       "--expect-revision: \"seven\" is not a whole number from 1 to 9223372036854775807: see"},
      {{"decide", "--salt", "ams", "--percent", "12.34567"},
       "--percent: percentage \"12.34567\": more than four decimals"},
      {{"ring"}, "see `ringctl ring --help`"},
  };
  for (const auto& [arguments, message] : cases) {
    const Completed result = Ringctl(arguments, "key\n");
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: "), HasSubstr(message), EndsWith("\n")));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(RingctlTest, EveryCommandHasHelpWithExamples) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"lookup"},
                                             {"decide"},
                                             {"ring", "stats"},
                                             {"route"},
                                             {"migration"},
                                             {"migration", "get"},
                                             {"migration", "list"},
                                             {"migration", "set"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const Completed result = Ringctl(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  "));
    EXPECT_EQ(result.err, "");
  }
  EXPECT_THAT(Ringctl({"--help"}).out, HasSubstr("Exit codes:"));
}

TEST_F(RingctlTest, VersionIsPrinted) {
  const Completed result = Ringctl({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("ringctl "));
}

TEST_F(RingctlTest, OutputThatCannotBeWrittenIsAnError) {
  const Completed result =
      testing::Run({"sh", "-c", "printf 'key\\n' | \"$0\" decide --salt s --percent 50 > /dev/full",
                    Binary("ringctl")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("cannot write the output: No space left on device"));
}

TEST_F(RingctlTest, AReaderThatGoesAwayEndsItQuietly) {
  // The exit code of ringctl itself, in a shell's words, after `head` has closed the pipe.
  const Completed result =
      testing::Run({"sh", "-c",
                    "{ seq 1000000 | \"$0\" decide --salt s --percent 50; echo $? >&2; } "
                    "| head -n 1",
                    Binary("ringctl")});
  EXPECT_THAT(result.out, StartsWith("1\tv"));
  EXPECT_EQ(result.err, "141\n");
}

TEST_F(RingctlTest, ClosedStandardDescriptorsAreErrorsAndNothingWorse) {
  const Completed input =
      testing::Run({"sh", "-c", "\"$0\" lookup --topology \"$1\" --data-center ams --ring v2 <&-",
                    Binary("ringctl"), topology_});
  EXPECT_EQ(input.exit_code, 3);
  EXPECT_THAT(input.err, HasSubstr("cannot read the keys from standard input"));
  const Completed output = testing::Run(
      {"sh", "-c", "echo key | \"$0\" lookup --topology \"$1\" --data-center ams --ring v2 >&-",
       Binary("ringctl"), topology_});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("cannot write the output"));
}

TEST_F(RingctlTest, DecideFollowsTheShare) {
  std::string input;
  for (int i = 0; i < 10'000; ++i) input += std::to_string(i) + "\n";
  const auto v2_keys = [&](const std::string& percent) {
    const Completed result = Ringctl({"decide", "--salt", "ams", "--percent", percent}, input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(Lines(result.out).size(), 10'000U);
    std::set<std::string> keys;
    for (const std::string& line : Lines(result.out)) {
      EXPECT_TRUE(line.ends_with("\tv1") || line.ends_with("\tv2")) << line;
      if (line.ends_with("\tv2")) keys.insert(Split(line, '\t')[0]);
    }
    return keys;
  };
  EXPECT_EQ(v2_keys("0").size(), 0U);
  EXPECT_EQ(v2_keys("100").size(), 10'000U);
  const std::set<std::string> low = v2_keys("12.5");
  const std::set<std::string> high = v2_keys("25%");
  // 5 sigma of a binomial distribution.
  EXPECT_NEAR(static_cast<double>(low.size()), 1250, 166);
  EXPECT_NEAR(static_cast<double>(high.size()), 2500, 217);
  EXPECT_TRUE(std::includes(high.begin(), high.end(), low.begin(), low.end()));
}

TEST_F(RingctlTest, DecideTakesHexAndAnySalt) {
  const Completed plain = Ringctl({"decide", "--salt", "", "--percent", "50"}, "abc\n\nx\n");
  const Completed hex =
      Ringctl({"decide", "--salt", "", "--percent", "50", "--hex"}, "616263\n\n78\n");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(hex.exit_code, 0) << hex.err;
  const std::vector<std::string> plain_lines = Lines(plain.out);
  const std::vector<std::string> hex_lines = Lines(hex.out);
  ASSERT_EQ(plain_lines.size(), hex_lines.size());
  for (std::size_t i = 0; i < plain_lines.size(); ++i) {
    EXPECT_EQ(Split(plain_lines[i], '\t')[1], Split(hex_lines[i], '\t')[1]);
  }
}

TEST_F(RingctlTest, AnEmptyValueBehindAnEqualsSignIsTheValue) {
  const Completed split = Ringctl({"decide", "--salt", "", "--percent", "50"}, "a\nb\nc\nd\n");
  const Completed joined = Ringctl({"decide", "--salt=", "--percent=50"}, "a\nb\nc\nd\n");
  EXPECT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_EQ(joined.out, split.out);
}

TEST_F(RingctlTest, RingStatsDescribesEveryRingAndPool) {
  const Completed result =
      Ringctl({"ring", "stats", "--topology", topology_, "--data-center", "ams", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto stats = ParseJsonObject(result.out);
  EXPECT_EQ(Member(stats, "data_center").string_value(), "ams");
  EXPECT_EQ(Member(stats, "nodes").number_value(), 4);
  EXPECT_EQ(Member(stats, "total_weight").number_value(), 70);
  const auto rings = Member(stats, "rings").list_value();
  ASSERT_EQ(rings.values_size(), 2);
  const auto& v1 = rings.values(0).struct_value();
  EXPECT_EQ(Member(v1, "ring_version").string_value(), "v1");
  EXPECT_EQ(Member(v1, "points_per_weight").number_value(), 160);
  EXPECT_EQ(Member(v1, "layout").string_value(), "wide");
  EXPECT_EQ(Member(v1, "points").number_value(), 70 * 160);
  EXPECT_GE(Member(v1, "memory_bytes").number_value(), 70 * 160 * 8);
  EXPECT_EQ(Member(v1, "checksum").string_value().size(), 16U);
  const auto& v2 = rings.values(1).struct_value();
  EXPECT_EQ(Member(v2, "ring_version").string_value(), "v2");
  EXPECT_EQ(Member(v2, "points").number_value(), 70 * 16);
  const auto pools = Member(v2, "pools").list_value();
  ASSERT_EQ(pools.values_size(), 3);
  const auto& fedramp = pools.values(1).struct_value();
  EXPECT_EQ(Member(fedramp, "pool").string_value(), "fedramp");
  EXPECT_EQ(Member(fedramp, "nodes").number_value(), 2);
  EXPECT_GT(Member(fedramp, "cv").number_value(), 0);
  EXPECT_GE(Member(fedramp, "max_ratio").number_value(), 1);
  EXPECT_LE(Member(fedramp, "min_ratio").number_value(), 1);
  const auto& nowhere = pools.values(2).struct_value();
  EXPECT_EQ(Member(nowhere, "nodes").number_value(), 0);
  EXPECT_EQ(Member(nowhere, "max_node").string_value(), "");
}

TEST_F(RingctlTest, RingStatsForPeopleComparesTheRings) {
  const Completed result =
      Ringctl({"ring", "stats", "--topology", topology_, "--data-center", "ams"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Data center ams: 4 nodes, total weight 70\n"),
                                HasSubstr("11,200"), HasSubstr("1,120"), HasSubstr("MAX/MEAN"),
                                HasSubstr("of the memory of v1: it saves ")));
}

TEST_F(RingctlTest, RingStatsWarnsOfItsDataCenterOnly) {
  // Of `ams` and of `new` alike, each kind of warning: few points, points in one place, a pool
  // without nodes.
  std::string yaml = "data_centers:\n";
  for (const char* name : {"ams", "new"}) {
    yaml += "  - name: "s + name + R"(
    nodes:
      - {name: few, address: "10.0.0.1:443", weight: 1}
      - {name: stuck, address: "10.104.166.234:1145", weight: 1}
    pools:
      - {name: nowhere, required_features: [antarctica]}
)";
  }
  const std::string topology = dir_.Write("warnings.yaml", yaml);
  const Completed result =
      Ringctl({"ring", "stats", "--topology", topology, "--data-center", "new", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("warning")));
  const std::vector<std::string> warnings = Lines(result.err);
  EXPECT_THAT(warnings, ::testing::Each(AllOf(StartsWith("ringctl: warning: " + topology + ":"),
                                              HasSubstr("data center new"))));
  EXPECT_THAT(warnings,
              ::testing::IsSupersetOf({HasSubstr("the lightest node"), HasSubstr("of node stuck"),
                                       HasSubstr("pool nowhere")}));
}

}  // namespace
}  // namespace ringshift
