#include "server/watch_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "migration/decision.h"
#include "routing/past_nodes.h"
#include "routing/route.h"
#include "server/node_history.h"
#include "tests/testing/byte_buffers.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ToString;
using ::testing::ElementsAre;

// 40 nodes of different weights, some on IPv6 or with an identity of their own, in three pools.
DataCenterSpec MixedDataCenter(const std::string& name) {
  DataCenterSpec spec = testing::SmallDataCenter(name);
  spec.nodes.clear();
  for (int i = 0; i < 40; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = i % 5 == 0 ? "[2001:db8::" + std::to_string(i + 1) + "]:443"
                              : "cache-" + std::to_string(i) + ".example:8080";
    if (i % 7 == 0) node.ring_identity = "10.9.0." + std::to_string(i) + ":1";
    node.weight = static_cast<std::uint32_t>(1 + i % 4 * 10);
    if (i % 2 == 0) node.features.push_back("special");
    if (i % 3 == 0) node.features.push_back("third");
    spec.nodes.push_back(std::move(node));
  }
  spec.pools.push_back({"both", {"special", "third"}});
  return spec;
}

Migration MigrationOf(const DataCenterSpec& spec, std::int64_t ppm) {
  Migration migration;
  migration.data_center = spec.name;
  migration.share = Share::FromPpm(ppm).value();
  migration.salt = "salt of " + spec.name;
  migration.decision_algorithm = std::string(kDecisionAlgorithm);
  migration.revision = 7;
  return migration;
}

// HOST:PORT of a ring identity.
std::string Address(const std::string& identity) {
  const std::size_t nul = identity.find('\0');
  std::string host = identity.substr(0, nul);
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return host + ":" + identity.substr(nul + 1);
}

// What a client does that routes by itself, with nothing but the message.
std::shared_ptr<const RoutingTable> TableOf(const v1::RoutingState& state) {
  DataCenterSpec spec;
  spec.name = state.data_center();
  NodeMask settled(static_cast<std::size_t>(state.nodes_size()));
  for (int i = 0; i < state.nodes_size(); ++i) {
    const v1::RoutingNode& node_proto = state.nodes(i);
    NodeSpec node;
    node.name = node_proto.name();
    node.address = node_proto.address();
    node.weight = static_cast<std::uint32_t>(node_proto.weight());
    node.ring_identity = Address(node_proto.ring_identity());
    if (!node_proto.is_young()) settled.Insert(static_cast<NodeIndex>(i));
    spec.nodes.push_back(std::move(node));
  }
  for (const v1::RoutingPool& pool : state.pools()) {
    if (pool.name() == kDefaultPool) continue;
    spec.pools.push_back({pool.name(), {pool.name()}});
    for (const int node : pool.nodes()) {
      spec.nodes[static_cast<std::size_t>(node)].features.push_back(pool.name());
    }
  }
  RetiredRing missing = RetiredRing::kV2;
  for (const v1::RoutingRing& ring : state.rings()) {
    RingParameters parameters;
    parameters.points_per_weight = static_cast<std::uint32_t>(ring.points_per_weight());
    if (ring.ring_version() == v1::RING_VERSION_V1) {
      EXPECT_EQ(ring.algorithm(), "ketama-crc32-v1");
      parameters.version = RingVersion::kV1;
      spec.v1 = parameters;
    } else {
      EXPECT_EQ(ring.algorithm(), "ketama-crc32-v2");
      spec.v2 = parameters;
      missing = RetiredRing::kNone;
    }
  }
  const auto share = [](std::int64_t ppm) { return Share::FromPpm(ppm).value(); };
  Migration migration;
  migration.data_center = state.data_center();
  migration.share = share(state.table().v2_ppm());
  migration.salt = state.salt();
  migration.decision_algorithm = state.decision_algorithm();
  migration.retired = missing;
  RouterState router;
  router.warmth = {share(state.v2_warm_below_ppm()), share(state.v1_warm_from_ppm()),
                   share(state.first_v2_ppm())};
  router.warmth_since_nodes = {share(state.v2_warm_below_ppm_since_nodes()),
                               share(state.v1_warm_from_ppm_since_nodes()), Share::None()};
  router.settled = std::make_shared<const NodeMask>(settled);
  auto data_center = DataCenter::Build(spec, nullptr, missing).value();
  std::vector<PastNode> past_nodes;
  for (const v1::PastNode& node_proto : state.past_nodes()) {
    PastNode& node = past_nodes.emplace_back(PastNode{
        RingIdentity::Parse(Address(node_proto.ring_identity()), IdentityStyle::kCanonical).value(),
        {},
        {}});
    if (node_proto.node_place() > 0) {
      node.node = static_cast<NodeIndex>(node_proto.node_place() - 1);
    }
    for (const v1::PastWeights& weights : node_proto.pools()) {
      node.pools.push_back({static_cast<std::uint32_t>(weights.first()),
                            static_cast<std::uint32_t>(weights.least()),
                            static_cast<std::uint32_t>(weights.most())});
    }
  }
  if (!past_nodes.empty()) router.past_nodes = PastNodes::Create(*data_center, past_nodes);
  for (const v1::RoutingRing& ring : state.rings()) {
    const RingVersion version =
        ring.ring_version() == v1::RING_VERSION_V1 ? RingVersion::kV1 : RingVersion::kV2;
    EXPECT_EQ(data_center->ring(version)->ring->checksum(), ring.checksum());
  }
  return RoutingTable::Create(std::move(data_center), migration, router).value();
}

