// `ringctl verify-mapping` of the real ringctl: what other systems have recorded, held against our
// rings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/testing/golden_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Completed;
using ::ringshift::testing::GoldenRows;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using namespace std::string_literals;

using Fleet = std::vector<std::pair<std::string, int>>;  // addresses and weights

// Data center `dc` with a v1 and a v2 of these points a weight.
std::string Topology(const Fleet& fleet, int v1_points, int v2_points) {
  std::string yaml = "data_centers:\n  - name: dc\n    rings:\n      v1: {points_per_weight: " +
                     std::to_string(v1_points) +
                     "}\n      v2: {points_per_weight: " + std::to_string(v2_points) +
                     "}\n    nodes:\n";
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    yaml += "      - {name: n" + std::to_string(i) + ", address: \"" + fleet[i].first +
            "\", weight: " + std::to_string(fleet[i].second) + "}\n";
  }
  return yaml;
}

Fleet GoldenFleet(int number) {
  Fleet fleet;
  if (number == 1) {
    for (int i = 1; i <= 9; ++i) fleet.emplace_back("10.0.0." + std::to_string(i) + ":443", 100);
  } else if (number == 2) {
    fleet = {{"192.0.2.1:8080", 1},
             {"192.0.2.2:8080", 2},
             {"192.0.2.3:8080", 3},
             {"192.0.2.4:8080", 5},
             {"192.0.2.5:8080", 8}};
  } else {
    fleet = {{"[2001:db8::1]:443", 1}, {"[2001:db8::2]:443", 1}, {"[2001:db8::3]:443", 4}};
  }
  return fleet;
}

class RingctlMappingTest : public ::testing::Test {
 protected:
  Completed Verify(const std::string& topology, std::vector<std::string> arguments,
                   std::string input = "") const {
    arguments.insert(arguments.begin(),
                     {"verify-mapping", "--topology", topology, "--data-center", "dc"});
    return Ringctl(std::move(arguments), std::move(input));
  }

  // The owners that `ringctl lookup` gives 2,000 keys on v1, as CSV.
  std::string Mapping() const {
    std::string keys;
    for (int i = 0; i < 2000; ++i) keys += "/img/" + std::to_string(i) + ".jpg\n";
    std::string mapping =
        Ringctl({"lookup", "--topology", topology_, "--data-center", "dc", "--ring", "v1"}, keys)
            .out;
    for (char& c : mapping) {
      if (c == '\t') c = ',';
    }
    return mapping;
  }

  const TempDir dir_;
  const std::string topology_ =
      dir_.Write("topology.yaml", Topology(GoldenFleet(2), /*v1_points=*/160, /*v2_points=*/16));
};

TEST_F(RingctlMappingTest, EveryOwnerThatPingoraRecordedIsTheSame) {
  for (const auto& [column, ring] : std::vector<std::pair<std::string, std::string>>{
           {"v1_node", "v1"}, {"v2_16_node", "v2"}, {"v2_40_node", "v2"}}) {
    for (int fleet = 1; fleet <= 3; ++fleet) {
      const std::string topology = dir_.Write(
          "golden.yaml", Topology(GoldenFleet(fleet), 160, column == "v2_40_node" ? 40 : 16));
      for (const std::string file : {"fleet_", "edge_"}) {
        const auto rows = GoldenRows(file + std::to_string(fleet) + ".csv");
        ASSERT_GT(rows.size(), 20U);
        std::string csv = "key,owner\r\n";
        for (const auto& row : rows) csv += row.at("hex(key)") + "," + row.at(column) + "\r\n";
        const Completed result = Verify(topology, {"--ring", ring, "--hex", "--header", "--json",
                                                   dir_.Write("golden.csv", csv)});
        EXPECT_EQ(result.exit_code, 0) << column << fleet << result.out << result.err;
        const auto summary = ParseJsonObject(result.out);
        EXPECT_EQ(Member(summary, "same").number_value(), static_cast<double>(rows.size()));
      }
    }
  }
}

