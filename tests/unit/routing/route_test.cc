#include "routing/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::Key;
using ::ringshift::testing::MakeMigration;
using ::ringshift::testing::MakeNode;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::MakeTable;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

// The names of the nodes of the answer, none on an error.
Names RouteNames(const RoutingTable& table, std::string_view key, std::string_view pool = "",
                 int replicas = 0) {
  const auto answer = Route(table, {.key = key, .pool = pool, .replicas = replicas});
  Names names;
  if (!answer.ok()) return names;
  for (const NodeIndex node : answer->nodes()) names.push_back(table.data_center().node(node).name);
  return names;
}

// Ten nodes, of which four are in the pool `few` and none in `nobody`.
DataCenterSpec SpecWithPools() {
  DataCenterSpec spec = MakeSpec(10);
  for (const std::size_t i : {1u, 4u, 5u, 9u}) spec.nodes[i].features = {"f"};
  spec.pools = {{"few", {"f"}}, {"nobody", {"g"}}};
  return spec;
}

TEST(RouteTest, AnEmptyKeyIsRefused) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(3), 0));
  EXPECT_THAT(Route(*table, {}), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr("empty"), HasSubstr("16384"))));
}

TEST(RouteTest, AKeyOf16384BytesIsTheLongest) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(3), 0));
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_THAT(Route(*table, {.key = longest, .pool = ""}), IsOk());
  EXPECT_THAT(
      Route(*table, {.key = longest + "k", .pool = ""}),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("16385"), HasSubstr("16384"))));
}

TEST(RouteTest, ReplicasOutsideZeroToSixteenAreRefused) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(20), 0));
  EXPECT_EQ(RouteNames(*table, "k", "", 16).size(), 16u);
  EXPECT_EQ(RouteNames(*table, "k", "", 1).size(), 1u);
  EXPECT_EQ(RouteNames(*table, "k", "", 0), RouteNames(*table, "k", "", 1));
  for (const int replicas : {-1, 17}) {
    EXPECT_THAT(
        Route(*table, {.key = "k", .pool = "", .replicas = replicas}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("replicas is " + std::to_string(replicas) + "; it must be 0 to 16")));
  }
}

TEST(RouteTest, AnUnknownPoolIsNotFoundWithTheKnownOnes) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  EXPECT_THAT(Route(*table, {.key = "k", .pool = "fee"}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("ams"),
                             HasSubstr("unknown pool \"fee\"; known: default, few, nobody"))));
}

TEST(RouteTest, APoolWithoutNodesIsUnavailable) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  EXPECT_THAT(
      Route(*table, {.key = "k", .pool = "nobody"}),
      StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("nobody"), HasSubstr("ams"))));
}

TEST(RouteTest, ShareZeroIsAllV1AndShareAllIsAllV2) {
  ASSERT_OK_AND_ASSIGN(const auto none, MakeTable(MakeSpec(10), 0));
  ASSERT_OK_AND_ASSIGN(const auto all, MakeTable(MakeSpec(10), 1'000'000));
  const DataCenter& data_center = none->data_center();
  for (std::size_t i = 0; i < 10'000; ++i) {
    ASSERT_OK_AND_ASSIGN(const RouteAnswer v1, Route(*none, {.key = Key(i), .pool = ""}));
    ASSERT_OK_AND_ASSIGN(const RouteAnswer v2, Route(*all, {.key = Key(i), .pool = ""}));
    ASSERT_EQ(v1.ring_version, RingVersion::kV1);
    ASSERT_EQ(v2.ring_version, RingVersion::kV2);
    ASSERT_EQ(v1.nodes()[0], data_center.v1()->ring->Owner(Key(i)));
    ASSERT_EQ(v2.nodes()[0], data_center.v2()->ring->Owner(Key(i)));
  }
}

TEST(RouteTest, WithoutV1EveryKeyIsAnsweredByV2EvenAtShareZero) {
  DataCenterSpec spec = MakeSpec(10);
  spec.v1.reset();
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, 0));
  for (std::size_t i = 0; i < 10'000; ++i) {
    ASSERT_OK_AND_ASSIGN(const RouteAnswer answer, Route(*table, {.key = Key(i), .pool = ""}));
    ASSERT_EQ(answer.ring_version, RingVersion::kV2);
  }
}

