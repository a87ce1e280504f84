#include "client/ringctl/key_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::ScratchFile;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using namespace std::string_literals;

bool GoOn() { return true; }

// All keys of a well-formed input.
std::vector<std::string> Keys(std::string_view input, bool hex = false) {
  const ScratchFile file(input);
  KeyReader reader(file.fd(), hex, GoOn);
  std::vector<std::string> keys;
  while (reader.Next()) keys.emplace_back(reader.key());
  EXPECT_THAT(reader.status(), IsOk());
  return keys;
}

TEST(KeyReaderTest, ALineIsAKey) { EXPECT_THAT(Keys("a\nbc\n"), ElementsAre("a", "bc")); }

TEST(KeyReaderTest, ALastLineWithoutANewlineCounts) {
  EXPECT_THAT(Keys("a\nb"), ElementsAre("a", "b"));
}

TEST(KeyReaderTest, AnEmptyLineIsTheEmptyKey) {
  EXPECT_THAT(Keys("\n"), ElementsAre(""));
  EXPECT_THAT(Keys("a\n\n\nb\n"), ElementsAre("a", "", "", "b"));
  EXPECT_THAT(Keys("\n00\n", /*hex=*/true), ElementsAre("", "\0"s));
}

TEST(KeyReaderTest, NoInputIsNoKey) {
  EXPECT_THAT(Keys(""), IsEmpty());
  EXPECT_THAT(Keys("", /*hex=*/true), IsEmpty());
}

TEST(KeyReaderTest, EveryByteButTheNewlineIsPartOfTheKey) {
  EXPECT_THAT(Keys("a\r\n\0\xff\t \n"s), ElementsAre("a\r", "\0\xff\t "s));
}

TEST(KeyReaderTest, HexIsDecodedAndTheLineKept) {
  const ScratchFile file("00fF\n");
  KeyReader reader(file.fd(), /*hex=*/true, GoOn);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.key(), "\0\xff"s);
  EXPECT_EQ(reader.text(), "00fF");
}

TEST(KeyReaderTest, BadHexEndsTheInputWithTheNumberOfItsLine) {
  const ScratchFile file("00\n\nxy\n00\n");
  KeyReader reader(file.fd(), /*hex=*/true, GoOn);
  EXPECT_TRUE(reader.Next());
  EXPECT_TRUE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_THAT(reader.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("line 3: "), HasSubstr("not a hex digit"))));
  EXPECT_FALSE(reader.Next()) << "an error is final";
}

TEST(KeyReaderTest, LinesAcrossBlocksAreWhole) {
  // Lengths that put line ends on and around every boundary of a block of reading.
  std::string input;
  std::vector<std::string> expected;
  for (std::size_t i = 0; input.size() < 5'000'000; ++i) {
    expected.push_back(std::string(i * 7919 % 300'000, static_cast<char>('a' + i % 26)));
    input += expected.back() + "\n";
  }
  EXPECT_EQ(Keys(input), expected);
}

TEST(KeyReaderTest, ALineLongerThanABlockIsAKey) {
  const std::string key(3'000'000, 'k');
  EXPECT_THAT(Keys(key + "\nshort\n"), ElementsAre(key, "short"));
}

TEST(KeyReaderTest, ALineWithoutEndIsRefused) {
  const ScratchFile file(std::string(KeyReader::kMaxLineBytes + (4 << 20), 'k'));
  KeyReader reader(file.fd(), /*hex=*/false, GoOn);
  EXPECT_FALSE(reader.Next());
  EXPECT_THAT(reader.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("line 1 is longer than 67108864 bytes")));
}

TEST(KeyReaderTest, AnInputThatCannotBeReadIsAnError) {
  const int write_only = ::open("/dev/null", O_WRONLY);
  KeyReader reader(write_only, /*hex=*/false, GoOn);
  EXPECT_FALSE(reader.Next());
  EXPECT_THAT(reader.status(), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr("cannot read the keys from standard input")));
  ::close(write_only);
}

TEST(KeyReaderTest, TheCallerCanAnswerBeforeEveryWait) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  int waits = 0;
  KeyReader reader(pipe[0], /*hex=*/false, [&] {
    // Every wait gets one line more, as from somebody who types; the third ends the input.
    if (++waits == 3) ::close(pipe[1]);
    return waits == 3 || ::write(pipe[1], "key\n", 4) == 4;
  });
  EXPECT_TRUE(reader.Next());
  EXPECT_EQ(waits, 1);
  EXPECT_TRUE(reader.Next());
  EXPECT_EQ(waits, 2);
  EXPECT_FALSE(reader.Next());
  EXPECT_THAT(reader.status(), IsOk());
  ::close(pipe[0]);
}

TEST(KeyReaderTest, TheCallerCanEndTheInputInsteadOfWaiting) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  // Nothing is ever written: reading would wait for ever.
  KeyReader reader(pipe[0], /*hex=*/false, [] { return false; });
  EXPECT_FALSE(reader.Next());
  EXPECT_THAT(reader.status(), IsOk());
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace ringshift
