// The table of docs/ring.md, so that the page cannot drift from what rings do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

std::string Hex(std::uint32_t hash) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(hash));
  return text;
}

TEST(RingDocumentTest, TheIdentitiesAndHashesOfTheTableAreThoseOfRings) {
  std::ifstream document(RINGSHIFT_SOURCE_DIR "/docs/ring.md");
  ASSERT_TRUE(document);
  const std::regex row(
      R"(\| (canonical|nginx) \| `(.*)` \| `(.*)\\\|(.*)` \| (.*) \| (.*) \| (.*) \|)");
  int rows = 0;
  for (std::string line; std::getline(document, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    ++rows;
    const RingIdentity identity = testing::Identity(
        cells[2], cells[1] == "nginx" ? IdentityStyle::kNginx : IdentityStyle::kCanonical);
    EXPECT_EQ(identity.bytes(), cells[3].str() + '\0' + cells[4].str()) << line;

    const auto nodes = NodeSet::Create({{"node", identity, 1}}).value();
    const auto ring = Ring::Build(nodes, {RingVersion::kV2, 3, RingLayout::kPacked}).value();
    std::multiset<std::string> built, documented;
    for (std::size_t i = 0; i < ring->point_count(); ++i) built.insert(Hex(ring->point(i).hash));
    for (std::size_t i = 5; i <= 7; ++i) documented.insert(cells[i]);
    EXPECT_EQ(documented, built) << line;
    const std::string zero(4, '\0');
    EXPECT_EQ(cells[5], Hex(testing::ReferenceCrc32(identity.bytes() + zero))) << line;
  }
  EXPECT_EQ(rows, 6);
}

}  // namespace
}  // namespace ringshift
