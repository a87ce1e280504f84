// The recorded values in tests/conformance/golden.
#ifndef RINGSHIFT_TESTS_TESTING_GOLDEN_FILE_H_
#define RINGSHIFT_TESTS_TESTING_GOLDEN_FILE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ringshift::testing {

// The rows of a file by column name.
inline std::vector<std::map<std::string, std::string>> GoldenRows(const std::string& name) {
  std::ifstream file(RINGSHIFT_SOURCE_DIR "/tests/conformance/golden/" + name);
  EXPECT_TRUE(file) << name;
  const auto cells = [](const std::string& line) {
    std::vector<std::string> parts;
    std::stringstream stream(line);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> row = cells(line);
    EXPECT_EQ(row.size(), header.size()) << name << ": " << line;
    std::map<std::string, std::string>& by_name = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) by_name[header[i]] = row[i];
  }
  return rows;
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_GOLDEN_FILE_H_
