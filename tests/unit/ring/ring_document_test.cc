// The table of docs/ring.md, so that the page cannot drift from what rings do.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

std::string Hex(std::uint32_t hash) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(hash));
  return text;
}

// The cells of a row of a table, without blanks and backquotes; in a cell, "\|" stands for a NUL.
std::vector<std::string> Cells(const std::string& line) {
  const std::string nul(1, '\0');
  const std::string text = absl::StrReplaceAll(line, {{"\\|", nul}, {"`", ""}, {" ", ""}});
  return absl::StrSplit(text, '|');
}

TEST(RingDocumentTest, TheIdentitiesAndHashesOfTheTableAreThoseOfRings) {
  std::ifstream document(RINGSHIFT_SOURCE_DIR "/docs/ring.md");
  ASSERT_TRUE(document);
  int rows = 0;
  for (std::string line; std::getline(document, line);) {
    const std::vector<std::string> cells = Cells(line);
    if (cells.size() != 8 || (cells[1] != "canonical" && cells[1] != "nginx")) continue;
    ++rows;
    const RingIdentity identity = testing::Identity(
        cells[2], cells[1] == "nginx" ? IdentityStyle::kNginx : IdentityStyle::kCanonical);
    EXPECT_EQ(identity.bytes(), cells[3]) << line;

    const auto nodes = NodeSet::Create({{"node", identity, 1}}).value();
    const auto ring = Ring::Build(nodes, {RingVersion::kV2, 3, RingLayout::kPacked}).value();
    std::multiset<std::string> built;
    for (std::size_t i = 0; i < ring->point_count(); ++i) built.insert(Hex(ring->point(i).hash));
    EXPECT_EQ(std::multiset<std::string>(cells.begin() + 4, cells.begin() + 7), built) << line;
    const std::string zero(4, '\0');
    EXPECT_EQ(cells[4], Hex(testing::ReferenceCrc32(identity.bytes() + zero))) << line;
  }
  EXPECT_EQ(rows, 7);
}

}  // namespace
}  // namespace ringshift
