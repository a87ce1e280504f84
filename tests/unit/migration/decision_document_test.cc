// Reads docs/decision.md and computes every table on it anew, so that what is published is what is
// true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "migration/decision.h"
#include "migration/share.h"
#include "tests/testing/hex.h"

namespace ringshift {
namespace {

__extension__ using Uint128 = unsigned __int128;

using ::testing::HasSubstr;

using Row = std::vector<std::string>;

std::string ReadDocument() {
  std::ifstream file(RINGSHIFT_SOURCE_DIR "/docs/decision.md");
  EXPECT_TRUE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

// The rows of the first table below the line `heading`, cells trimmed and without backquotes;
// `header` is the table's first line.
std::vector<Row> ReadTable(const std::string& heading, const std::string& header) {
  std::vector<Row> rows;
  enum { kBeforeHeading, kBeforeTable, kInTable } state = kBeforeHeading;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(ReadDocument(), '\n'))) {
    if (state == kBeforeHeading) {
      if (line == heading) state = kBeforeTable;
    } else if (state == kBeforeTable) {
      if (line == header) state = kInTable;
    } else if (line.empty() || line.front() != '|') {
      break;
    } else if (line.find("| --- |") == std::string::npos) {
      Row cells = absl::StrSplit(line, '|');  // nothing before the first bar and behind the last
      EXPECT_GE(cells.size(), 4u) << line;
      cells = Row(cells.begin() + 1, cells.end() - 1);
      for (std::string& cell : cells) {
        absl::StripAsciiWhitespace(&cell);
        if (cell.size() >= 2 && cell.front() == '`') cell = cell.substr(1, cell.size() - 2);
      }
      rows.push_back(std::move(cells));
    }
  }
  return rows;
}

// Bytes in the notation of the document.
std::string Decode(const std::string& notation) {
  const std::size_t colon = notation.find(':');
  EXPECT_NE(colon, std::string::npos) << notation;
  const std::string kind = notation.substr(0, colon);
  const std::string value = notation.substr(colon + 1);
  if (kind == "text") return value;
  if (kind == "hex") return testing::BytesFromHex(value);
  EXPECT_EQ(kind, "seq") << notation;
  std::size_t size = 0;
  EXPECT_TRUE(absl::SimpleAtoi(value, &size)) << notation;
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

std::uint64_t FromHex(const std::string& text) {
  EXPECT_EQ(text.size(), 16u) << text;
  std::uint64_t value = 0;
  EXPECT_TRUE(absl::SimpleHexAtoi(text, &value)) << text;
  return value;
}

std::string ToHex(std::uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

std::string ToDecimal(Uint128 value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

TEST(DecisionDocumentTest, EveryVectorHolds) {
  const std::vector<Row> rows =
      ReadTable("## Test vectors", "| salt | key | seed | hash | bucket |");
  EXPECT_GE(rows.size(), 20u);
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 5u);
    SCOPED_TRACE(row[0] + " " + row[1]);
    const std::string key = Decode(row[1]);
    const Decision decision(Decode(row[0]));
    EXPECT_EQ(ToHex(decision.seed()), row[2]);
    EXPECT_EQ(ToHex(decision.Hash(key)), row[3]);
    EXPECT_EQ(absl::StrCat(decision.Bucket(key)), row[4]);
  }
}

TEST(DecisionDocumentTest, TheVectorsCoverEveryKindOfKeyAndSalt) {
  std::set<std::size_t> key_sizes;
  std::set<std::size_t> salt_sizes;
  bool has_nul = false;
  for (const Row& row : ReadTable("## Test vectors", "| salt | key | seed | hash | bucket |")) {
    const std::string key = Decode(row[1]);
    key_sizes.insert(key.size());
    salt_sizes.insert(Decode(row[0]).size());
    has_nul |= key.find('\0') != std::string::npos;
  }
  // Both ends of each of XXH3's branches.
  for (const std::size_t size :
       {0u, 1u, 3u, 4u, 8u, 9u, 16u, 17u, 128u, 129u, 240u, 241u, 1023u, 1024u, 1025u}) {
    EXPECT_TRUE(key_sizes.contains(size)) << size;
  }
  EXPECT_TRUE(salt_sizes.contains(0));
  EXPECT_GT(*salt_sizes.rbegin(), 240u);
  EXPECT_TRUE(has_nul);
}

TEST(DecisionDocumentTest, EveryBoundaryHashIsInItsBucket) {
  const std::vector<Row> rows = ReadTable("### Buckets of boundary hashes", "| hash | bucket |");
  std::set<std::uint64_t> hashes;
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 2u);
    hashes.insert(FromHex(row[0]));
    EXPECT_EQ(absl::StrCat(Decision::BucketOfHash(FromHex(row[0]))), row[1]) << row[0];
  }
  EXPECT_THAT(hashes, ::testing::IsSupersetOf({std::uint64_t{0}, std::uint64_t{1},
                                               std::uint64_t{1} << 63, ~std::uint64_t{0}}));
}

TEST(DecisionDocumentTest, TheWorkedExampleComesOut) {
  std::map<std::string, std::string> steps;
  for (const Row& row : ReadTable("## Worked example", "| step | value |")) {
    ASSERT_EQ(row.size(), 2u);
    steps[row[0]] = row[1];
  }
  ASSERT_EQ(steps.size(), 8u);
  const std::string key = Decode(steps["key"]);
  const Decision decision(Decode(steps["salt"]));
  const std::uint64_t hash = decision.Hash(key);
  const Uint128 product = static_cast<Uint128>(hash) * 1'000'000;
  EXPECT_EQ(steps["seed = XXH3_64bits(salt)"], ToHex(decision.seed()));
  EXPECT_EQ(steps["hash = XXH3_64bits_withSeed(key, seed)"], ToHex(hash));
  EXPECT_EQ(steps["hash in decimal"], absl::StrCat(hash));
  EXPECT_EQ(steps["hash * 1000000"], ToDecimal(product));
  EXPECT_EQ(steps["bucket = that >> 64"], ToDecimal(product >> 64));

  const absl::StatusOr<Share> first = Share::ParsePercent(steps["v2 answers it from a share of"]);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(AnswersV2(decision.Bucket(key), *first));
  EXPECT_FALSE(AnswersV2(decision.Bucket(key), *Share::FromPpm(first->ppm() - 1)));
}

TEST(DecisionDocumentTest, NamesTheAlgorithm) {
  EXPECT_THAT(ReadDocument(),
              HasSubstr(absl::StrCat("## The rule, `", std::string(kDecisionAlgorithm), "`\n")));
}

}  // namespace
}  // namespace ringshift
