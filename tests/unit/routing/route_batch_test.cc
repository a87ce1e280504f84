// `BatchRouter` against `Route`, key by key.
#include "routing/route_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "routing/route.h"
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
using ::testing::HasSubstr;

// Ten nodes, of which four are in the pool `few`, one in `one` and none in `nobody`.
DataCenterSpec SpecWithPools() {
  DataCenterSpec spec = MakeSpec(10, 2);
  for (const std::size_t i : {1u, 4u, 5u, 9u}) spec.nodes[i].features = {"f"};
  spec.nodes[5].features.push_back("o");
  spec.pools = {{"few", {"f"}}, {"one", {"o"}}, {"nobody", {"g"}}};
  return spec;
}

void ExpectWhatRouteAnswers(const RoutingTable& table, std::string_view pool,
                            std::span<const std::string_view> keys) {
  ASSERT_OK_AND_ASSIGN(const BatchRouter batch, BatchRouter::Create(table, pool));
  ASSERT_THAT(BatchRouter::CheckKeys(keys, 0), IsOk());
  std::vector<BatchAnswer> answers(keys.size());
  batch.Route(keys, answers);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const RouteAnswer expected,
                         Route(table, {.key = keys[i], .pool = pool, .replicas = 1}));
    ASSERT_EQ(answers[i].owner, expected.nodes()[0]) << i << " of " << keys.size();
    ASSERT_EQ(answers[i].ring_version, expected.ring_version) << i << " of " << keys.size();
    ASSERT_EQ(answers[i].previous_owner, expected.previous_owner.value_or(BatchAnswer::kNoNode));
    ASSERT_EQ(answers[i].position, expected.position);
    ASSERT_EQ(answers[i].bucket, expected.bucket);
    ASSERT_EQ(batch.pool(), expected.pool);
  }
}

// `count` keys of 1 to 40 bytes, any bytes.
std::vector<std::string> RandomKeys(std::mt19937& random, std::size_t count) {
  std::vector<std::string> keys(count);
  for (std::string& key : keys) {
    key.resize(1 + random() % 40);
    for (char& byte : key) byte = static_cast<char>(random() % 256);
  }
  return keys;
}

std::vector<std::string_view> Views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

// Some of the settled nodes had another weight, or were not in a pool, and a node is gone.
std::shared_ptr<const PastNodes> RandomPastNodes(std::mt19937& random,
                                                 const DataCenter& data_center,
                                                 const NodeMask& settled) {
  std::vector<PastNode> nodes;
  const auto add = [&](const RingIdentity& identity, std::optional<NodeIndex> node) {
    PastNode& past = nodes.emplace_back(PastNode{identity, node, {}});
    for (const DataCenter::Pool& pool : data_center.pools()) {
      const std::uint32_t now =
          node && pool.nodes.Contains(*node) ? data_center.node_set()[*node].weight : 0;
      const auto first = static_cast<std::uint32_t>(random() % 7);
      past.pools.push_back({first, std::min(first, now), std::max(first, now)});
    }
  };
  for (NodeIndex node = 0; node < settled.size(); ++node) {
    if (settled.Contains(node) && random() % 4 == 0) {
      add(data_center.node_set()[node].identity, node);
    }
  }
  add(RingIdentity::Parse("10.9.9.9:1", IdentityStyle::kCanonical).value(), std::nullopt);
  return PastNodes::Create(data_center, std::move(nodes));
}

