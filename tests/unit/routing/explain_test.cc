#include "routing/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "migration/decision.h"
#include "ring/crc32.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::Key;
using ::ringshift::testing::MakeMigration;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::MakeTable;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Thirty nodes: a third of them in `few`, one in `one`, none in `nobody`.
DataCenterSpec SpecWithPools() {
  DataCenterSpec spec = MakeSpec(30, 2);
  for (std::size_t i = 0; i < 30; i += 3) spec.nodes[i].features = {"f"};
  spec.nodes[7].features = {"o"};
  spec.pools = {{"few", {"f"}}, {"one", {"o"}}, {"nobody", {"n"}}};
  return spec;
}

// The nodes that a walk from `position` meets, each once, until it has `wanted` of the pool's.
struct NaiveWalk {
  std::vector<NodeIndex> nodes;
  std::vector<NodeIndex> passed;
};
NaiveWalk Walk(const Ring& ring, std::uint32_t position, const NodeMask& pool, std::size_t wanted) {
  NaiveWalk walk;
  std::size_t first = 0;
  while (first < ring.point_count() && ring.point(first).hash < position) ++first;
  for (std::size_t step = 0; step < ring.point_count() && walk.nodes.size() < wanted; ++step) {
    const NodeIndex node = ring.point((first + step) % ring.point_count()).node;
    std::vector<NodeIndex>& list = pool.Contains(node) ? walk.nodes : walk.passed;
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
    if (walk.nodes.size() == pool.count()) break;
  }
  return walk;
}

std::vector<NodeIndex> PassedNodes(const RingExplanation& ring) {
  std::vector<NodeIndex> nodes;
  for (const PassedNode& passed : ring.passed) nodes.push_back(passed.node);
  return nodes;
}

TEST(ExplainTest, IsRoutesAnswerForEveryKeyPoolAndCount) {
  for (const std::int64_t ppm : {0, 500'000, 1'000'000}) {
    ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), ppm));
    for (const char* pool : {"", "default", "few", "one"}) {
      for (const int replicas : {0, 1, 3, 16}) {
        for (std::size_t i = 0; i < 1'200; ++i) {
          const std::string key = Key(i);
          const RouteRequest request = {.key = key, .pool = pool, .replicas = replicas};
          ASSERT_OK_AND_ASSIGN(const RouteAnswer answer, Route(*table, request));
          ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, request));
          ASSERT_EQ(explanation.answer.ring_version, answer.ring_version);
          ASSERT_EQ(explanation.answer.pool, answer.pool);
          ASSERT_THAT(explanation.answer.nodes(), ElementsAreArray(answer.nodes()));
          ASSERT_TRUE(explanation.v1.has_value());
          const bool is_v2 = AnswersV2(explanation.answer.bucket, table->share());
          ASSERT_EQ(is_v2, answer.ring_version == RingVersion::kV2);
          const RingExplanation& answering = is_v2 ? *explanation.v2 : *explanation.v1;
          ASSERT_EQ(answering.version, answer.ring_version);
          ASSERT_THAT(answering.nodes, ElementsAreArray(answer.nodes()));
        }
      }
    }
  }
}

// Route asks the small ring of the pool, Explain walks the whole one.
TEST(ExplainTest, IsRoutesAnswerForAPoolThatHasARingOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const auto table,
                       MakeTable(::ringshift::testing::MakeSpecWithSparsePool(), 500'000));
  ASSERT_NE(table->data_center().v1()->pools[2].own, nullptr);
  ASSERT_NE(table->data_center().v2()->pools[2].own, nullptr);
  for (std::size_t i = 0; i < 2'000; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const Explanation explanation,
                         Explain(*table, {.key = key, .pool = "sparse", .replicas = 2}));
    const RingExplanation& answering =
        explanation.answer.ring_version == RingVersion::kV2 ? *explanation.v2 : *explanation.v1;
    ASSERT_THAT(explanation.answer.nodes(), ElementsAreArray(answering.nodes));
  }
}

