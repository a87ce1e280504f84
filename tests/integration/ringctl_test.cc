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
#include <iterator>
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
    EXPECT_EQ(wide.exit_code, 0) << wide.err;
    for (const char* layout : {"packed", "dense"}) {
      const Completed other =
          Lookup({"--ring", ring, "--layout", layout, "--replicas", "2"}, input);
      EXPECT_EQ(other.exit_code, 0) << other.err;
      EXPECT_EQ(wide.out, other.out);
    }
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
      {lookup({"--ring", "v1", "--layout", "narrow"}),
       "--layout: \"narrow\" is none of wide, packed, dense: see"},
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
       "only `ringctl route`, `explain` and `holders` take arguments behind --"},
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
                                             {"migration", "set"},
                                             {"migration", "rollback"},
                                             {"migration", "unfreeze"},
                                             {"migration", "override"},
                                             {"migration", "clear"},
                                             {"migration", "retire"},
                                             {"migration", "restore"},
                                             {"migration", "get-default"},
                                             {"migration", "set-default"},
                                             {"migration", "watch"},
                                             {"holders"},
                                             {"top"}}) {
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
  // Every node has 16 points for each unit of weight.
  EXPECT_GT(Member(fedramp, "points").number_value(), 0);
  EXPECT_LT(Member(fedramp, "points").number_value(), 70 * 16);
  EXPECT_GT(Member(fedramp, "mean_walk").number_value(), 1);
  EXPECT_GT(Member(fedramp, "longest_walk").number_value(),
            Member(fedramp, "mean_walk").number_value());
  EXPECT_EQ(Member(fedramp, "own_ring_memory_bytes").number_value(), 0);
  EXPECT_FALSE(Member(fedramp, "lacks_own_ring").bool_value());
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

// `kTopology` with b heavier, d gone, e new, and a under another name and address.
std::string ChangedTopology() {
  std::string yaml(kTopology);
  const auto replace = [&yaml](std::string_view from, std::string_view to) {
    const std::size_t at = yaml.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    yaml.replace(at, from.size(), to);
  };
  replace("name: a, address: \"10.0.0.1:443\"",
          "name: a2, address: \"10.0.7.1:443\", ring_identity: \"10.0.0.1:443\"");
  replace("weight: 20", "weight: 25");
  replace("name: d, address: \"[2001:db8::1]:443\"", "name: e, address: \"10.9.9.9:443\"");
  return yaml;
}

TEST_F(RingctlTest, RingDiffHasTheExactChurnOfBothRings) {
  const std::string changed = dir_.Write("changed.yaml", ChangedTopology());
  const Completed result = Ringctl(
      {"ring", "diff", "--from", topology_, "--to", changed, "--data-center", "ams", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto object = ParseJsonObject(result.out);
  EXPECT_EQ(Member(object, "data_center").string_value(), "ams");
  EXPECT_EQ(Member(object, "pool").string_value(), "default");
  const auto diffs = Member(object, "diffs").list_value();
  ASSERT_EQ(diffs.values_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const auto& diff = diffs.values(i).struct_value();
    const auto from = Member(diff, "from").struct_value();
    EXPECT_EQ(Member(from, "file").string_value(), topology_);
    EXPECT_EQ(Member(from, "ring_version").string_value(), i == 0 ? "v1" : "v2");
    EXPECT_EQ(Member(from, "nodes").number_value(), 4);
    EXPECT_EQ(Member(from, "total_weight").number_value(), 70);
    const auto to = Member(diff, "to").struct_value();
    EXPECT_EQ(Member(to, "total_weight").number_value(), 75);
    EXPECT_EQ(Member(to, "points").number_value(), i == 0 ? 75 * 160 : 75 * 16);
    // d leaves, and b and e gain: nothing moves between those that stay but to b.
    const double moved = Member(diff, "moved_positions").number_value();
    EXPECT_EQ(Member(diff, "moved_ratio").number_value(), moved / 4294967296.0);
    EXPECT_GT(moved / 4294967296.0, 0.2);
    EXPECT_LT(moved / 4294967296.0, 0.4);
    EXPECT_EQ(Member(diff, "moved_tied_positions").number_value(), 0);
    double lost = 0;
    double gained = 0;
    std::set<std::string> states;
    const auto nodes = Member(diff, "nodes").list_value();
    for (const auto& value : nodes.values()) {
      const auto& node = value.struct_value();
      states.insert(Member(node, "from").string_value() + ">" + Member(node, "to").string_value() +
                    " " + Member(node, "state").string_value());
      lost += Member(node, "lost_positions").number_value();
      gained += Member(node, "gained_positions").number_value();
    }
    EXPECT_THAT(states,
                ::testing::ElementsAre(">e new", "a>a2 kept", "b>b kept", "c>c kept", "d> gone"));
    EXPECT_EQ(lost, moved);
    EXPECT_EQ(gained, moved);
  }
}

TEST_F(RingctlTest, RingDiffAgreesWithTheOwnersOfManyKeys) {
  const std::string changed = dir_.Write("changed.yaml", ChangedTopology());
  std::string keys;
  for (int i = 0; i < 100'000; ++i) keys += std::to_string(i) + "\n";
  const auto owners = [&](const std::string& topology) {
    return Lines(
        Ringctl({"lookup", "--topology", topology, "--data-center", "ams", "--ring", "v2"}, keys)
            .out);
  };
  const std::vector<std::string> before = owners(topology_);
  const std::vector<std::string> after = owners(changed);
  double moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    // a2 is a.
    const std::string now = after[i].ends_with("\t10.0.7.1:443")
                                ? after[i].substr(0, after[i].find('\t')) + "\t10.0.0.1:443"
                                : after[i];
    moved += before[i] != now;
  }
  const Completed result = Ringctl({"ring", "diff", "--from", topology_ + ":v2", "--to", changed,
                                    "--data-center", "ams", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto diffs = Member(ParseJsonObject(result.out), "diffs").list_value();
  ASSERT_EQ(diffs.values_size(), 1) << "the other side has the ring of this one";
  const double ratio = Member(diffs.values(0).struct_value(), "moved_ratio").number_value();
  // 5 sigma of a binomial distribution.
  EXPECT_NEAR(moved / 100'000, ratio, 0.0075);
}

TEST_F(RingctlTest, RingDiffForPeopleMarksWhatIsNewAndGone) {
  const std::string changed = dir_.Write("changed.yaml", ChangedTopology());
  const Completed result = Ringctl(
      {"ring", "diff", "--from", topology_ + ":v1", "--to", changed, "--data-center", "ams"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("Data center ams, pool default: from v1 of " +
                                           topology_ + " to v1 of " + changed + "\n"),
                                HasSubstr("moves to another node"),
                                HasSubstr("between nodes of both sides"), HasSubstr("on tied arcs"),
                                HasSubstr("\nd        gone "), HasSubstr("\ne        new "),
                                HasSubstr("20 -> 25"), HasSubstr("\na -> a2  kept")));
  EXPECT_EQ(result.err, "");
}

TEST_F(RingctlTest, RingDiffOfAPoolCountsItsNodesOnly) {
  const std::string changed = dir_.Write("changed.yaml", ChangedTopology());
  const Completed result = Ringctl({"ring", "diff", "--from", topology_, "--to", changed,
                                    "--data-center", "ams", "--pool", "fedramp", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto diffs = Member(ParseJsonObject(result.out), "diffs").list_value();
  ASSERT_EQ(diffs.values_size(), 2);
  for (const auto& diff : diffs.values()) {
    EXPECT_EQ(Member(diff.struct_value(), "moved_positions").number_value(), 0);
    EXPECT_EQ(Member(Member(diff.struct_value(), "to").struct_value(), "nodes").number_value(), 2);
  }
  const Completed unknown = Ringctl({"ring", "diff", "--from", topology_, "--to", changed,
                                     "--data-center", "ams", "--pool", "x"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr(topology_ + ": unknown pool \"x\"; known: default, fedramp"));
}

TEST_F(RingctlTest, RingDiffWarnsWhereMuchMoves) {
  std::string yaml(kTopology);
  for (std::size_t at; (at = yaml.find("address: \"10.0.0.")) != std::string::npos;) {
    yaml.replace(at, 17, "address: \"10.3.0.");
  }
  yaml.replace(yaml.find("cache.example"), 13, "other.example");
  const std::string moved = dir_.Write("moved.yaml", yaml);
  const Completed result =
      Ringctl({"ring", "diff", "--from", topology_ + ":v1", "--to", moved, "--data-center", "ams"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: warning: "),
                                HasSubstr("% of the key space of pool default would move on v1"),
                                HasSubstr("`ring_identity`")));
  const Completed same =
      Ringctl({"ring", "diff", "--from", topology_, "--to", topology_, "--data-center", "ams"});
  EXPECT_EQ(same.err, "");
  EXPECT_THAT(same.out, HasSubstr("4 nodes keep exactly what they have."));
}

TEST_F(RingctlTest, RingDiffOfARingThatIsNotThereIsRefused) {
  const Completed result = Ringctl(
      {"ring", "diff", "--from", topology_, "--to", topology_ + ":v1", "--data-center", "new"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr(topology_ + ": data center new has no ring v1"));
  // Without a version, only the rings that both have.
  const Completed both = Ringctl(
      {"ring", "diff", "--from", topology_, "--to", topology_, "--data-center", "new", "--json"});
  EXPECT_EQ(Member(ParseJsonObject(both.out), "diffs").list_value().values_size(), 1);
  const Completed missing = Ringctl({"ring", "diff", "--from", topology_, "--to",
                                     dir_.File("missing") + ":v2", "--data-center", "new"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("cannot read the topology " + dir_.File("missing") + ": "));
}

TEST_F(RingctlTest, TopologyCheckSaysWhatRingsWillTake) {
  const Completed result = Ringctl({"topology", "check", topology_, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto object = ParseJsonObject(result.out);
  EXPECT_THAT(Member(object, "warnings").list_value().values(0).string_value(),
              AllOf(StartsWith(topology_ + ":10:16: "), HasSubstr("pool nowhere")));
  const auto data_centers = Member(object, "data_centers").list_value();
  ASSERT_EQ(data_centers.values_size(), 2);
  const auto& ams = data_centers.values(0).struct_value();
  EXPECT_EQ(Member(ams, "data_center").string_value(), "ams");
  EXPECT_EQ(Member(ams, "tier").string_value(), "");
  EXPECT_EQ(Member(ams, "nodes").number_value(), 4);
  EXPECT_EQ(Member(ams, "total_weight").number_value(), 70);
  const auto pools = Member(ams, "pools").list_value();
  ASSERT_EQ(pools.values_size(), 3);
  EXPECT_EQ(Member(pools.values(1).struct_value(), "pool").string_value(), "fedramp");
  EXPECT_EQ(Member(pools.values(1).struct_value(), "nodes").number_value(), 2);
  // The figures are those of the rings that are built.
  const Completed stats =
      Ringctl({"ring", "stats", "--topology", topology_, "--data-center", "ams", "--json"});
  const auto built = Member(ParseJsonObject(stats.out), "rings").list_value();
  const auto rings = Member(ams, "rings").list_value();
  ASSERT_EQ(rings.values_size(), 2);
  for (int i = 0; i < 2; ++i) {
    for (const char* name : {"points_per_weight", "points", "memory_bytes"}) {
      EXPECT_EQ(Member(rings.values(i).struct_value(), name).number_value(),
                Member(built.values(i).struct_value(), name).number_value());
    }
    EXPECT_GT(Member(rings.values(i).struct_value(), "estimated_build_seconds").number_value(), 0);
    EXPECT_GT(Member(rings.values(i).struct_value(), "predicted_cv").number_value(), 0);
    EXPECT_GT(Member(rings.values(i).struct_value(), "predicted_max_ratio").number_value(), 1);
  }
  EXPECT_EQ(Member(data_centers.values(1).struct_value(), "rings").list_value().values_size(), 1);
}

TEST_F(RingctlTest, TopologyCheckForPeopleWarnsOnStderr) {
  const Completed all = Ringctl({"topology", "check", topology_});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("\nams "), HasSubstr("\nnew "), HasSubstr("11,200"),
                             HasSubstr("The topology is good, with 1 warning.")));
  EXPECT_THAT(all.err, StartsWith("ringctl: warning: " + topology_ + ":10:16: "));
  const Completed one = Ringctl({"topology", "check", topology_, "--data-center", "new"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, AllOf(Not(HasSubstr("ams")), HasSubstr("0 warnings")));
  EXPECT_EQ(one.err, "");
}

TEST_F(RingctlTest, TopologyCheckCountsTheRingsThatSparsePoolsHaveOfTheirOwn) {
  const auto memory_of_v2 = [&](const char* name, const std::string& pools) {
    std::string yaml = "data_centers:\n  - name: ams\n    nodes:\n";
    for (int i = 0; i < 1200; ++i) {
      yaml += "      - {name: n" + std::to_string(i) + ", address: \"10.0." +
              std::to_string(i / 256) + "." + std::to_string(i % 256) + ":443\", weight: 1" +
              (i == 7 ? ", features: [one]}\n" : "}\n");
    }
    const Completed result =
        Ringctl({"topology", "check", dir_.Write(name, yaml + pools), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto object = ParseJsonObject(result.out);
    const auto data_center = Member(object, "data_centers").list_value().values(0).struct_value();
    return Member(Member(data_center, "rings").list_value().values(1).struct_value(),
                  "memory_bytes")
        .number_value();
  };
  const double bare = memory_of_v2("bare.yaml", "");
  const double sparse =
      memory_of_v2("sparse.yaml", "    pools:\n      - {name: one, required_features: [one]}\n");
  EXPECT_GT(sparse, bare);
  EXPECT_LE(sparse, bare + bare / 16);
}

TEST_F(RingctlTest, TopologyCheckRefusesABadFileWithItsPlace) {
  std::string yaml(kTopology);
  yaml.replace(yaml.find("weight: 30"), 10, "weight: -3");
  const std::string bad = dir_.Write("bad.yaml", yaml);
  // Also where the mistake is in another data center than the one that is asked about.
  const Completed result = Ringctl({"topology", "check", bad, "--data-center", "new"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: " + bad + ":6:"), HasSubstr("-3")));
  const Completed unknown = Ringctl({"topology", "check", topology_, "--data-center", "fra"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("unknown data center \"fra\"; known: ams, new"));
}

TEST_F(RingctlTest, TopologyCheckBuildsNoRing) {
  // As v1, 204.8 million points: 1.5 GiB.
  std::string yaml = "data_centers:\n  - name: large\n    nodes:\n";
  for (int i = 0; i < 2048; ++i) {
    yaml += "      - {name: n" + std::to_string(i) + ", address: \"10.0." +
            std::to_string(i / 256) + "." + std::to_string(i % 256) + ":443\", weight: 625}\n";
  }
  const std::string large = dir_.Write("large.yaml", yaml);
  const Measured measured = RunMeasured({Binary("ringctl"), "topology", "check", large, "--json"},
                                        "/dev/null", dir_.File("check.json"));
  EXPECT_EQ(measured.exit_code, 0);
  EXPECT_LT(measured.peak_bytes, 150e6);
  std::ifstream file(dir_.File("check.json"));
  const std::string json((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(json, HasSubstr("\"points\":204800000,\"memory_bytes\":16386"));
}

TEST_F(RingctlTest, ExplainOfflineShowsEveryStep) {
  const std::vector<std::string> command = {"explain", "--topology", topology_, "--data-center",
                                            "ams",     "--percent",  "50",      "--pool",
                                            "fedramp", "--replicas", "3",       "/img/1.jpg"};
  const Completed text = Ringctl(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(StartsWith("key          /img/1.jpg (10 bytes)\n"),
                    HasSubstr("bucket 665706 is not below 500000"),
                    HasSubstr("xxh3-ppm-1, hash aa6bba8832d2d672"), HasSubstr("3b1cfdf6, crc32"),
                    HasSubstr("v1, which answers\n"), HasSubstr("ketama-crc32-v2, 16 points"),
                    HasSubstr("passed over  b (10.0.0.2:443): not in pool fedramp"),
                    HasSubstr("the pool has no further nodes")));

  std::vector<std::string> json_command = command;
  json_command.insert(json_command.begin() + 1, "--json");
  const Completed json = Ringctl(json_command);
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto object = ParseJsonObject(json.out);
  EXPECT_EQ(Member(object, "key").string_value(), "/img/1.jpg");
  EXPECT_EQ(Member(object, "pool").string_value(), "fedramp");
  EXPECT_EQ(Member(object, "ring_version").string_value(), "v1");
  EXPECT_EQ(Member(object, "position").string_value(), "3b1cfdf6");
  EXPECT_EQ(Member(object, "salt").string_value(), "ams");
  EXPECT_EQ(Member(object, "decision_algorithm").string_value(), "xxh3-ppm-1");
  EXPECT_EQ(Member(object, "decision_hash").string_value(), "aa6bba8832d2d672");
  EXPECT_EQ(Member(object, "bucket").number_value(), 665706);
  EXPECT_EQ(Member(object, "requested_v2_ppm").number_value(), 500000);
  EXPECT_EQ(Member(object, "effective_v2_ppm").number_value(), 500000);
  EXPECT_EQ(Member(object, "effective_reason").string_value(), "");
  EXPECT_EQ(Member(object, "migration_revision").number_value(), 0);
  EXPECT_TRUE(Member(object, "is_short").bool_value());
  const auto rings = Member(object, "rings").list_value();
  ASSERT_EQ(rings.values_size(), 2);
  const auto& v2 = rings.values(1).struct_value();
  EXPECT_EQ(Member(v2, "algorithm").string_value(), "ketama-crc32-v2");
  EXPECT_EQ(Member(Member(v2, "point_node").struct_value(), "name").string_value(), "a");
  EXPECT_EQ(Member(v2, "passed_count").number_value(), 1);
  const auto passed = Member(v2, "passed").list_value();
  ASSERT_EQ(passed.values_size(), 1);
  EXPECT_EQ(Member(passed.values(0).struct_value(), "reason").string_value(), "not_in_pool");
}

TEST_F(RingctlTest, ExplainOfflineAgreesWithLookupAndDecide) {
  std::string keys;
  std::vector<std::string> command = {"explain", "--topology", topology_, "--data-center",
                                      "ams",     "--percent",  "30",      "--salt",
                                      "pepper",  "--json"};
  for (int i = 0; i < 500; ++i) {
    command.push_back("/img/" + std::to_string(i));
    keys += command.back() + "\n";
  }
  const std::vector<std::string> decided =
      Lines(Ringctl({"decide", "--salt", "pepper", "--percent", "30"}, keys).out);
  const std::vector<std::string> owners[] = {Lines(Lookup({"--ring", "v1"}, keys).out),
                                             Lines(Lookup({"--ring", "v2"}, keys).out)};
  const std::vector<std::string> explained = Lines(Ringctl(command).out);
  ASSERT_EQ(explained.size(), 500U);
  std::size_t v2_answers = 0;
  for (std::size_t i = 0; i < explained.size(); ++i) {
    const auto object = ParseJsonObject(explained[i]);
    const bool is_v2 = decided[i].ends_with("\tv2");
    v2_answers += is_v2;
    EXPECT_EQ(Member(object, "ring_version").string_value(), is_v2 ? "v2" : "v1");
    EXPECT_THAT(
        owners[is_v2][i],
        EndsWith("\t" + Member(Member(object, "owner").struct_value(), "address").string_value()));
    for (int ring = 0; ring < 2; ++ring) {
      const auto of_ring = Member(object, "rings").list_value().values(ring).struct_value();
      EXPECT_THAT(
          owners[ring][i],
          EndsWith("\t" +
                   Member(Member(of_ring, "owner").struct_value(), "address").string_value()));
    }
  }
  EXPECT_GT(v2_answers, 100U);
  EXPECT_LT(v2_answers, 200U);
}

TEST_F(RingctlTest, ExplainSaysWhyAShareIsNotTheRequestedOne) {
  const Completed result = Ringctl({"explain", "--topology", topology_, "--data-center", "new",
                                    "--percent", "0.5", "--hex", "00FF"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("key          00ff (2 bytes)\n"),
                                HasSubstr("100%, not the requested 0.5%: the data center has no "
                                          "ring v1")));
}

TEST_F(RingctlTest, ExplainRefusesWhatDoesNotFitTogether) {
  const std::vector<std::string> offline = {"explain", "--data-center", "ams", "--topology",
                                            topology_};
  const auto with = [](std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const std::vector<std::string> online = {"explain", "--data-center", "ams"};
  const struct {
    std::vector<std::string> command;
    int exit_code;
    std::string message;
  } cases[] = {
      {with(offline, {"k"}), 2, "--topology needs --percent"},
      {with(offline, {"--percent", "1"}), 2, "there is no key to explain"},
      {with(offline, {"--percent", "1", "--server", "a:1", "k"}), 2, "exclude each other"},
      {with(offline, {"--percent", "101", "k"}), 2, "101"},
      {with(offline, {"--percent", "1", "--nope", "k"}), 2, "\"--nope\" is no option"},
      {with(offline, {"--percent", "1", "--hex", "0"}), 2, "key 1: an odd number of hex digits"},
      {with(online, {"--percent", "1", "k"}), 2, "--percent needs --topology"},
      {with(online, {"--salt", "x", "k"}), 2, "--salt needs --topology"},
      {with(offline, {"--percent", "1", ""}), 3, "the key is empty"},
      {with(offline, {"--percent", "1", "a", ""}), 3, "key 2: the key is empty"},
      {with(offline, {"--percent", "1", "--pool", "x", "k"}), 3, "unknown pool \"x\""},
      {with(offline, {"--percent", "1", "--pool", "nowhere", "k"}), 3, "has no node"},
      {with(offline, {"--percent", "1", "--replicas", "17", "k"}), 3, "replicas is 17"},
  };
  for (const auto& bad : cases) {
    const Completed result = Ringctl(bad.command);
    EXPECT_EQ(result.exit_code, bad.exit_code) << bad.message;
    EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: "), HasSubstr(bad.message)));
  }
  const Completed verbatim = Ringctl(with(offline, {"--percent", "1", "--json", "--", "--key"}));
  EXPECT_EQ(verbatim.exit_code, 0) << verbatim.err;
  EXPECT_THAT(verbatim.out, StartsWith("{\"key\":\"--key\","));
}

TEST_F(RingctlTest, RingStatsAsksARouterOrReadsAFileButNotBoth) {
  const Completed result = Ringctl({"ring", "stats", "--topology", topology_, "--data-center",
                                    "ams", "--server", "127.0.0.1:1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--topology and --server exclude each other"));
}

TEST_F(RingctlTest, WrongVariablesForReachingARouterAreNothingToCommandsThatAskNone) {
  dir_.Write("owners.csv", "key,10.0.0.2:443\n");
  const std::string csv = dir_.File("owners.csv");
  const std::vector<std::vector<std::string>> commands = {
      {"ring", "stats", "--topology", topology_, "--data-center", "ams"},
      {"explain", "--data-center", "ams", "--topology", topology_, "--percent", "1", "key"},
      {"lookup", "--topology", topology_, "--data-center", "ams", "--ring", "v1"},
      {"decide", "--salt", "ams", "--percent", "1"},
      {"topology", "check", topology_},
      {"verify-mapping", "--topology", topology_, "--data-center", "ams", "--ring", "v1", csv},
      {"ring", "diff", "--from", topology_, "--to", topology_, "--data-center", "ams"},
      {"store", "copy", "sqlite:" + dir_.File("none"), "sqlite:" + dir_.File("copy")}};
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> argv = {"env", "RINGCTL_PUBLIC_SERVER=localhost",
                                     "RINGCTL_ADMIN_SERVER=localhost", "RINGCTL_TIMEOUT=5",
                                     Binary("ringctl")};
    argv.insert(argv.end(), command.begin(), command.end());
    const Completed result = testing::Run(argv, "key\n");
    const Completed expected = Ringctl(command, "key\n");
    EXPECT_NE(expected.exit_code, 2) << expected.err;
    EXPECT_EQ(result.exit_code, expected.exit_code) << command[0] << ": " << result.err;
    EXPECT_EQ(result.err, expected.err);
    EXPECT_EQ(result.out.empty(), expected.out.empty());
  }
}

TEST_F(RingctlTest, StoreCopyRefusesWhatIsNoStore) {
  const Completed scheme = Ringctl({"store", "copy", "state.db", "sqlite:copy.db"});
  EXPECT_EQ(scheme.exit_code, 2);
  EXPECT_THAT(scheme.err, HasSubstr("\"state.db\" is not a store: write sqlite:PATH"));
  const Completed missing = Ringctl(
      {"store", "copy", "sqlite:" + dir_.File("missing.db"), "sqlite:" + dir_.File("copy.db")});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err,
              AllOf(HasSubstr(dir_.File("missing.db")), HasSubstr("nothing was copied")));
}

}  // namespace
}  // namespace ringshift
