#include "ring/churn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ring/ownership.h"
#include "tests/unit/ring/reference_ring.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::BuildRing;
using ::ringshift::testing::Identity;
using ::ringshift::testing::Nodes;
using ::ringshift::testing::Parameters;
using ::ringshift::testing::ReferenceRing;
using ::ringshift::testing::SequentialNodes;
using ::ringshift::testing::TestNode;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

constexpr std::uint64_t kPositions = std::uint64_t{1} << 32;

std::uint64_t Sum(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

// Of all nodes.
Churn MeasureWhole(const Ring& from, const Ring& to) {
  return MeasureChurn({from, NodeMask::All(from.nodes().size())},
                      {to, NodeMask::All(to.nodes().size())}, MatchNodes(from.nodes(), to.nodes()));
}

NodeIndex IndexOf(const Ring& ring, const std::string& name) {
  return ring.nodes().Find(name).value();
}

struct Named {
  std::string name;
  std::string address;
};

std::shared_ptr<const NodeSet> NamedNodes(const std::vector<Named>& named) {
  std::vector<RingNode> nodes;
  for (const Named& node : named) nodes.push_back({node.name, Identity(node.address), 1});
  return NodeSet::Create(std::move(nodes)).value();
}

// What each node is called in the other set, "" for none.
std::vector<std::string> MatchedNames(const NodeSet& from, const NodeSet& to) {
  std::vector<std::string> names;
  for (const auto& node : MatchNodes(from, to)) names.push_back(node ? to[*node].name : "");
  return names;
}

TEST(MatchNodesTest, OneIdentityIsOneNodeWhateverItIsCalled) {
  const auto from = NamedNodes({{"a", "10.0.0.1:443"}, {"b", "10.0.0.2:443"}});
  const auto to = NamedNodes({{"b", "10.0.0.1:443"}, {"a", "10.0.0.2:443"}});
  EXPECT_THAT(MatchedNames(*from, *to), ElementsAre("b", "a"));
}

TEST(MatchNodesTest, ANodeWithAnotherIdentityIsKnownByItsName) {
  const auto from =
      NamedNodes({{"a", "10.0.0.1:443"}, {"b", "10.0.0.2:443"}, {"c", "10.0.0.3:443"}});
  const auto to = NamedNodes({{"c", "10.0.1.1:443"}, {"d", "10.0.1.2:443"}, {"a", "10.0.1.3:443"}});
  EXPECT_THAT(MatchedNames(*from, *to), ElementsAre("a", "", "c"));
}

TEST(MatchNodesTest, ANameThatWentToAnotherIdentityOfTheOldSetMatchesNothing) {
  const auto from = NamedNodes({{"a", "10.0.0.1:443"}, {"b", "10.0.0.2:443"}});
  // The identity of `b` is called `a`; nothing is left for the old `a`.
  const auto to = NamedNodes({{"a", "10.0.0.2:443"}, {"c", "10.0.0.3:443"}});
  EXPECT_THAT(MatchedNames(*from, *to), ElementsAre("", "a"));
}

TEST(MatchNodesTest, IsOneToOneAndPrefersIdentities) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const auto pick = [&random] {
      std::vector<int> numbers(12);
      std::iota(numbers.begin(), numbers.end(), 1);
      std::shuffle(numbers.begin(), numbers.end(), random);
      return numbers;
    };
    const auto make = [&] {
      const std::vector<int> names = pick(), addresses = pick();
      std::vector<Named> named;
      for (std::size_t i = 0; i < 1 + random() % 8; ++i) {
        named.push_back(
            {"n" + std::to_string(names[i]), "10.0.0." + std::to_string(addresses[i]) + ":443"});
      }
      return NamedNodes(named);
    };
    const auto from = make(), to = make();
    const NodeMatching same = MatchNodes(*from, *to);
    ASSERT_EQ(same.size(), from->size());
    std::set<NodeIndex> taken;
    for (const auto& node : same) {
      if (node) {
        EXPECT_TRUE(taken.insert(*node).second);
      }
    }
    for (NodeIndex i = 0; i < from->size(); ++i) {
      for (NodeIndex j = 0; j < to->size(); ++j) {
        if ((*from)[i].identity == (*to)[j].identity) {
          EXPECT_THAT(same[i], Optional(Eq(j)));
        } else if (same[i] == j) {
          EXPECT_EQ((*from)[i].name, (*to)[j].name);
        } else if ((*from)[i].name == (*to)[j].name) {
          EXPECT_TRUE(same[i] || taken.contains(j)) << "both were free";
        }
      }
    }
  }
}

