// Owners and whole rings against the vectors recorded from pingora-ketama; see golden/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ring/crc32.h"
#include "ring/ring.h"
#include "tests/testing/golden_file.h"
#include "tests/testing/hex.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::BuildRing;
using ::ringshift::testing::GoldenRows;
using ::ringshift::testing::Parameters;
using ::ringshift::testing::TestNode;

std::vector<TestNode> Fleet(int number) {
  std::vector<TestNode> nodes;
  if (number == 1) {
    for (int i = 1; i <= 9; ++i) nodes.push_back({"10.0.0." + std::to_string(i) + ":443", 100});
  } else if (number == 2) {
    const std::uint32_t weights[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < 5; ++i) {
      nodes.push_back({"192.0.2." + std::to_string(i + 1) + ":8080", weights[i]});
    }
  } else {
    const std::uint32_t weights[] = {1, 1, 4};
    for (int i = 0; i < 3; ++i) {
      nodes.push_back({"[2001:db8::" + std::to_string(i + 1) + "]:443", weights[i]});
    }
  }
  return nodes;
}

RingParameters GoldenParameters(const std::string& version, RingLayout layout) {
  if (version == "v1") return Parameters(RingVersion::kV1, 160, layout);
  return Parameters(RingVersion::kV2, version == "v2_16" ? 16 : 40, layout);
}

// Checks the three owners of every row; returns how many rows there were.
std::size_t CheckOwners(int fleet, const std::string& file) {
  const auto rows = GoldenRows(file);
  for (const RingLayout layout : kRingLayouts) {
    for (const std::string version : {"v1", "v2_16", "v2_40"}) {
      const auto ring = BuildRing(Fleet(fleet), GoldenParameters(version, layout));
      for (const auto& row : rows) {
        const std::string key = testing::BytesFromHex(row.at("hex(key)"));
        EXPECT_EQ(testing::OwnerName(*ring, key), row.at(version + "_node"))
            << file << " " << version << " key " << row.at("hex(key)");
      }
    }
  }
  return rows.size();
}

TEST(GoldenTest, EveryRecordedKeyHasItsOwner) {
  for (int fleet = 1; fleet <= 3; ++fleet) {
    const std::string file = "fleet_" + std::to_string(fleet) + ".csv";
    EXPECT_GT(CheckOwners(fleet, file), 500u);
  }
}

TEST(GoldenTest, EveryKeyOnOrBesideAPointHasItsOwner) {
  for (int fleet = 1; fleet <= 3; ++fleet) {
    const std::string file = "edge_" + std::to_string(fleet) + ".csv";
    EXPECT_GT(CheckOwners(fleet, file), 20u);
    for (const auto& row : GoldenRows(file)) {
      EXPECT_EQ(Ring::Position(testing::BytesFromHex(row.at("hex(key)"))),
                std::stoul(row.at("crc32"), nullptr, 16));
    }
  }
}

TEST(GoldenTest, EveryPointOfTheRecordedRingsIsThere) {
  const auto rows = GoldenRows("rings.csv");
  EXPECT_EQ(rows.size(), 9u);
  for (const auto& row : rows) {
    for (const RingLayout layout : kRingLayouts) {
      const auto ring =
          BuildRing(Fleet(std::stoi(row.at("state"))), GoldenParameters(row.at("version"), layout));
      EXPECT_EQ(ring->point_count(), std::stoull(row.at("points_before_dedup")));
      EXPECT_EQ(ring->collision_count(), std::stoull(row.at("hashes_tied_between_servers")));
      std::string bytes;
      for (std::size_t i = 0; i < ring->point_count(); ++i) {
        const Ring::Point point = ring->point(i);
        for (const std::uint32_t word : {point.hash, point.node}) {
          for (int shift = 0; shift < 32; shift += 8) {
            bytes += static_cast<char>((word >> shift) & 0xFF);
          }
        }
      }
      EXPECT_EQ(Crc32(bytes),
                std::stoul(row.at("crc32_of_ring(hash_u32le+node_u32le_per_point)"), nullptr, 16));
      const Ring::Point first = ring->point(0), last = ring->point(ring->point_count() - 1);
      EXPECT_EQ(first.hash, std::stoul(row.at("first_hash"), nullptr, 16));
      EXPECT_EQ(ring->nodes()[first.node].name, row.at("first_node"));
      EXPECT_EQ(last.hash, std::stoul(row.at("last_hash"), nullptr, 16));
      EXPECT_EQ(ring->nodes()[last.node].name, row.at("last_node"));
    }
  }
}

TEST(GoldenTest, EveryTieOfAV2RingGoesToTheRecordedNode) {
  std::vector<TestNode> nodes;
  for (const auto& row : GoldenRows("ties_nodes.csv")) {
    nodes.push_back({row.at("address"), static_cast<std::uint32_t>(std::stoul(row.at("weight")))});
  }
  const auto rows = GoldenRows("ties.csv");
  for (const RingLayout layout : kRingLayouts) {
    const auto ring = BuildRing(nodes, Parameters(RingVersion::kV2, 160, layout));
    EXPECT_EQ(ring->collision_count(), rows.size());
    for (const auto& row : rows) {
      const std::string key = testing::BytesFromHex(row.at("hex(key)"));
      const std::size_t point = ring->FindPoint(Ring::Position(key));
      EXPECT_EQ(ring->point(point).hash, ring->point(point + 1).hash);
      EXPECT_EQ(testing::OwnerName(*ring, key), row.at("v2_160_node")) << row.at("hex(key)");
    }
  }
}

}  // namespace
}  // namespace ringshift