TEST(RouteBatchTest, RandomTopologiesAndSharesAnswerAsRouteDoes) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    DataCenterSpec spec = MakeSpec(1 + random() % 40, 1 + static_cast<std::uint32_t>(random() % 5));
    for (NodeSpec& node : spec.nodes) {
      if (random() % 3 == 0) node.features = {"f"};
    }
    spec.nodes[random() % spec.nodes.size()].features = {"f", "o"};
    spec.pools = {{"some", {"f"}}, {"one", {"o"}}};
    const auto layout = [&] { return kRingLayouts[random() % 3]; };
    spec.v1->layout = layout();
    spec.v1->points_per_weight = 1 + static_cast<std::uint32_t>(random() % 50);
    spec.v2.layout = layout();
    if (random() % 5 == 0) spec.v1.reset();
    const std::vector<std::int64_t> shares = {0, 1, 10'000, 500'000, 999'999, 1'000'000};
    ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
    RouterState state;  // any one, also such as no history leads to
    const auto share = [&] { return *Share::FromPpm(shares[random() % shares.size()]); };
    state.warmth = {.v2_warm_below = share(), .v1_warm_from = share(), .first_share = share()};
    state.warmth_since_nodes = {share(), share(), Share::None()};
    NodeMask settled(spec.nodes.size());
    const std::size_t young_part = random() % 4;
    for (NodeIndex node = 0; node < settled.size(); ++node) {
      if (random() % 4 >= young_part) settled.Insert(node);
    }
    if (random() % 3 == 0) state.past_nodes = RandomPastNodes(random, *data_center, settled);
    state.settled = std::make_shared<const NodeMask>(std::move(settled));
    ASSERT_OK_AND_ASSIGN(
        const auto table,
        RoutingTable::Create(data_center, MakeMigration("ams", share().ppm()), std::move(state)));
    const std::vector<std::string> keys = RandomKeys(random, random() % 1'100);
    for (const std::string_view pool : {"", "default", "some", "one"}) {
      ExpectWhatRouteAnswers(*table, pool, Views(keys));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RouteBatchTest, EveryNumberOfKeysIsAnswered) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 400'000));
  std::mt19937 random(1);
  const std::vector<std::string> keys = RandomKeys(random, 600);
  const std::vector<std::string_view> views = Views(keys);
  for (std::size_t count = 0; count <= keys.size(); ++count) {
    ExpectWhatRouteAnswers(*table, "few", std::span(views).first(count));
    ExpectWhatRouteAnswers(*table, "", std::span(views).first(count));
    if (HasFatalFailure()) return;
  }
}

// With a few points a ring, much of the circle is behind the last one.
TEST(RouteBatchTest, KeysBehindTheLastPointWrapAround) {
  DataCenterSpec spec = SpecWithPools();
  spec.v1->points_per_weight = spec.v2.points_per_weight = 1;
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, 500'000));
  const Ring& v1 = *table->data_center().v1()->ring;  // v2 has the same hashes
  const std::uint32_t last = v1.point(v1.point_count() - 1).hash;
  std::vector<std::string> keys;
  for (std::size_t i = 0; keys.size() < 300; ++i) {
    if (Ring::Position(Key(i)) > last) keys.push_back(Key(i));
  }
  for (const std::string_view pool : {"", "few", "one"}) {
    ExpectWhatRouteAnswers(*table, pool, Views(keys));
  }
}

TEST(RouteBatchTest, APoolThatHasARingOfItsOwnIsAnsweredFromThat) {
  ASSERT_OK_AND_ASSIGN(const auto table,
                       MakeTable(::ringshift::testing::MakeSpecWithSparsePool(), 500'000));
  std::mt19937 random(1);
  const std::vector<std::string> keys = RandomKeys(random, 1'000);
  ExpectWhatRouteAnswers(*table, "sparse", Views(keys));
}

TEST(RouteBatchTest, TheLargestBatchOfOneKeyIsAnswered) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 500'000));
  const std::vector<std::string_view> keys(kMaxBatchKeys, "/the/same");
  ExpectWhatRouteAnswers(*table, "one", keys);
  ExpectWhatRouteAnswers(*table, "", keys);
}

TEST(RouteBatchTest, ABadKeyIsRefusedWithItsIndexInTheBatch) {
  const std::string longest(kMaxKeyBytes, 'k');
  const std::string too_long = longest + "k";
  EXPECT_THAT(BatchRouter::CheckKeys(std::vector<std::string_view>{"a", longest, "b"}, 0), IsOk());
  EXPECT_THAT(
      BatchRouter::CheckKeys(std::vector<std::string_view>{"a", "b", ""}, 0),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("keys[2] is empty; it must have 1")));
  EXPECT_THAT(BatchRouter::CheckKeys(std::vector<std::string_view>{"a", too_long, ""}, 4'000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("keys[4001] has 16385 bytes; it must have 1 to 16384")));
}

TEST(RouteBatchTest, AnUnknownPoolIsNotFoundWithTheKnownOnes) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  EXPECT_THAT(BatchRouter::Create(*table, "fee"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("ams"), HasSubstr("unknown pool \"fee\""),
                             HasSubstr("default, few, one, nobody"))));
}

TEST(RouteBatchTest, APoolWithoutNodesIsUnavailable) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  EXPECT_THAT(
      BatchRouter::Create(*table, "nobody"),
      StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("nobody"), HasSubstr("ams"))));
}

}  // namespace
}  // namespace ringshift