// A ring of the reference and its eligible nodes, which answers position by position.
struct ReferenceSide {
  ReferenceRing ring;
  const NodeMask& eligible;

  struct Answer {
    std::optional<NodeIndex> owner;
    bool is_tied = false;
  };
  Answer At(std::uint32_t position) const {
    const std::size_t first = ring.FirstPoint(position);
    for (std::size_t step = 0; step < ring.points.size(); ++step) {
      const auto& point = ring.points[(first + step) % ring.points.size()];
      if (!eligible.Contains(point.node)) continue;
      Answer answer{point.node};
      for (const auto& other : ring.points) {
        answer.is_tied |=
            other.hash == point.hash && other.node != point.node && eligible.Contains(other.node);
      }
      return answer;
    }
    return {};
  }
};

Churn ReferenceChurn(const NodeSet& from_nodes, const ReferenceSide& from, const NodeSet& to_nodes,
                     const ReferenceSide& to, const NodeMatching& same) {
  const auto survives = [&](NodeIndex old_node) {
    return same[old_node] && from.eligible.Contains(old_node) &&
           to.eligible.Contains(*same[old_node]) &&
           from_nodes[old_node].weight == to_nodes[*same[old_node]].weight;
  };
  std::set<std::uint64_t> positions = {0, kPositions - 1};
  for (const ReferenceSide* side : {&from, &to}) {
    for (const auto& point : side->ring.points) {
      const std::uint64_t hash = point.hash;
      if (hash > 0) positions.insert(hash - 1);
      positions.insert(hash);
      if (hash + 1 < kPositions) positions.insert(hash + 1);
    }
  }
  Churn churn;
  churn.lost.assign(from.eligible.size(), 0);
  churn.gained.assign(to.eligible.size(), 0);
  for (auto begin = positions.begin(); begin != positions.end(); ++begin) {
    const std::uint64_t end = std::next(begin) == positions.end() ? kPositions : *std::next(begin);
    const std::uint64_t count = end - *begin;
    const auto old_answer = from.At(static_cast<std::uint32_t>(*begin));
    const auto new_answer = to.At(static_cast<std::uint32_t>(*begin));
    const auto& [old_owner, old_tied] = old_answer;
    const auto& [new_owner, new_tied] = new_answer;
    const bool moved =
        !old_owner ? new_owner.has_value() : !new_owner || same[*old_owner] != new_owner;
    if (old_tied || new_tied) churn.tied += count;
    if (!moved) continue;
    churn.moved += count;
    if (old_tied || new_tied) churn.moved_tied += count;
    if (old_owner) churn.lost[*old_owner] += count;
    if (new_owner) churn.gained[*new_owner] += count;
    if (!old_owner || !new_owner) continue;
    const auto new_in_old = std::find(same.begin(), same.end(), new_owner);
    if (survives(*old_owner) && new_in_old != same.end() &&
        survives(static_cast<NodeIndex>(new_in_old - same.begin()))) {
      churn.moved_between_survivors += count;
    }
  }
  return churn;
}

