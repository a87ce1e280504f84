#include "routing/pool_balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ring/ownership.h"
#include "routing/data_center.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeSpec;

TEST(PoolBalanceTest, IsThatOfTheOwnershipOfThePool) {
  DataCenterSpec spec = MakeSpec(40, 3);
  for (std::size_t i = 0; i < 40; i += 3) spec.nodes[i].features = {"f"};
  spec.pools = {{"third", {"f"}}};
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  const Ring& ring = *data_center->v2()->ring;
  for (const DataCenter::Pool& pool : data_center->pools()) {
    const PoolBalance balance =
        MeasurePoolBalance(ring, data_center->node_set(), pool.name, pool.nodes);
    const Ownership ownership = MeasureOwnership(ring, pool.nodes);
    EXPECT_EQ(balance.pool, pool.name);
    EXPECT_EQ(balance.nodes, pool.nodes.count());
    EXPECT_EQ(balance.cv, ownership.cv);
    EXPECT_EQ(balance.max_ratio, ownership.max_ratio);
    EXPECT_EQ(balance.min_ratio, ownership.min_ratio);
    const NodeIndex max = data_center->node_set().Find(balance.max_node).value();
    const NodeIndex min = data_center->node_set().Find(balance.min_node).value();
    EXPECT_EQ(ownership.loads[max], ownership.max_ratio);
    EXPECT_EQ(ownership.loads[min], ownership.min_ratio);
    for (std::size_t i = 0; i < kLoadClasses.size(); ++i) {
      std::size_t counted = 0;
      for (NodeIndex node = 0; node < 40; ++node) {
        const double load = ownership.loads[node];
        counted += pool.nodes.Contains(node) && load >= kLoadClasses[i] &&
                   (i + 1 == kLoadClasses.size() || load < kLoadClasses[i + 1]);
      }
      EXPECT_EQ(balance.nodes_by_load[i], counted) << "class from " << kLoadClasses[i];
    }
  }
}

TEST(PoolBalanceTest, APerfectLoadIsInTheClassAroundOne) {
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(MakeSpec(1)));
  const PoolBalance balance = MeasurePoolBalance(*data_center->v1()->ring, data_center->node_set(),
                                                 "default", data_center->pools()[0].nodes);
  EXPECT_EQ(balance.nodes_by_load[5], 1u);  // from 0.98 to 1.02
  EXPECT_EQ(balance.max_node, "n1");
  EXPECT_EQ(balance.min_node, "n1");
  EXPECT_EQ(balance.cv, 0);
}

TEST(PoolBalanceTest, APoolWithoutNodesIsEmpty) {
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(MakeSpec(3)));
  const PoolBalance balance =
      MeasurePoolBalance(*data_center->v1()->ring, data_center->node_set(), "nobody", NodeMask(3));
  EXPECT_EQ(balance.nodes, 0u);
  EXPECT_EQ(balance.max_ratio, 0);
  EXPECT_EQ(balance.max_node, "");
  EXPECT_EQ(balance.min_node, "");
  EXPECT_EQ(
      std::accumulate(balance.nodes_by_load.begin(), balance.nodes_by_load.end(), std::size_t{0}),
      0u);
}

TEST(PoolBalanceTest, NamesAreThoseOfTheNodesGivenNotOfAnOlderRing) {
  ASSERT_OK_AND_ASSIGN(const auto before, DataCenter::Build(MakeSpec(1)));
  DataCenterSpec renamed = MakeSpec(1);
  renamed.nodes[0].name = "renamed";
  ASSERT_OK_AND_ASSIGN(const auto after, DataCenter::Build(renamed, before.get()));
  ASSERT_EQ(after->v1()->ring->nodes()[0].name, "n1");  // it was kept
  EXPECT_EQ(
      MeasurePoolBalance(*after->v1()->ring, after->node_set(), "default", after->pools()[0].nodes)
          .max_node,
      "renamed");
}

}  // namespace
}  // namespace ringshift