TEST(RouteTest, TheRingIsTheDecisionsAndRaisingTheShareNeverMovesAKeyBack) {
  constexpr std::size_t kKeys = 20'000;
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(MakeSpec(10)));
  const Decision decision("salt");
  std::vector<bool> was_v2(kKeys, false);
  std::size_t last_count = 0;
  for (const std::int64_t ppm :
       {0, 1'000, 2'900, 10'000, 125'000, 290'000, 500'000, 999'999, 1'000'000}) {
    ASSERT_OK_AND_ASSIGN(const auto table,
                         RoutingTable::Create(data_center, MakeMigration("ams", ppm)));
    std::size_t count = 0;
    for (std::size_t i = 0; i < kKeys; ++i) {
      const std::string key = Key(i);
      ASSERT_OK_AND_ASSIGN(const RouteAnswer answer, Route(*table, {.key = key, .pool = ""}));
      const bool is_v2 = answer.ring_version == RingVersion::kV2;
      ASSERT_EQ(is_v2, AnswersV2(decision.Bucket(key), table->share()));
      const Ring& ring = is_v2 ? *data_center->v2()->ring : *data_center->v1()->ring;
      ASSERT_EQ(answer.nodes()[0], ring.Owner(key));
      ASSERT_FALSE(was_v2[i] && !is_v2) << key;
      was_v2[i] = is_v2;
      count += is_v2;
    }
    EXPECT_GE(count, last_count);
    last_count = count;
  }
  EXPECT_EQ(last_count, kKeys);
}

TEST(RouteTest, APoolAnswersAsADataCenterOfItsNodesAlone) {
  const DataCenterSpec spec = SpecWithPools();
  DataCenterSpec alone = spec;
  alone.pools.clear();
  std::erase_if(alone.nodes, [](const NodeSpec& node) { return node.features.empty(); });
  ASSERT_EQ(alone.nodes.size(), 4u);
  for (const std::int64_t ppm : {0, 500'000, 1'000'000}) {
    ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, ppm));
    ASSERT_OK_AND_ASSIGN(const auto alone_table, MakeTable(alone, ppm));
    for (std::size_t i = 0; i < 10'000; ++i) {
      for (const int replicas : {1, 3, 16}) {
        const Names names = RouteNames(*table, Key(i), "few", replicas);
        ASSERT_FALSE(names.empty());
        ASSERT_EQ(names, RouteNames(*alone_table, Key(i), "", replicas));
      }
    }
  }
}

TEST(RouteTest, AnAnswerNamesItsPoolAndDefaultIsTheEmptyName) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(SpecWithPools(), 0));
  ASSERT_OK_AND_ASSIGN(const RouteAnswer few, Route(*table, {.key = "k", .pool = "few"}));
  ASSERT_OK_AND_ASSIGN(const RouteAnswer empty, Route(*table, {.key = "k", .pool = ""}));
  EXPECT_EQ(few.pool, 1u);
  EXPECT_EQ(empty.pool, 0u);
  EXPECT_EQ(RouteNames(*table, "k", "default"), RouteNames(*table, "k", ""));
}

// The order in which a walk of single points first meets each node.
Names NaiveWalk(const RoutingTable& table, const Ring& ring, std::string_view key,
                std::size_t count) {
  Names names;
  const std::size_t first = ring.FindPoint(Ring::Position(key));
  for (std::size_t i = 0; i < ring.point_count() && names.size() < count; ++i) {
    const NodeIndex node = ring.point((first + i) % ring.point_count()).node;
    const std::string& name = table.data_center().node(node).name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

TEST(RouteTest, ReplicasAreDistinctAndInWalkOrder) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(5, 1), 0));
  for (std::size_t i = 0; i < 10'000; ++i) {
    const Names names = RouteNames(*table, Key(i), "", 3);
    ASSERT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3u);
    ASSERT_EQ(names, NaiveWalk(*table, *table->data_center().v1()->ring, Key(i), 3));
    ASSERT_EQ(names[0], RouteNames(*table, Key(i))[0]);
  }
}