TEST_F(RingctlMappingTest, EveryTieOfAV2RingIsTheSameAsPingoras) {
  Fleet fleet;
  for (const auto& row : GoldenRows("ties_nodes.csv")) {
    fleet.emplace_back(row.at("address"), std::stoi(row.at("weight")));
  }
  const std::string topology = dir_.Write("ties.yaml", Topology(fleet, 160, 160));
  std::string csv;
  const auto rows = GoldenRows("ties.csv");
  for (const auto& row : rows) csv += row.at("hex(key)") + "," + row.at("v2_160_node") + "\n";
  const Completed v2 = Verify(topology, {"--ring", "v2", "--hex", "-"}, csv);
  EXPECT_EQ(v2.exit_code, 0) << v2.out << v2.err;
  EXPECT_THAT(v2.out, HasSubstr(std::to_string(rows.size()) + " keys on v2 of dc: "));

  // v1 has another rule for ties: all that differs is on tied arcs.
  const Completed v1 = Verify(topology, {"--ring", "v1", "--hex", "--json", "-"}, csv);
  EXPECT_EQ(v1.exit_code, 1) << v1.err;
  const auto summary = ParseJsonObject(v1.out);
  EXPECT_GT(Member(summary, "different").number_value(), 10);
  EXPECT_EQ(Member(summary, "different").number_value(),
            Member(summary, "different_tied").number_value());
  const Completed table = Verify(topology, {"--ring", "v1", "--hex", "-"}, csv);
  EXPECT_THAT(table.out, HasSubstr("nginx and pingora\nhave no rule"));
}

TEST_F(RingctlMappingTest, AMappingOfTwoThousandLinesIsTheSameByAddressAndByName) {
  const std::string mapping = Mapping();
  const Completed by_address = Verify(topology_, {"--ring", "v1", "-"}, mapping);
  EXPECT_EQ(by_address.exit_code, 0) << by_address.err;
  EXPECT_EQ(by_address.out,
            "2,000 keys on v1 of dc: 2,000 the same, 0 different, of these 0 on a tied arc\n");
  EXPECT_EQ(by_address.err, "");

  std::string by_name = mapping;
  for (int i = 0; i < 5; ++i) {
    const std::string address = "192.0.2." + std::to_string(i + 1) + ":8080";
    for (std::size_t at; (at = by_name.find(address)) != std::string::npos;) {
      by_name.replace(at, address.size(), "n" + std::to_string(i));
    }
  }
  const Completed names = Verify(topology_, {"--ring", "v1", dir_.Write("names.csv", by_name)});
  EXPECT_EQ(names.exit_code, 0) << names.out << names.err;
}

TEST_F(RingctlMappingTest, EveryDifferenceIsNamedAndCounted) {
  std::istringstream lines(Mapping());
  std::string mapping;
  std::vector<std::string> changed;  // their real owners
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t comma = line.find(',');
    if (number == 10 || number == 2000) {
      changed.push_back(line.substr(comma + 1));
      line.resize(comma);
      line += number == 10 ? (changed.back() == "192.0.2.5:8080" ? ",n0" : ",192.0.2.5:8080")
                           : ",10.9.9.9:80";
    }
    mapping += line + "\n";
  }
  const Completed table = Verify(topology_, {"--ring", "v1", "-"}, mapping);
  EXPECT_EQ(table.exit_code, 1);
  EXPECT_EQ(table.err, "");
  EXPECT_THAT(
      table.out,
      AllOf(StartsWith("LINE  KEY"), HasSubstr("\n  10  /img/9.jpg"),
            HasSubstr("\n2000  /img/1999.jpg  10.9.9.9:80"),
            HasSubstr("\n2,000 keys on v1 of dc: 1,998 the same, 2 different, of these 0 on "
                      "a tied arc\n"),
            HasSubstr("neither name nor address of a node: 1\n  \"10.9.9.9:80\" for 1 key\n")));

  const Completed json = Verify(topology_, {"--ring", "v1", "--json", "-"}, mapping);
  EXPECT_EQ(json.exit_code, 1);
  const auto summary = ParseJsonObject(json.out);
  EXPECT_EQ(Member(summary, "data_center").string_value(), "dc");
  EXPECT_EQ(Member(summary, "ring_version").string_value(), "v1");
  EXPECT_EQ(Member(summary, "keys").number_value(), 2000);
  EXPECT_EQ(Member(summary, "same").number_value(), 1998);
  EXPECT_EQ(Member(summary, "different").number_value(), 2);
  EXPECT_EQ(Member(summary, "different_tied").number_value(), 0);
  const auto unknown = Member(summary, "unknown_owners").list_value();
  ASSERT_EQ(unknown.values_size(), 1);
  EXPECT_EQ(Member(unknown.values(0).struct_value(), "owner").string_value(), "10.9.9.9:80");
  EXPECT_EQ(Member(unknown.values(0).struct_value(), "keys").number_value(), 1);
  const auto differences = Member(summary, "differences").list_value();
  ASSERT_EQ(differences.values_size(), 2);
  const auto& first = differences.values(0).struct_value();
  EXPECT_EQ(Member(first, "line").number_value(), 10);
  EXPECT_EQ(Member(first, "key").string_value(), "/img/9.jpg");
  EXPECT_EQ(Member(Member(first, "found").struct_value(), "address").string_value(), changed[0]);
  EXPECT_FALSE(Member(first, "tied").bool_value());
}