TEST(ExplainTest, NodesAndThosePassedAreThoseOfAWalkPointByPoint) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 500'000));
  const DataCenter& data_center = table->data_center();
  std::size_t passed = 0;
  for (const DataCenter::Pool& pool : data_center.pools()) {
    if (pool.nodes.count() == 0) continue;
    for (const int replicas : {1, 3, 16}) {
      for (std::size_t i = 0; i < 300; ++i) {
        const std::string key = Key(i);
        ASSERT_OK_AND_ASSIGN(
            const Explanation explanation,
            Explain(*table, {.key = key, .pool = pool.name, .replicas = replicas}));
        ASSERT_EQ(explanation.answer.position, Ring::Position(key));
        for (const auto& [ring, explained] : {std::pair{data_center.v1()->ring, *explanation.v1},
                                              std::pair{data_center.v2()->ring, *explanation.v2}}) {
          const NaiveWalk walk = Walk(*ring, explanation.answer.position, pool.nodes,
                                      static_cast<std::size_t>(replicas));
          ASSERT_EQ(explained.version, ring->parameters().version);
          ASSERT_EQ(explained.nodes, walk.nodes);
          ASSERT_EQ(PassedNodes(explained), walk.passed);
          ASSERT_EQ(explained.passed_count, walk.passed.size());
          ASSERT_EQ(explained.point_index, ring->FindPoint(explanation.answer.position));
          ASSERT_EQ(explained.point.hash, ring->point(explained.point_index).hash);
          ASSERT_EQ(explained.point.node, ring->point(explained.point_index).node);
          ASSERT_EQ(explained.wraps,
                    explanation.answer.position > ring->point(ring->point_count() - 1).hash);
          passed += walk.passed.size();
        }
      }
    }
  }
  EXPECT_GT(passed, 10'000u);
}

TEST(ExplainTest, TheDecisionIsShownFromHashToBucket) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(3), 290'000));
  const Decision decision("salt");
  for (std::size_t i = 0; i < 1'000; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = key, .pool = ""}));
    ASSERT_EQ(explanation.decision_hash, decision.Hash(key));
    ASSERT_EQ(explanation.answer.bucket, decision.Bucket(key));
    ASSERT_EQ(explanation.answer.bucket < 290'000,
              explanation.answer.ring_version == RingVersion::kV2);
  }
}

TEST(ExplainTest, ADataCenterWithoutV1HasNoExplanationOfIt) {
  DataCenterSpec spec = MakeSpec(3);
  spec.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, 0));
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = "k", .pool = ""}));
  EXPECT_EQ(explanation.v1, std::nullopt);
  EXPECT_EQ(explanation.answer.ring_version, RingVersion::kV2);
  EXPECT_THAT(explanation.v2->nodes, ElementsAreArray(explanation.answer.nodes()));
}

TEST(ExplainTest, ARingThatIsRetiredHasNoExplanation) {
  ASSERT_OK_AND_ASSIGN(const auto data_center,
                       DataCenter::Build(MakeSpec(3), nullptr, RetiredRing::kV2));
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center, MakeMigration("ams", 0)));
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = "k", .pool = ""}));
  EXPECT_EQ(explanation.v2, std::nullopt);
  EXPECT_THAT(explanation.v1->nodes, ElementsAreArray(explanation.answer.nodes()));
}

TEST(ExplainTest, ThePreviousOwnerIsThatOfTheOtherRingAndHasAReason) {
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(SpecWithPools()));
  RouterState state;
  state.warmth = {
      .v2_warm_below = Share::All(), .v1_warm_from = Share::None(), .first_share = Share::None()};
  ASSERT_OK_AND_ASSIGN(const auto table,
                       RoutingTable::Create(data_center, MakeMigration("ams", 500'000), state));
  std::size_t named = 0;
  for (std::size_t i = 0; i < 1'000; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = key, .pool = ""}));
    const bool is_v2 = explanation.answer.ring_version == RingVersion::kV2;
    const NodeIndex other = (is_v2 ? *explanation.v1 : *explanation.v2).nodes[0];
    if (other == explanation.answer.nodes()[0]) continue;
    ++named;
    ASSERT_EQ(explanation.answer.previous_owner, other);
    EXPECT_THAT(explanation.previous_owner_reason, AllOf(HasSubstr(is_v2 ? "ring v1" : "ring v2"),
                                                         HasSubstr(data_center->node(other).name)));
  }
  EXPECT_GT(named, 500u);
}

TEST(ExplainTest, OverAThousandPassedNodesAreCountedAndNotAllListed) {
  DataCenterSpec spec = MakeSpec(1'500, 1);
  spec.v1->points_per_weight = spec.v2.points_per_weight = 8;
  spec.nodes[700].features = {"f"};
  spec.pools = {{"one", {"f"}}};
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, 0));
  const Ring& ring = *table->data_center().v1()->ring;
  const NodeMask& pool = table->data_center().pools()[1].nodes;
  std::size_t most = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const Explanation explanation,
                         Explain(*table, {.key = key, .pool = "one"}));
    std::vector<NodeIndex> passed = Walk(ring, explanation.answer.position, pool, 1).passed;
    ASSERT_EQ(explanation.v1->passed_count, passed.size());
    most = std::max(most, passed.size());
    passed.resize(std::min(passed.size(), RingExplanation::kMaxPassed));
    ASSERT_EQ(PassedNodes(*explanation.v1), passed);
  }
  EXPECT_GT(most, RingExplanation::kMaxPassed);
}