// Two random topologies with some nodes in common, some renamed, some reweighted, and what lies
// between them.
void ExpectChurnOfReference(std::uint32_t seed, std::uint32_t hash_mask) {
  std::mt19937 random(seed);
  const auto pick = [&random](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  const RingVersion versions[] = {RingVersion::kV1, RingVersion::kV2};
  const auto make_nodes = [&] {
    std::vector<RingNode> nodes;
    for (std::uint32_t i = 1; i <= 9; ++i) {
      if (pick(0, 2) == 0) continue;
      const std::string address = "10.0.0." + std::to_string(pick(0, 5) ? i : 100 + i) + ":443";
      nodes.push_back({"n" + std::to_string(i), Identity(address), pick(1, 4)});
    }
    if (nodes.empty()) nodes.push_back({"n1", Identity("10.0.0.1:443"), 1});
    return NodeSet::Create(std::move(nodes)).value();
  };
  const std::uint32_t points = pick(1, 8);
  const bool is_same_rule = pick(0, 1) == 0;
  const auto make_ring = [&](const std::shared_ptr<const NodeSet>& nodes) {
    const RingParameters parameters = {is_same_rule ? RingVersion::kV1 : versions[pick(0, 1)],
                                       is_same_rule ? points : pick(1, 8),
                                       kRingLayouts[pick(0, 2)]};
    return Ring::Build(nodes, parameters, {.threads = 1, .hash_mask_for_test = hash_mask}).value();
  };
  const auto make_mask = [&](const NodeSet& nodes) {
    const std::uint32_t kind = pick(0, 7);
    if (kind < 3) return NodeMask::All(nodes.size());
    NodeMask mask(nodes.size());
    for (NodeIndex node = 0; node < nodes.size() && kind < 7; ++node) {
      if (pick(0, 1)) mask.Insert(node);
    }
    return mask;
  };
  const auto from = make_ring(make_nodes());
  const auto to = make_ring(make_nodes());
  const NodeMask from_mask = make_mask(from->nodes());
  const NodeMask to_mask = make_mask(to->nodes());
  const NodeMatching same = MatchNodes(from->nodes(), to->nodes());
  const auto reference_of = [&](const Ring& ring) {
    return ReferenceRing(ring.nodes(), ring.parameters().version,
                         ring.parameters().points_per_weight, hash_mask);
  };

  const Churn churn = MeasureChurn({*from, from_mask}, {*to, to_mask}, same);
  const Churn expected = ReferenceChurn(from->nodes(), {reference_of(*from), from_mask},
                                        to->nodes(), {reference_of(*to), to_mask}, same);
  ASSERT_EQ(churn.moved, expected.moved);
  ASSERT_EQ(churn.moved_between_survivors, expected.moved_between_survivors);
  ASSERT_EQ(churn.tied, expected.tied);
  ASSERT_EQ(churn.moved_tied, expected.moved_tied);
  ASSERT_EQ(churn.lost, expected.lost);
  ASSERT_EQ(churn.gained, expected.gained);
  if (from_mask.count() > 0) {
    ASSERT_EQ(Sum(churn.lost), churn.moved);
  }
  if (to_mask.count() > 0) {
    ASSERT_EQ(Sum(churn.gained), churn.moved);
  }
  bool has_moved_points = false;  // a node has another identity under the same name
  for (NodeIndex node = 0; node < same.size(); ++node) {
    has_moved_points |=
        same[node] && from->nodes()[node].identity != to->nodes()[*same[node]].identity;
  }
  if (is_same_rule && !has_moved_points) {
    ASSERT_EQ(churn.moved_between_survivors, 0u);
  }
}

TEST(ChurnPropertyTest, IsWhatTheReferenceCountsOfWholeHashes) {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    ExpectChurnOfReference(seed, 0xFFFFFFFF);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(ChurnPropertyTest, IsWhatTheReferenceCountsWhereTiesAreEverywhere) {
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    for (const std::uint32_t mask : {0x0000001Fu, 0x0003C000u, 0xF8000000u, 0x00000000u}) {
      ExpectChurnOfReference(seed, mask);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " mask " << mask;
    }
  }
}

TEST(ChurnTest, ARingAgainstItselfMovesNothing) {
  const auto wide = BuildRing(SequentialNodes("10.0.0.", 20), Parameters(RingVersion::kV1, 160));
  const auto packed = BuildRing(SequentialNodes("10.0.0.", 20),
                                Parameters(RingVersion::kV1, 160, RingLayout::kPacked));
  for (const Ring* to : {wide.get(), packed.get()}) {
    const Churn churn = MeasureWhole(*wide, *to);
    EXPECT_EQ(churn.moved, 0u);
    EXPECT_EQ(churn.moved_ratio(), 0);
    EXPECT_THAT(churn.lost, Each(0u));
    EXPECT_THAT(churn.gained, Each(0u));
  }
}

TEST(ChurnTest, ASecondNodeGainsItsExactShareFromTheFirst) {
  for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
    const auto one = BuildRing(SequentialNodes("10.0.0.", 1), Parameters(version, 160));
    const auto two = BuildRing(SequentialNodes("10.0.0.", 2), Parameters(version, 160));
    const std::vector<std::uint64_t> owned = MeasureOwnership(*two).positions;
    const Churn churn = MeasureWhole(*one, *two);
    EXPECT_EQ(churn.moved, owned[1]);
    EXPECT_THAT(churn.lost, ElementsAre(owned[1]));
    EXPECT_THAT(churn.gained, ElementsAre(0, owned[1]));
    EXPECT_NEAR(churn.moved_ratio(), 0.5, 0.2);
    EXPECT_EQ(churn.moved_between_survivors, 0u);
  }
}