TEST_F(RingctlMappingTest, AKeyMayHaveAnyBytes) {
  const std::string keys[] = {"a,b", "say \"hi\"", "two\nlines", "\xFF\x00"s, ""};
  std::string hex_input;
  for (const std::string& key : keys) {
    for (const char c : key) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      hex_input += kDigits[byte >> 4];
      hex_input += kDigits[byte & 15];
    }
    hex_input += '\n';
  }
  std::istringstream owners(
      Ringctl({"lookup", "--topology", topology_, "--data-center", "dc", "--ring", "v2", "--hex"},
              hex_input)
          .out);
  std::string csv;
  for (const std::string& key : keys) {
    std::string line;
    std::getline(owners, line);
    std::string quoted;
    for (const char c : key) quoted += c == '"' ? "\"\"" : std::string(1, c);
    csv += "\"" + quoted + "\"," + line.substr(line.find('\t') + 1) + "\n";
  }
  const Completed result = Verify(topology_, {"--ring", "v2", "-"}, csv);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, StartsWith("5 keys"));

  // A key that could steer a terminal is shown escaped; one that is not UTF-8 is hex in JSON.
  const Completed table = Verify(topology_, {"--ring", "v2", "-"}, "\x1B[2J\xFF,nobody\n");
  EXPECT_THAT(table.out, AllOf(HasSubstr("\\x1b[2J\\xff"), Not(HasSubstr("\x1B"))));
  const Completed json = Verify(topology_, {"--ring", "v2", "--json", "-"}, "\xFF,nobody\n");
  EXPECT_THAT(json.out, HasSubstr("\"key_hex\":\"ff\""));
}

TEST_F(RingctlMappingTest, ABadFileIsRefusedWithItsLine) {
  const std::string good = "/img/1.jpg,n0\n";
  const struct {
    std::string csv;
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {good + "/img/2.jpg\n", {}, "line 2: found 1 field, expected 2: "},
      {good + "\"x\ny\",n0\na,b,c\n", {}, "line 4: found 3 fields, expected 2: "},
      {good + "\n", {}, "line 2: found 1 field, expected 2: "},
      {good + "say \"hi\",n0\n", {}, "line 2: a double quote in a field without quotes"},
      {"00,n0\nxy,n0\n", {"--hex"}, "line 2: character 1 is not a hex digit: 'x'"},
      {"", {}, "there is no key in it"},
      {"key,owner\n", {"--header"}, "there is no key in it"},
  };
  for (const auto& bad : cases) {
    const std::string file = dir_.Write("bad.csv", bad.csv);
    std::vector<std::string> arguments = {"--ring", "v1", file};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    const Completed result = Verify(topology_, arguments);
    EXPECT_EQ(result.exit_code, 3) << bad.csv;
    EXPECT_THAT(result.err, AllOf(StartsWith("ringctl: " + file), HasSubstr(bad.message)));
    arguments.push_back("--json");
    EXPECT_EQ(Verify(topology_, arguments).out, "") << "a part of an object";
  }
  const Completed missing = Verify(topology_, {"--ring", "v1", dir_.File("missing.csv")});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("cannot open " + dir_.File("missing.csv")));
}

TEST_F(RingctlMappingTest, TheDifferencesBeforeABadLineAreShown) {
  const Completed result = Verify(topology_, {"--ring", "v1", "-"}, "a,nobody\nb\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("nobody"));
  EXPECT_THAT(result.err, StartsWith("ringctl: standard input, line 2: "));
}

TEST_F(RingctlMappingTest, ADataCenterWithoutV1HasNothingToHoldAgainstIt) {
  const std::string topology = dir_.Write("without.yaml", R"(data_centers:
  - name: dc
    nodes: [{name: n, address: "10.1.0.1:443", weight: 10}]
    rings: {v1: none}
)");
  const Completed result = Verify(topology, {"--ring", "v1", "-"}, "a,n\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("data center dc has no ring v1: use --ring v2"));
  EXPECT_EQ(Verify(topology, {"--ring", "v2", "-"}, "a,n\n").exit_code, 0);
}

}  // namespace
}  // namespace ringshift