// Nodes in the order of the answer, the ring and the previous owner.
std::string Answer(const RoutingTable& table, const std::string& key, const std::string& pool) {
  const absl::StatusOr<RouteAnswer> answer = Route(table, {key, pool, 3});
  if (!answer.ok()) return answer.status().ToString();
  std::string text(RingVersionName(answer->ring_version));
  for (const NodeIndex node : answer->nodes()) text += " " + table.data_center().node(node).name;
  if (answer->previous_owner) {
    text += " before: " + table.data_center().node(*answer->previous_owner).name;
  }
  return text;
}

void ExpectSameAnswers(const RoutingTable& table, int& previous_owners) {
  v1::RoutingState state;
  ToProto(table, state);
  v1::RoutingState received;
  ASSERT_TRUE(received.ParseFromString(state.SerializeAsString()));
  const std::shared_ptr<const RoutingTable> own = TableOf(received);
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = "/img/" + std::to_string(i) + ".jpg";
    for (const char* pool : {"", "special", "both"}) {
      const std::string expected = Answer(table, key, pool);
      ASSERT_EQ(Answer(*own, key, pool), expected) << key << " in pool " << pool;
      previous_owners += expected.find("before") != std::string::npos;
    }
  }
}

TEST(WatchMessagesTest, AStateIsEnoughToRouteByOneself) {
  const DataCenterSpec spec = MixedDataCenter("ams");
  const std::shared_ptr<const DataCenter> data_center = testing::Built(spec);
  RouterState router;
  router.warmth = {Share::FromPpm(600'000).value(), Share::FromPpm(200'000).value(),
                   Share::FromPpm(450'000).value()};
  NodeMask settled = NodeMask::All(data_center->node_set().size());
  for (const NodeIndex young : {3u, 17u, 30u}) settled.Erase(young);
  router.settled = std::make_shared<const NodeMask>(settled);
  int previous_owners = 0;
  ExpectSameAnswers(*RoutingTable::Create(data_center, MigrationOf(spec, 370'000), router).value(),
                    previous_owners);
  EXPECT_GT(previous_owners, 5000);
}

TEST(WatchMessagesTest, AStateIsEnoughToRouteByOneselfWhereNodesLeftAndChanged) {
  const DataCenterSpec spec = MixedDataCenter("ams");
  const std::shared_ptr<const DataCenter> data_center = testing::Built(spec);
  DataCenterSpec old_spec = spec;
  old_spec.nodes[3].weight = 90;
  old_spec.nodes[4].weight = 1;
  old_spec.nodes[5].features = {"special", "third"};
  old_spec.nodes[6].features.clear();
  old_spec.nodes.erase(old_spec.nodes.begin() + 8);
  NodeSpec gone = old_spec.nodes[0];
  gone.name = "gone";
  gone.address = "10.0.0.77:1";
  gone.ring_identity.reset();
  old_spec.nodes.push_back(gone);
  const WallTime now(std::chrono::hours(100));
  NodeHistory history;
  history.Change(*testing::Built(old_spec), *data_center, now, now - std::chrono::hours(2));
  const NodeHistory::Nodes nodes = history.At(*data_center, now - std::chrono::hours(1));
  RouterState router;
  router.warmth = {Share::FromPpm(600'000).value(), Share::FromPpm(200'000).value(),
                   Share::FromPpm(450'000).value()};
  router.warmth_since_nodes = {Share::FromPpm(500'000).value(), Share::FromPpm(300'000).value(),
                               Share::None()};
  router.settled = nodes.settled;
  router.past_nodes = nodes.past;
  ASSERT_NE(router.settled, nullptr);
  ASSERT_NE(router.past_nodes, nullptr);
  int previous_owners = 0;
  ExpectSameAnswers(*RoutingTable::Create(data_center, MigrationOf(spec, 370'000), router).value(),
                    previous_owners);
  EXPECT_GT(previous_owners, 5000);
}

TEST(WatchMessagesTest, AStateWithoutARingIsEnoughToo) {
  const DataCenterSpec spec = MixedDataCenter("ams");
  int previous_owners = 0;
  for (const auto& [retired, ppm] :
       {std::pair(RetiredRing::kV1, 1'000'000), std::pair(RetiredRing::kV2, 0)}) {
    Migration migration = MigrationOf(spec, ppm);
    migration.retired = retired;
    ExpectSameAnswers(
        *RoutingTable::Create(testing::Built(spec)->Without(retired), migration).value(),
        previous_owners);
  }
  DataCenterSpec without = MixedDataCenter("new");
  without.v1.reset();
  ExpectSameAnswers(
      *RoutingTable::Create(testing::Built(without), MigrationOf(without, 1'000'000)).value(),
      previous_owners);
  EXPECT_EQ(previous_owners, 0);
}

TEST(WatchMessagesTest, AMessageHasTheStatesAndTheNews) {
  const DataCenterSpec ams = MixedDataCenter("ams");
  const DataCenterSpec fra = MixedDataCenter("fra");
  ChangeFeed::News news;
  news.is_snapshot = true;
  for (const DataCenterSpec* spec : {&ams, &fra}) {
    news.states.push_back(std::make_shared<const std::string>(RoutingStateMessage(
        *RoutingTable::Create(testing::Built(*spec), MigrationOf(*spec, 5)).value())));
  }
  news.removed = {"old", "older"};
  news.cursor = "1-2-3";
  grpc::ByteBuffer bytes = WatchRoutingMessage(news);
  // gRPC may have it for longer than the feed.
  news.states.clear();
  v1::WatchRoutingResponse response;
  ASSERT_TRUE(response.ParseFromString(ToString(bytes)));
  EXPECT_TRUE(response.is_snapshot());
  ASSERT_EQ(response.data_centers_size(), 2);
  EXPECT_EQ(response.data_centers(0).data_center(), "ams");
  EXPECT_EQ(response.data_centers(1).data_center(), "fra");
  EXPECT_EQ(response.data_centers(1).nodes_size(), 40);
  EXPECT_EQ(response.data_centers(1).table().migration_revision(), 7);
  EXPECT_THAT(response.removed(), ElementsAre("old", "older"));
  EXPECT_EQ(response.cursor(), "1-2-3");
}

TEST(WatchMessagesTest, AMigrationHasNothingThatChangesWithEachRequest) {
  const DataCenterSpec spec = MixedDataCenter("ams");
  const auto table = RoutingTable::Create(testing::Built(spec), MigrationOf(spec, 370'000)).value();
  MigrationController::View view;
  view.migration = table->migration();
  view.table = table;
  ChangeFeed::News news;
  news.states.push_back(std::make_shared<const std::string>(MigrationMessage(view)));
  v1::WatchMigrationsResponse response;
  ASSERT_TRUE(response.ParseFromString(ToString(WatchMigrationsMessage(news))));
  ASSERT_EQ(response.migrations_size(), 1);
  EXPECT_EQ(response.migrations(0).data_center(), "ams");
  EXPECT_EQ(response.migrations(0).v2_ppm(), 370'000);
  EXPECT_FALSE(response.migrations(0).has_measured_v2_ppm());
  EXPECT_EQ(response.migrations(0).requests_per_second(), 0);
  EXPECT_EQ(response.migrations(0).errors_per_second(), 0);
  EXPECT_FALSE(response.migrations(0).has_v1_outcomes());
  EXPECT_FALSE(response.migrations(0).has_v2_outcomes());
}

}  // namespace
}  // namespace ringshift