TEST(ChurnTest, ANodeThatLeavesMovesItsOwnShareOnly) {
  for (const int count : {3, 4, 10}) {
    std::vector<TestNode> nodes = SequentialNodes("10.0.0.", count);
    const auto before = BuildRing(nodes, Parameters(RingVersion::kV1, 160));
    nodes.erase(nodes.begin() + 1);
    const auto after = BuildRing(nodes, Parameters(RingVersion::kV1, 160));
    const Churn churn = MeasureWhole(*before, *after);
    EXPECT_EQ(churn.moved, MeasureOwnership(*before).positions[1]);
    EXPECT_EQ(churn.lost[1], churn.moved);
    EXPECT_EQ(churn.moved_between_survivors, 0u);
    // And the way back is the same.
    const Churn back = MeasureWhole(*after, *before);
    EXPECT_EQ(back.moved, churn.moved);
    EXPECT_EQ(back.gained, churn.lost);
    EXPECT_EQ(back.lost, churn.gained);
  }
}

TEST(ChurnTest, ANodeThatComesFirstMovesItsOwnShareOnly) {
  const auto before = BuildRing(SequentialNodes("10.0.1.", 10), Parameters(RingVersion::kV2, 160));
  std::vector<TestNode> nodes = SequentialNodes("10.0.1.", 10);
  nodes.insert(nodes.begin(), {"10.0.0.1:443"});
  const auto after = BuildRing(nodes, Parameters(RingVersion::kV2, 160));
  ASSERT_EQ(IndexOf(*after, "10.0.0.1:443"), 0u);
  const Churn churn = MeasureWhole(*before, *after);
  EXPECT_EQ(churn.moved, churn.gained[0]);
  EXPECT_EQ(churn.moved, MeasureOwnership(*after).positions[0]);
  EXPECT_EQ(churn.moved_between_survivors, 0u);
  EXPECT_NEAR(churn.moved_ratio(), 1.0 / 11, 0.02);
}

TEST(ChurnTest, AHeavierNodeOnlyGains) {
  std::vector<TestNode> nodes = SequentialNodes("10.0.0.", 5);
  const auto before = BuildRing(nodes, Parameters(RingVersion::kV1, 160));
  nodes[1].weight = 2;
  const auto after = BuildRing(nodes, Parameters(RingVersion::kV1, 160));
  const Churn churn = MeasureWhole(*before, *after);
  const NodeIndex heavier = IndexOf(*after, "10.0.0.2:443");
  EXPECT_GT(churn.moved, 0u);
  EXPECT_EQ(churn.gained[heavier], churn.moved);
  EXPECT_EQ(churn.lost[heavier], 0u);
  EXPECT_EQ(churn.moved_between_survivors, 0u);
}

// 10.0.0.214:54196 has its 46th point on the last position of all: its arc ends where the space
// does.
TEST(ChurnTest, APointOnTheLastPositionEndsTheRing) {
  const auto one = BuildRing({{"10.0.0.214:54196", 1}}, Parameters(RingVersion::kV1, 46));
  ASSERT_EQ(one->point(one->point_count() - 1).hash, 0xFFFFFFFFu);
  const auto two =
      BuildRing({{"10.0.0.214:54196", 1}, {"10.0.0.1:443", 1}}, Parameters(RingVersion::kV1, 46));
  const Churn churn = MeasureWhole(*one, *two);
  EXPECT_EQ(churn.moved, MeasureOwnership(*two).positions[IndexOf(*two, "10.0.0.1:443")]);
  EXPECT_EQ(Sum(churn.lost), churn.moved);
  EXPECT_EQ(MeasureWhole(*two, *one).moved, churn.moved);
}