// The key of four bytes at `position`: crc32 taken back, byte by byte.
std::string KeyAt(std::uint32_t position) {
  const auto& table = internal::kCrc32Tables[0];
  std::uint32_t state = ~position;
  for (int i = 0; i < 4; ++i) {
    const auto entry = std::find_if(table.begin(), table.end(), [state](std::uint32_t value) {
      return value >> 24 == state >> 24;
    });
    state = (state ^ *entry) << 8 | static_cast<std::uint32_t>(entry - table.begin());
  }
  state = ~state;
  std::string key;
  for (int shift = 0; shift < 32; shift += 8) key += static_cast<char>((state >> shift) & 0xFF);
  return key;
}

TEST(ExplainTest, AKeyOnAPointIsThatPointsAndOneBehindTheLastPointWraps) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(3, 1), 0));
  const Ring& ring = *table->data_center().v1()->ring;
  const std::size_t last = ring.point_count() - 1;
  for (const std::size_t index : {std::size_t{0}, std::size_t{17}, last}) {
    const std::string key = KeyAt(ring.point(index).hash);
    ASSERT_EQ(Ring::Position(key), ring.point(index).hash);
    ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = key, .pool = ""}));
    EXPECT_EQ(explanation.v1->point_index, index);
    EXPECT_FALSE(explanation.v1->wraps);
  }
  const std::string key = KeyAt(ring.point(last).hash + 1);
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = key, .pool = ""}));
  EXPECT_EQ(explanation.v1->point_index, 0u);
  EXPECT_TRUE(explanation.v1->wraps);
}

// Twenty nodes of 160,000 points each share some hundred hashes.
TEST(ExplainTest, AHashOfSeveralNodesIsTied) {
  DataCenterSpec spec = MakeSpec(20, 1'000);
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, 0));
  const Ring& ring = *table->data_center().v1()->ring;
  ASSERT_GT(ring.collision_count(), 0u);
  std::size_t tied = 0, untied = 0;
  for (std::size_t i = 0; i < 200'000; ++i) {
    const std::string key = Key(i);
    const std::size_t index = ring.FindPoint(Ring::Position(key));
    const bool is_tied = index + 1 < ring.point_count() &&
                         ring.point(index).hash == ring.point(index + 1).hash &&
                         ring.point(index).node != ring.point(index + 1).node;
    if (!is_tied && i % 1'000 != 0) continue;
    ASSERT_OK_AND_ASSIGN(const Explanation explanation, Explain(*table, {.key = key, .pool = ""}));
    ASSERT_EQ(explanation.v1->is_tied, is_tied);
    ++(is_tied ? tied : untied);
  }
  EXPECT_GT(tied, 0u);
  EXPECT_GT(untied, 0u);
}

TEST(ExplainTest, RefusesWhatRouteRefusesInTheSameWords) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  const std::vector<RouteRequest> requests = {
      {.key = "", .pool = ""},
      {.key = too_long, .pool = ""},
      {.key = "k", .pool = "", .replicas = 17},
      {.key = "k", .pool = "", .replicas = -1},
      {.key = "k", .pool = "fee"},
      {.key = "k", .pool = "nobody"},
  };
  for (const RouteRequest& request : requests) {
    const absl::Status refused = Route(*table, request).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(Explain(*table, request),
                StatusIs(refused.code(), HasSubstr(std::string(refused.message()))));
  }
  EXPECT_THAT(Explain(*table, {.key = "k", .pool = "one"}), IsOk());
}

}  // namespace
}  // namespace ringshift
