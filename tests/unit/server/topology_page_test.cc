#include "server/topology_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "migration/decision.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kManyBytes = 1 << 20;

std::shared_ptr<const RoutingTable> Table(const DataCenterSpec& spec) {
  Migration migration;
  migration.data_center = spec.name;
  migration.salt = spec.name;
  migration.decision_algorithm = kDecisionAlgorithm;
  migration.revision = 1;
  return RoutingTable::Create(Built(spec), migration).value();
}

// `count` nodes whose order by name is not that of their addresses.
DataCenterSpec WithNodes(int count) {
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.nodes.clear();
  for (int i = 0; i < count; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string((i * 7919) % 10'000);
    node.address = "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ":443";
    spec.nodes.push_back(node);
  }
  return spec;
}

// All pages, one after the other.
std::vector<v1::GetTopologyResponse> Pages(const RoutingTable& table, std::size_t max_nodes,
                                           std::size_t max_bytes) {
  std::vector<v1::GetTopologyResponse> pages;
  std::string token;
  do {
    v1::GetTopologyResponse& page = pages.emplace_back();
    EXPECT_THAT(FillTopologyPage(table, token, max_nodes, max_bytes, page), IsOk());
    token = page.next_page_token();
  } while (!token.empty());
  return pages;
}

std::vector<std::string> Names(const std::vector<v1::GetTopologyResponse>& pages) {
  std::vector<std::string> names;
  for (const auto& page : pages) {
    for (const v1::Node& node : page.nodes()) names.push_back(node.name());
  }
  return names;
}

TEST(TopologyPageTest, ANodeAndAPoolAreThereWithAllTheirFacts) {
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.nodes[0].zone = "r1";
  spec.nodes[1].ring_identity = "[2001:DB8::0:1]:80";
  const auto pages = Pages(*Table(spec), 1000, kManyBytes);
  ASSERT_THAT(pages, SizeIs(1));
  const v1::GetTopologyResponse& page = pages[0];
  EXPECT_EQ(page.identity_style(), "canonical");
  ASSERT_EQ(page.pools_size(), 2);
  EXPECT_EQ(page.pools(0).name(), "default");
  EXPECT_EQ(page.pools(0).nodes(), 3);
  EXPECT_THAT(page.pools(0).required_features(), IsEmpty());
  EXPECT_EQ(page.pools(1).name(), "special");
  EXPECT_EQ(page.pools(1).nodes(), 1);
  EXPECT_THAT(page.pools(1).required_features(), ElementsAre("special"));
  ASSERT_EQ(page.nodes_size(), 3);
  EXPECT_EQ(page.nodes(0).name(), "n0");
  EXPECT_EQ(page.nodes(0).address(), "10.0.0.0:443");
  EXPECT_EQ(page.nodes(0).weight(), 10);
  EXPECT_THAT(page.nodes(0).features(), ElementsAre("special"));
  EXPECT_EQ(page.nodes(0).zone(), "r1");
  EXPECT_EQ(page.nodes(0).ring_identity(), "10.0.0.0:443");
  EXPECT_EQ(page.nodes(1).ring_identity(), "[2001:db8::1]:80");
}

TEST(TopologyPageTest, PagesHaveEveryNodeOnceByName) {
  const auto table = Table(WithNodes(1000));
  for (const std::size_t size : {1u, 7u, 999u, 1000u, 1001u}) {
    const auto pages = Pages(*table, size, kManyBytes);
    EXPECT_EQ(pages.size(), (1000 + size - 1) / size);
    const std::vector<std::string> names = Names(pages);
    EXPECT_EQ(names.size(), 1000u);
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()), names.end());
    for (std::size_t i = 1; i < pages.size(); ++i) EXPECT_EQ(pages[i].pools_size(), 0);
  }
}

TEST(TopologyPageTest, APageEndsBeforeItHasTooManyBytes) {
  DataCenterSpec spec = WithNodes(50);
  for (NodeSpec& node : spec.nodes) node.features.assign(10, std::string(50, 'f'));
  const auto pages = Pages(*Table(spec), 1000, 2000);
  EXPECT_THAT(Names(pages), SizeIs(50));
  for (const auto& page : pages) {
    EXPECT_LE(page.ByteSizeLong(), 2100u);
    EXPECT_GE(page.nodes_size(), 2);
  }
  // A node that is larger than a page has one to itself.
  EXPECT_THAT(Pages(*Table(spec), 1000, 1), SizeIs(50));
}

TEST(TopologyPageTest, ATokenIsForOneTable) {
  const auto table = Table(WithNodes(10));
  v1::GetTopologyResponse page;
  ASSERT_THAT(FillTopologyPage(*table, "", 3, kManyBytes, page), IsOk());
  v1::GetTopologyResponse next;
  EXPECT_THAT(FillTopologyPage(*Table(WithNodes(11)), page.next_page_token(), 3, kManyBytes, next),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("\"ams\" has changed")));
  for (const char* token : {"x", "0123456789abcdef", "0123456789abcdeg:n1", "0123456789abcdef:"}) {
    EXPECT_THAT(FillTopologyPage(*table, token, 3, kManyBytes, next),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")))
        << token;
  }
}

}  // namespace
}  // namespace ringshift