TEST(ChurnTest, TheArcThatWrapsAroundBelongsToTheFirstPoint) {
  // Both rings have one point each, so all is one arc that wraps.
  const auto a = BuildRing({{"10.0.0.1:443", 1}}, Parameters(RingVersion::kV1, 1));
  const auto b = BuildRing({{"10.0.0.2:443", 1}}, Parameters(RingVersion::kV1, 1));
  const Churn churn = MeasureWhole(*a, *b);
  EXPECT_EQ(churn.moved, kPositions);
  EXPECT_EQ(churn.moved_ratio(), 1);
  EXPECT_EQ(churn.moved_between_survivors, 0u);
}

TEST(ChurnTest, WithoutEligibleNodesOnOneSideEverythingMovesAndOnBothNothing) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 3), Parameters(RingVersion::kV1, 20));
  const NodeMask all = NodeMask::All(3), none(3);
  const NodeMatching same = MatchNodes(ring->nodes(), ring->nodes());
  const Churn emptied = MeasureChurn({*ring, all}, {*ring, none}, same);
  EXPECT_EQ(emptied.moved, kPositions);
  EXPECT_EQ(emptied.lost, MeasureOwnership(*ring).positions);
  EXPECT_THAT(emptied.gained, Each(0u));
  const Churn filled = MeasureChurn({*ring, none}, {*ring, all}, same);
  EXPECT_EQ(filled.moved, kPositions);
  EXPECT_EQ(filled.gained, MeasureOwnership(*ring).positions);
  EXPECT_THAT(filled.lost, Each(0u));
  EXPECT_EQ(MeasureChurn({*ring, none}, {*ring, none}, same).moved, 0u);
}

TEST(ChurnTest, ANodeThatLeavesThePoolIsNoSurvivor) {
  const auto ring = BuildRing(SequentialNodes("10.0.0.", 6), Parameters(RingVersion::kV2, 40));
  const NodeMask before = NodeMask::All(6);
  NodeMask after = before;
  after.Erase(2);
  const NodeMatching same = MatchNodes(ring->nodes(), ring->nodes());
  const Churn churn = MeasureChurn({*ring, before}, {*ring, after}, same);
  EXPECT_EQ(churn.moved, MeasureOwnership(*ring).positions[2]);
  EXPECT_EQ(churn.lost[2], churn.moved);
  EXPECT_EQ(churn.moved_between_survivors, 0u);
}

// The nodes and the points are the same; only the rule for ties differs.
TEST(ChurnTest, BetweenV1AndV2WithEqualPointsOnlyTiedArcsMove) {
  const RingBuildOptions coarse = {.threads = 1, .hash_mask_for_test = 0xFFFF0000};
  const auto v1 =
      BuildRing(SequentialNodes("10.0.0.", 50), Parameters(RingVersion::kV1, 160), coarse);
  const auto v2 =
      BuildRing(SequentialNodes("10.0.0.", 50), Parameters(RingVersion::kV2, 160), coarse);
  const Churn churn = MeasureWhole(*v1, *v2);
  EXPECT_GT(churn.moved, 0u);
  EXPECT_EQ(churn.moved_tied, churn.moved);
  EXPECT_EQ(churn.moved_between_survivors, churn.moved);
  EXPECT_GT(churn.tied, churn.moved);
}

TEST(ChurnTest, ARenamedNodeKeepsItsKeysAndAReaddressedOneKeepsItsName) {
  const auto before = Ring::Build(NamedNodes({{"a", "10.0.0.1:443"}, {"b", "10.0.0.2:443"}}),
                                  Parameters(RingVersion::kV1, 160))
                          .value();
  const auto renamed = Ring::Build(NamedNodes({{"x", "10.0.0.1:443"}, {"y", "10.0.0.2:443"}}),
                                   Parameters(RingVersion::kV1, 160))
                           .value();
  EXPECT_EQ(MeasureWhole(*before, *renamed).moved, 0u);
  // Under another identity `a` is the same cache, so what stays with it has not moved.
  const auto readdressed = Ring::Build(NamedNodes({{"a", "10.0.9.1:443"}, {"b", "10.0.0.2:443"}}),
                                       Parameters(RingVersion::kV1, 160))
                               .value();
  const Churn churn = MeasureWhole(*before, *readdressed);
  EXPECT_GT(churn.moved_ratio(), 0.2);
  EXPECT_LT(churn.moved_ratio(), 0.8);
  EXPECT_EQ(churn.moved_between_survivors, churn.moved);
}

}  // namespace
}  // namespace ringshift
