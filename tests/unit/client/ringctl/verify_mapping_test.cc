#include "client/ringctl/verify_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>

#include "tests/unit/client/ringctl/offline_testing.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeDataCenter;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

OfflineDataCenter ThreeNodes() {
  return MakeDataCenter({R"({name: a, address: "10.0.0.1:443", weight: 3})",
                         R"({name: b, address: "[2001:DB8::1]:443", weight: 2})",
                         R"({name: c, address: "cache.example:80", weight: 5})"});
}

// By looking at every point.
bool HasTie(const Ring& ring, std::uint32_t position) {
  const std::uint32_t hash = ring.point(ring.FindPoint(position)).hash;
  std::set<NodeIndex> nodes;
  for (std::size_t i = 0; i < ring.point_count(); ++i) {
    if (ring.point(i).hash == hash) nodes.insert(ring.point(i).node);
  }
  return nodes.size() > 1;
}

TEST(VerifyMappingTest, TheNameAndTheAddressOfTheOwnerAreRight) {
  const OfflineDataCenter data_center = ThreeNodes();
  const auto ring = Ring::Build(data_center.nodes, DefaultRingParameters(RingVersion::kV1)).value();
  MappingVerifier verifier(data_center, *ring);
  for (int i = 0; i < 100; ++i) {
    const std::string key = "/img/" + std::to_string(i);
    const NodeIndex owner = ring->Owner(key);
    for (NodeIndex node = 0; node < 3; ++node) {
      for (const std::string& expected :
           {(*data_center.nodes)[node].name, data_center.addresses[node]}) {
        const MappingVerifier::Verdict verdict = verifier.Verify(key, expected);
        EXPECT_EQ(verdict.same, node == owner) << key << " " << expected;
        EXPECT_EQ(verdict.found, owner);
      }
    }
  }
  EXPECT_EQ(verifier.keys(), 600U);
  EXPECT_EQ(verifier.different(), 400U);
  EXPECT_EQ(verifier.different_tied(), 0U);
  EXPECT_THAT(verifier.unknown_owners(), IsEmpty());
}

TEST(VerifyMappingTest, AnAddressIsTakenAsTheTopologyWritesIt) {
  const OfflineDataCenter data_center = ThreeNodes();
  const auto ring = Ring::Build(data_center.nodes, DefaultRingParameters(RingVersion::kV1)).value();
  MappingVerifier verifier(data_center, *ring);
  for (const char* expected : {"[2001:db8::1]:443", "[2001:db8::1]:443", "", "A"}) {
    EXPECT_FALSE(verifier.Verify("key", expected).same);
  }
  EXPECT_THAT(verifier.unknown_owners(),
              ElementsAre(Pair("", 1), Pair("A", 1), Pair("[2001:db8::1]:443", 2)));
}

TEST(VerifyMappingTest, ADifferenceOnATiedArcIsCountedApart) {
  const OfflineDataCenter data_center = ThreeNodes();
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    RingBuildOptions options;
    options.hash_mask_for_test = 0xFF700000;  // some 2,000 hashes
    RingParameters parameters = DefaultRingParameters(version);
    parameters.points_per_weight = 50;
    const auto ring = Ring::Build(data_center.nodes, parameters, options).value();
    MappingVerifier verifier(data_center, *ring);
    std::size_t tied = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "/img/" + std::to_string(i);
      const bool has_tie = HasTie(*ring, Ring::Position(key));
      tied += has_tie;
      EXPECT_EQ(verifier.Verify(key, "nobody").tied, has_tie) << key;
    }
    EXPECT_EQ(verifier.different(), 3000U);
    EXPECT_EQ(verifier.different_tied(), tied);
    EXPECT_GT(tied, 100U);
    EXPECT_LT(tied, 2900U);
  }
}

TEST(VerifyMappingTest, ATieThatTheWalkWrapsAroundToIsSeen) {
  const OfflineDataCenter data_center = ThreeNodes();
  RingBuildOptions options;
  options.hash_mask_for_test = 0;  // all points on hash 0: every key wraps around to it
  const auto ring =
      Ring::Build(data_center.nodes, DefaultRingParameters(RingVersion::kV1), options).value();
  MappingVerifier verifier(data_center, *ring);
  EXPECT_TRUE(verifier.Verify("key", "nobody").tied);
}

}  // namespace
}  // namespace ringshift