TEST(RouteTest, AskingForMoreReplicasThanNodesGivesEveryNodeOnce) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(3), 0));
  for (std::size_t i = 0; i < 10'000; ++i) {
    Names names = RouteNames(*table, Key(i), "", 5);
    std::sort(names.begin(), names.end());
    ASSERT_EQ(names, (Names{"n1", "n2", "n3"}));
  }
}

TEST(RouteTest, ANewNodeChangesAtMostOneMemberOfAReplicaSet) {
  DataCenterSpec spec = MakeSpec(6);
  ASSERT_OK_AND_ASSIGN(const auto before, MakeTable(spec, 0));
  spec.nodes.insert(spec.nodes.begin(), MakeNode(7, 100));
  ASSERT_OK_AND_ASSIGN(const auto after, MakeTable(spec, 0));
  for (std::size_t i = 0; i < 10'000; ++i) {
    const Names old_names = RouteNames(*before, Key(i), "", 3);
    const Names new_names = RouteNames(*after, Key(i), "", 3);
    const std::set<std::string> old_set(old_names.begin(), old_names.end());
    const auto kept = std::count_if(new_names.begin(), new_names.end(),
                                    [&](const std::string& n) { return old_set.contains(n); });
    ASSERT_GE(kept, 2) << Key(i);
  }
}

// A walk that gave up after a number of points would not get there.
TEST(RouteTest, APoolOfOneLightNodeAmongHeavyOnesAnswersEveryKey) {
  DataCenterSpec spec = MakeSpec(10);
  spec.nodes[3].weight = 1;
  spec.nodes[3].features = {"f"};
  spec.pools = {{"one", {"f"}}};
  for (const std::int64_t ppm : {0, 1'000'000}) {
    ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, ppm));
    for (std::size_t i = 0; i < 5'000; ++i) {
      ASSERT_EQ(RouteNames(*table, Key(i), "one", 2), Names{"n4"});
    }
  }
}

TEST(RouteTest, TwoRoutersWithShuffledNodesAgree) {
  DataCenterSpec spec = SpecWithPools();
  ASSERT_OK_AND_ASSIGN(const auto one, MakeTable(spec, 500'000));
  std::mt19937 random(7);
  std::shuffle(spec.nodes.begin(), spec.nodes.end(), random);
  std::reverse(spec.pools.begin(), spec.pools.end());
  ASSERT_OK_AND_ASSIGN(const auto two, MakeTable(spec, 500'000));
  EXPECT_EQ(one->checksum(), two->checksum());
  for (std::size_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(RouteNames(*one, Key(i), "", 2), RouteNames(*two, Key(i), "", 2));
    ASSERT_EQ(RouteNames(*one, Key(i), "few", 2), RouteNames(*two, Key(i), "few", 2));
  }
}

TEST(RouteTest, OneKeyHasOneAnswerOnEveryThreadEveryTime) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(10), 500'000));
  const Names expected = RouteNames(*table, "key", "", 4);
  ASSERT_EQ(expected.size(), 4u);
  std::atomic<std::size_t> different = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1'000; ++j) different += RouteNames(*table, "key", "", 4) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0u);
}

TEST(RouteTest, ShortSimilarKeysReachEveryNode) {
  ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(MakeSpec(3), 0));
  std::set<std::string> owners;
  for (const char* key : {"AAPL", "MSFT", "GOOG", "AMZN", "META", "NVDA", "TSLA", "ORCL", "INTC",
                          "CSCO", "IBM",  "AMD",  "QCOM", "TXN",  "ADBE", "CRM",  "NFLX", "PYPL",
                          "UBER", "SHOP", "SQ",   "SNAP", "TWTR", "ZM",   "DOCU", "F"}) {
    owners.insert(RouteNames(*table, key)[0]);
  }
  EXPECT_EQ(owners.size(), 3u);
}

}  // namespace
}  // namespace ringshift
