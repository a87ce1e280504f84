#include "client/ringctl/csv_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::ScratchFile;
using ::ringshift::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using namespace std::string_literals;

using Record = std::vector<std::string>;

// The records of a well-formed input, with their lines.
std::vector<std::pair<std::uint64_t, Record>> Records(std::string_view input) {
  const ScratchFile file(input);
  CsvReader reader(file.fd(), "test.csv");
  std::vector<std::pair<std::uint64_t, Record>> records;
  while (reader.Next()) {
    records.emplace_back(reader.line(), Record(reader.fields().begin(), reader.fields().end()));
  }
  EXPECT_THAT(reader.status(), IsOk());
  return records;
}

// How reading a malformed input ends.
absl::Status Problem(std::string_view input) {
  const ScratchFile file(input);
  CsvReader reader(file.fd(), "test.csv");
  while (reader.Next()) {
  }
  EXPECT_FALSE(reader.Next()) << "it goes on after an error";
  return reader.status();
}

TEST(CsvReaderTest, ARecordEndsAtEitherLineEndOrTheEndOfTheInput) {
  EXPECT_THAT(Records(""), IsEmpty());
  EXPECT_THAT(
      Records("a,b\nc,d\r\ne,f"),
      ElementsAre(Pair(1, Record{"a", "b"}), Pair(2, Record{"c", "d"}), Pair(3, Record{"e", "f"})));
  EXPECT_EQ(Records("a,b\n"), Records("a,b"));
}

TEST(CsvReaderTest, AnEmptyLineIsOneEmptyField) {
  EXPECT_THAT(Records("\na\r\n\r\n"),
              ElementsAre(Pair(1, Record{""}), Pair(2, Record{"a"}), Pair(3, Record{""})));
}

TEST(CsvReaderTest, EveryOtherByteIsPartOfItsField) {
  EXPECT_THAT(Records(" a ,\t\0\xFF,\n,"s),
              ElementsAre(Pair(1, Record{" a ", "\t\0\xFF"s, ""}), Pair(2, Record{"", ""})));
}

TEST(CsvReaderTest, AQuotedFieldMayHaveAnything) {
  EXPECT_THAT(Records("\"a,b\",\"\"\"c\"\"\"\n\"d\r\ne\nf\",\"\"\ng,h\n"),
              ElementsAre(Pair(1, Record{"a,b", "\"c\""}), Pair(2, Record{"d\r\ne\nf", ""}),
                          Pair(5, Record{"g", "h"})));
}

TEST(CsvReaderTest, AByteOrderMarkInFrontOfEverythingIsSkipped) {
  EXPECT_THAT(Records("\xEF\xBB\xBF\"a\",b\n\xEF\xBB\xBF"),
              ElementsAre(Pair(1, Record{"a", "b"}), Pair(2, Record{"\xEF\xBB\xBF"})));
  EXPECT_THAT(Records("\xEF\xBB\xBF"), IsEmpty());
  EXPECT_THAT(Records("\xEF"), ElementsAre(Pair(1, Record{"\xEF"})));
}

TEST(CsvReaderTest, WhatIsNoCsvIsRefusedWithItsLine) {
  using absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Problem("a,b\nc\"d,e\n"),
              StatusIs(kInvalidArgument,
                       "test.csv, line 2: a double quote in a field without quotes around it"));
  EXPECT_THAT(
      Problem("\"a\nb\"c\n"),
      StatusIs(kInvalidArgument, "test.csv, line 2: text behind the closing quote of a field"));
  EXPECT_THAT(Problem("a\n\"b\nc\n"),
              StatusIs(kInvalidArgument, "test.csv, line 2: a quoted field does not end"));
  for (const char* input : {"a\rb\n", "a\r"}) {
    EXPECT_THAT(
        Problem(input),
        StatusIs(kInvalidArgument,
                 "test.csv, line 1: a carriage return in a field without quotes around it"));
  }
}

TEST(CsvReaderTest, AnInputThatCannotBeReadIsUnavailable) {
  const int fd = ::open("/", O_RDONLY | O_DIRECTORY);
  CsvReader reader(fd, "test.csv");
  EXPECT_FALSE(reader.Next());
  EXPECT_THAT(reader.status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       ::testing::HasSubstr("cannot read test.csv: Is a directory")));
  ::close(fd);
}

// In quotes, between doubled ones, behind the closing one, between \r and \n.
TEST(CsvReaderTest, ARecordIsTheSameWhereverABlockEndsInIt) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  const std::string record = "\"a\"\"b\r\nc\",d\r\n";
  for (std::size_t in_block = 0; in_block <= record.size(); ++in_block) {
    const std::string filling(kBlock - in_block - 1, 'x');
    const auto records = Records(filling + "\n" + record + "e,f\n");
    ASSERT_THAT(records, ElementsAre(Pair(1, Record{filling}), Pair(2, Record{"a\"b\r\nc", "d"}),
                                     Pair(4, Record{"e", "f"})))
        << in_block;
  }
}

TEST(CsvReaderTest, ManyRecordsKeepTheirLines) {
  std::string input;
  std::vector<Record> expected;
  for (std::size_t i = 0; input.size() < 3'000'000; ++i) {
    const std::string number = std::to_string(i);
    input += "\"" + number + "\"\",\n\"," + number + "\r\n";
    expected.push_back({number + "\",\n", number});
  }
  const auto records = Records(input);
  ASSERT_EQ(records.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(records[i].first, 2 * i + 1);
    ASSERT_EQ(records[i].second, expected[i]);
  }
}

TEST(CsvReaderTest, ARecordOfMoreThanABlockIsWhole) {
  const std::string key(3'000'000, 'k');
  EXPECT_THAT(Records("\"" + key + "\",b\n"), ElementsAre(Pair(1, Record{key, "b"})));
}

TEST(CsvReaderTest, ARecordAboveTheLimitIsRefused) {
  EXPECT_THAT(Problem("a\n" + std::string(CsvReader::kMaxRecordBytes * 2, 'k')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "test.csv, line 2: the record is longer than 67108864 bytes"));
}

}  // namespace
}  // namespace ringshift
